"""How long an agent waits: 1,000 checks over one connection, then one that nobody answers."""

import logging
import sys
import time
import uuid

import httpx
from niadra import CacheOptions, Niadra, Timeouts, VoiceOptions, phone

URL, KEY = sys.argv[1:3]
CHECKS = 1_000
logging.getLogger("niadra").setLevel(logging.CRITICAL)

took = []
with httpx.Client(base_url=URL, headers={"authorization": f"Bearer {KEY}"}, timeout=30) as plain:
    for number in range(CHECKS):
        check = {
            "agent": "closing",
            "intent": "follow_up",
            "direction": "outbound",
            "purpose": "service",
            "channel": "voice",
            "subject": {"type": "phone_e164", "value": f"+55119{70_000_000 + number}"},
        }
        started = time.perf_counter()
        answer = plain.post("/v1/coordination/check", json=check)
        took.append(time.perf_counter() - started)
        if answer.json()["decision"] != "allow":
            raise AssertionError(answer.text)

client = Niadra(
    KEY,
    base_url=URL,
    channel="whatsapp",
    cache=CacheOptions(enabled=False),
    timeouts=Timeouts(connect=0),
    voice=VoiceOptions(probe=False),
    keep_warm=False,
)
talk = client.conversation(f"c-{uuid.uuid4().hex}", subject=phone("+5511988887777"), agent_id="closing")
talk.check("warm_up", purpose="service", timeout=10)
print(f"p99_ms {sorted(took)[CHECKS * 99 // 100] * 1_000:.1f}", flush=True)

if sys.stdin.readline().strip() != "stopped":
    raise AssertionError("the test says something else")
started = time.monotonic()
got = talk.check("follow_up", purpose="service")
held = time.monotonic() - started
if (got.decision, list(got.reasons)) != ("allow", ["unchecked"]):
    raise AssertionError(f"{got.decision} {got.reasons}")
print(f"held_s {held:.3f}", flush=True)
