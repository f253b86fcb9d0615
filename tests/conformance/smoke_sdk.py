#!/usr/bin/env python3
"""The shortest proof that the published SDK works against a server.

    python smoke_sdk.py BASE_URL API_KEY

Asks whether an agent may contact a customer, runs an effect once and declares it done, and sees the
repeat refused. Prints a line for each step and `N passed, N failed`; exit status 1 when one failed.
"""

from __future__ import annotations

import logging
import random
import sys
import uuid
from collections.abc import Callable

from niadra import CacheOptions, Niadra, Timeouts, VoiceOptions, phone

WAIT = 3.0
"""Seconds one decision may take here; how fast a server is belongs to other measurements."""


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def steps(client: Niadra) -> list[tuple[str, Callable[[], None]]]:
    customer = phone(f"+55119{random.SystemRandom().randrange(60_000_000, 99_999_999)}")
    talk = client.conversation(f"smoke-{uuid.uuid4().hex[:12]}", subject=customer, agent_id="smoke")
    key = f"smoke-{uuid.uuid4().hex}"

    def ask(effect_key: str | None = None) -> tuple[str, list[str]]:
        got = talk.check("follow_up", purpose="service", effect_key=effect_key, timeout=WAIT)
        return got.decision, list(got.reasons)

    def a_contact_may_go() -> None:
        decision, reasons = ask()
        expect(decision == "allow" and "unchecked" not in reasons, f"{decision} {reasons}")

    def a_fresh_effect_is_reserved() -> None:
        decision, reasons = ask(key)
        expect(decision == "allow" and "unchecked" not in reasons, f"{decision} {reasons}")

    def a_reserved_effect_is_not_given_twice() -> None:
        decision, reasons = ask(key)
        expect(decision == "deny", f"{decision} {reasons}")

    def a_declaration_is_taken() -> None:
        talk.declare.effect(key, "done")
        expect(client.flush(10), "the declaration did not leave")

    def a_done_effect_stays_done() -> None:
        decision, reasons = ask(key)
        expect((decision, reasons) == ("deny", ["effect_done"]), f"{decision} {reasons}")

    return [
        (step.__name__, step)
        for step in (
            a_contact_may_go,
            a_fresh_effect_is_reserved,
            a_reserved_effect_is_not_given_twice,
            a_declaration_is_taken,
            a_done_effect_stays_done,
        )
    ]


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    logging.getLogger("niadra").setLevel(logging.CRITICAL)
    client = Niadra(
        sys.argv[2],
        base_url=sys.argv[1],
        channel="whatsapp",
        cache=CacheOptions(enabled=False),
        timeouts=Timeouts(navigation=5.0, write=10.0, connect=1.0),
        voice=VoiceOptions(probe=False),
        keep_warm=False,
    )
    passed = failed = 0
    for name, step in steps(client):
        try:
            step()
        except Exception as error:
            failed += 1
            print(f"FAIL {name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        else:
            passed += 1
            print(f"PASS {name}", flush=True)
    client.close(timeout=1.0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
