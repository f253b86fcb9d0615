"""What the SDK decides when a server refuses a check, row by row. Arguments: URL, a key, the key of a
space that does not coordinate, a key without the scope, a key nobody has. Says `done`."""

import logging
import sys
import uuid

from niadra import CacheOptions, Niadra, Timeouts, VoiceOptions, phone
from niadra.errors import APIError

URL, KEY, QUIET, SILENT = sys.argv[1:5]
NOBODY = KEY[:-4] + "0009"
logging.getLogger("niadra").setLevel(logging.CRITICAL)


def same(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r} instead of {wanted!r}")


def talk(key, **options):
    client = Niadra(
        key,
        base_url=URL,
        channel="whatsapp",
        cache=CacheOptions(enabled=False),
        timeouts=Timeouts(navigation=5.0, write=5.0, connect=1.0),
        voice=VoiceOptions(probe=False),
        keep_warm=False,
        **options,
    )
    return client, client.conversation(f"c-{uuid.uuid4().hex}", subject=phone("+5511955554444"), agent_id="closing")


def ask(talk, purpose, **more):
    got = talk.check("any_step", purpose=purpose, timeout=10, **more)
    same((got.contact_token, got.valid_for_s), (None, 0), "what nobody decided")
    return got.decision, list(got.reasons)


# 404: the space does not coordinate, so nothing is held back, whatever fails closed or has a key.
client, quiet = talk(QUIET)
for purpose in ("marketing", "collection", "retention", "service", "of_their_own"):
    same(ask(quiet, purpose), ("allow", ["unchecked"]), f"{purpose} in a space without the feature")
    same(ask(quiet, purpose, effect_key=f"k-{uuid.uuid4().hex}"), ("allow", ["unchecked"]), "the key is ignored")
    same(ask(quiet, purpose, fail_open=False), ("allow", ["unchecked"]), "and the caller's wish")
    same(client.may_contact(phone("+5511955554444"), purpose), True, "a space without a list")

# 422, 401 and 403: the integration's fault, never an outage.
strict = talk(KEY, strict=True)[1]
for what, asked, more in (
    ("a purpose the space does not declare", talk(KEY)[1], {"purpose": "parties"}),
    ("a channel it does not declare", talk(KEY)[1], {"purpose": "service", "channel": "pigeon"}),
    ("a key that nobody has", talk(NOBODY)[1], {"purpose": "service"}),
    ("a key without the scope", talk(SILENT)[1], {"purpose": "service"}),
):
    for wish in (None, True):
        same(ask(asked, fail_open=wish, **more), ("defer", ["invalid_request"]), what)
    same(ask(asked, direction="inbound", **more), ("allow", ["invalid_request"]), f"{what}, inbound")
try:
    strict.check("any_step", purpose="parties", timeout=10)
except APIError as error:
    same((error.status_code, error.code), (422, "invalid_input"), "what a strict client raises")
else:
    raise AssertionError("a strict client was silent")
print("done", flush=True)
