"""The SDK before, while and after its server is gone. Says `up`, `waiting`, `left` and `remaining`."""

import logging
import random
import sys
import time
import uuid
from datetime import UTC, datetime, timedelta

import httpx
from niadra import CacheOptions, Niadra, Timeouts, VoiceOptions, gov_id, phone
from niadra.models import coordination as M

URL, KEY = sys.argv[1:3]
PATIENCE_S = 40.0
logging.getLogger("niadra").setLevel(logging.CRITICAL)


def made():
    return Niadra(
        KEY,
        base_url=URL,
        channel="whatsapp",
        cache=CacheOptions(enabled=False),
        timeouts=Timeouts(navigation=5.0, write=5.0, connect=0),
        voice=VoiceOptions(probe=False),
        keep_warm=False,
    )


def someone():
    return phone(f"+55119{random.SystemRandom().randrange(60_000_000, 99_999_999)}")


def same(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r} instead of {wanted!r}")


def heard(word):
    same(sys.stdin.readline().strip(), word, "what the test says")


client = made()
opted_out, early, customer = someone(), someone(), someone()
added = M.SuppressionAdded(
    agent="closing",
    kind="suppression.added",
    subject=opted_out,
    detail=M.SuppressionAddedDetail(purpose="service", reason="opt_out"),
)
same(client.api.declare(added).accepted, True, "the opt-out")
now = datetime.now(UTC)
opens = (now + timedelta(hours=2)).replace(second=0, microsecond=0)
hours = {"from": f"{now - timedelta(hours=2):%H:%M}", "to": f"{opens:%H:%M}", "tz": "UTC"}
added = M.SuppressionAdded(
    agent="closing",
    kind="suppression.added",
    subject=early,
    detail=M.SuppressionAddedDetail(purpose="any", reason="opt_out", channel="whatsapp", window=hours),
)
same(client.api.declare(added).accepted, True, "contact hours")
same(client.may_contact(opted_out, "service"), False, "the copy of the list")
talk = client.conversation(f"c-{uuid.uuid4().hex}", subject=customer, agent_id="closing")
effect = f"farewell-{uuid.uuid4().hex}"
first = talk.check("farewell", purpose="service", effect_key=effect, timeout=10)
same((first.decision, list(first.reasons)), ("allow", ["template_required"]), "a server that is there")
print("up", flush=True)

heard("gone")
waits, goes = ("defer", ["unavailable"]), ("allow", ["unchecked"])


def ask(talk, purpose, **more):
    got = talk.check("any_step", purpose=purpose, **more)
    same(got.contact_token, None, "a token of nobody")
    return got.decision, list(got.reasons)


for purpose in ("marketing", "retention", "collection"):
    same(ask(talk, purpose), waits, f"{purpose} fails closed")
    same(ask(talk, purpose, fail_open=True), goes, f"{purpose} as the caller wants it")
    same(ask(talk, purpose, fail_open=True, effect_key=f"k-{uuid.uuid4().hex}"), waits, "an effect waits all the same")
    same(ask(talk, purpose, direction="inbound"), goes, f"a customer's own message about {purpose}")
for purpose in ("transactional", "service"):
    same(ask(talk, purpose), goes, f"{purpose} fails open")
    same(ask(talk, purpose, fail_open=False), waits, f"{purpose} as the caller wants it")
    same(ask(talk, purpose, effect_key=f"k-{uuid.uuid4().hex}"), waits, f"{purpose} with an effect")
stopped = client.conversation(f"c-{uuid.uuid4().hex}", subject=opted_out, agent_id="closing")
same(ask(stopped, "service"), ("deny", ["suppressed"]), "an opt-out that was read")
same(ask(stopped, "service", fail_open=True), ("deny", ["suppressed"]), "no wish goes past an opt-out")
same(ask(stopped, "service", direction="inbound"), goes, "who opted out and writes")
same(ask(talk, "of_their_own"), goes, "a purpose whose name the SDK does not know")
held = client.conversation(f"c-{uuid.uuid4().hex}", subject=early, agent_id="closing")
for more in ({}, {"effect_key": f"k-{uuid.uuid4().hex}"}, {"fail_open": True}):
    got = held.check("any_step", purpose="service", **more)
    same((got.decision, list(got.reasons)), ("defer", ["contact_window"]), f"contact hours, {more}")
    same(got.contact_window_until, opens, "when they end")
same(client.may_contact(early, "service", channel="whatsapp"), False, "inside the hours")
same(client.may_contact(early, "service", channel="voice"), True, "another channel")
same(client.may_contact(gov_id("12345678901", "BR"), "marketing"), True, "a handle that is no destination")
blank = made()
for purpose, may in (("transactional", True), ("service", True), ("marketing", False), ("of_their_own", False)):
    same(blank.may_contact(customer, purpose), may, f"{purpose} without a copy")
    same(blank.may_contact(customer, purpose, fail_open=not may), not may, f"{purpose} as the caller wants it")
talk.declare.effect(effect, "done")
contact = str(uuid.uuid4())
talk.declare.contact_made(None, purpose="marketing", channel="whatsapp", jti=contact)
same(client.flush(0.2), False, "declarations to nobody")
print("waiting", flush=True)

heard("back")
until = time.monotonic() + PATIENCE_S
while not client.flush(1):
    if time.monotonic() > until:
        raise AssertionError("the declarations did not leave")
print(f"left {effect}", flush=True)
with httpx.Client(base_url=URL, headers={"authorization": f"Bearer {KEY}"}, timeout=30) as plain:
    answer = plain.post(
        "/v1/coordination/check",
        json={
            "agent": "other",
            "intent": "follow_up",
            "direction": "inbound",
            "purpose": "marketing",
            "subject": {"type": "phone_e164", "value": customer.value},
        },
    ).json()
print(f"remaining {answer['contact_budget']['marketing']['remaining']}", flush=True)
client.close(timeout=1)
