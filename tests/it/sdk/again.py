"""Declarations of the SDK to a server whose disk fails: sent again by the SDK, the same bytes under the same
key. Says `failed NUMBER` at the first answer that is no 200, waits for `back`, then says `left` with what it
saw of that declaration."""

import logging
import sys
import threading
import time

import httpx
from niadra import CacheOptions, Niadra, Timeouts, VoiceOptions, phone

URL, KEY = sys.argv[1:3]
PATIENCE_S = 60.0
logging.getLogger("niadra").setLevel(logging.CRITICAL)
sent, failed = {}, threading.Event()
first = []


class Watched(httpx.HTTPTransport):
    """Keeps what went and what came back, by Idempotency-Key."""

    def handle_request(self, request):
        if request.url.path != "/v1/coordination/declare":
            return super().handle_request(request)
        key = request.headers["idempotency-key"]
        try:
            answer = super().handle_request(request)
        except httpx.TransportError:
            sent.setdefault(key, []).append((request.content, None))
            raise
        sent.setdefault(key, []).append((request.content, answer.status_code))
        if answer.status_code != 200:
            first.append(key)
            failed.set()
        return answer


client = Niadra(
    KEY,
    base_url=URL,
    channel="voice",
    cache=CacheOptions(enabled=False),
    timeouts=Timeouts(navigation=5.0, write=5.0, connect=0),
    voice=VoiceOptions(probe=False),
    keep_warm=False,
    http_client=httpx.Client(transport=Watched()),
)
number = 0
until = time.monotonic() + PATIENCE_S
while not failed.is_set():
    if time.monotonic() > until:
        raise AssertionError("the disk never failed")
    talk = client.conversation(f"c-{number}", subject=phone(f"+55119876{number:05}"), agent_id="closing")
    talk.declare.contact_made(None, purpose="marketing", channel="voice")
    number += 1
    client.flush(0.05)
key = first[0]
body, status = sent[key][0]
if status != 503:
    raise AssertionError(f"a failing store answers {status}")
who = httpx.Response(200, content=body).json()["subject"]["value"]
print(f"failed {who}", flush=True)

if sys.stdin.readline().strip() != "back":
    raise AssertionError("the test says something else")
until = time.monotonic() + PATIENCE_S
while not client.flush(1):
    if time.monotonic() > until:
        raise AssertionError("the declarations did not leave")
if {body for body, _ in sent[key]} != {body}:
    raise AssertionError("it was sent again with other bytes")
taken = [status for _, status in sent[key] if status == 200]
if taken != [200]:
    raise AssertionError(f"it was taken {len(taken)} times")
print("left", flush=True)
client.close(timeout=1)
