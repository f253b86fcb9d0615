"""The SDK before, while and after its server is gone. Says `up`, `waiting`, `left` and `remaining`."""

import logging
import random
import sys
import time
import uuid

import httpx
from niadra import CacheOptions, Niadra, Timeouts, VoiceOptions, phone
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
opted_out, customer = someone(), someone()
added = M.SuppressionAdded(
    agent="closing",
    kind="suppression.added",
    subject=opted_out,
    detail=M.SuppressionAddedDetail(purpose="service", reason="opt_out"),
)
same(client.api.declare(added).accepted, True, "the opt-out")
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
    same(ask(talk, purpose, direction="inbound"), goes, f"a customer's own message about {purpose}")
for purpose in ("transactional", "service"):
    same(ask(talk, purpose), goes, f"{purpose} fails open")
    same(ask(talk, purpose, effect_key=f"k-{uuid.uuid4().hex}"), waits, f"{purpose} with an effect")
stopped = client.conversation(f"c-{uuid.uuid4().hex}", subject=opted_out, agent_id="closing")
same(ask(stopped, "service"), ("deny", ["suppressed"]), "an opt-out that was read")
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
