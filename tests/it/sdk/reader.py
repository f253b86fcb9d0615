"""The SDK's own copy of the suppression list, while its entries end, its salt rotates and customers are
erased. The server's clock is a test's; the copy is asked `at` a time. Says `read`, `over`, `stale`, `anew`
and `erased`, and waits for a word of the test after each but the last."""

import logging
import sys
from datetime import datetime, timedelta

import httpx
from niadra import CacheOptions, Niadra, Timeouts, VoiceOptions, phone
from niadra.models import coordination as M

URL, KEY, NOW = sys.argv[1:4]
START = datetime.fromisoformat(NOW)
SHORT, LONG = phone("+5511944440009"), phone("+5511944440011")
logging.getLogger("niadra").setLevel(logging.CRITICAL)
resets = []


def same(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r} instead of {wanted!r}")


def say(word, wanted=None):
    print(word, flush=True)
    if wanted is not None:
        same(sys.stdin.readline().strip(), wanted, "what the test says")


class Watched(httpx.HTTPTransport):
    """Keeps what pages say of a reset."""

    def handle_request(self, request):
        answer = super().handle_request(request)
        if request.url.path == "/v1/suppressions":
            answer.read()
            page = answer.json()
            resets.append((page["reset"], page["salt_id"]))
        return answer


def made():
    return Niadra(
        KEY,
        base_url=URL,
        channel="voice",
        cache=CacheOptions(enabled=False),
        timeouts=Timeouts(navigation=5.0, write=5.0, connect=1.0),
        voice=VoiceOptions(probe=False),
        keep_warm=False,
        http_client=httpx.Client(transport=Watched()),
    )


def suppress(client, who, **more):
    detail = M.SuppressionAddedDetail(purpose="service", reason="opt_out", **more)
    body = M.SuppressionAdded(agent="closing", kind="suppression.added", subject=who, detail=detail)
    same(client.api.declare(body).accepted, True, "the entry")


def may(client, who, seconds):
    return client.may_contact(who, "service", channel="voice", at=START + timedelta(seconds=seconds))


client = made()
suppress(client, SHORT, until=START + timedelta(seconds=10))
suppress(client, LONG)
same((may(client, SHORT, 1), may(client, LONG, 1)), (False, False), "both entries are in the copy")
same((may(client, SHORT, 11), may(client, LONG, 11)), (True, False), "the copy compares the time itself")
say("read", "later")
later = made()
same((may(later, SHORT, 11), may(later, LONG, 11)), (True, False), "a copy read after the end")
say("over", "rotated")
old = client.api.suppression_salt().salt_id
same(may(client, LONG, 11), False, "a copy of the old salt still says no")
say("stale", "read")
before = len(resets)
# The copy is read again once it is a minute old; its age is what a test can move.
client._suppressions._read_at -= 120
same(may(client, LONG, 11), False, "while it is read anew")
client._suppressions_idle.wait(30)
same(resets[before:][0], (True, old), "the next page starts anew under the new salt")
same(may(client, LONG, 11), False, "and the new copy says no")
say("anew", "forgotten")
same(may(made(), LONG, 11), False, "a new client's copy still has an erased customer")
say("erased")
