"""Lets the faults of a channel strike a call, message by message."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from emulator.faults.active import ActiveFault
from emulator.faults.fault import Call, Done, Environment, Hit, Phase

Failed: TypeAlias = Callable[[ActiveFault, Hit, Exception], None]


class ControlHandlers(NamedTuple):
    """``perform`` runs a control fault on its channel; ``failed`` reports a fault that raised."""

    perform: Callable[[ActiveFault, Hit], None]
    failed: Failed


class Injection(NamedTuple):
    """The fields of the event ``fault.injected``: which fault did what, to which message."""

    fault: str
    type: str
    channel: str
    direction: str
    message_id: str | None
    did: str
    data: dict[str, Any]


def build_injection(fault: ActiveFault, hit: Hit, done: Done) -> Injection:
    message_id = hit.item.message.message_id
    return Injection(
        fault.name, fault.type.name, hit.call.channel, fault.direction, message_id, done.did, done.data
    )


def strike(
    faults: Iterable[ActiveFault],
    call: Call,
    now: float,
    environment: Environment,
    handlers: ControlHandlers,
) -> list[Injection]:
    """Let ``faults``, sorted by phase, strike ``call``, and return what they did.

    A message that one fault refuses does not meet the faults behind it. A call that
    fails counts as a strike for each message that would have failed it alone, so that
    batching makes no difference. Control faults do not run here: they are added to
    ``call.actions``, which run ``handlers.perform`` when the call has taken effect.
    """
    struck: list[Injection] = []
    for fault in faults:
        # A call fails once. When it did not take effect, nothing else happens to its messages.
        if call.failure is not None and (fault.type.phase is Phase.CALL or not call.failure.written):
            continue
        for item in call.items:
            if item.failure:
                continue
            chosen = fault.choose(item.message, call.channel, now)
            if chosen is None:
                continue
            hit = Hit(fault.attributes, chosen.draws, call, item, now, environment, fault.hold)
            if fault.type.phase is Phase.CONTROL:
                fault.remember(chosen)
                fault.injected += 1
                call.actions.append(lambda fault=fault, hit=hit: handlers.perform(fault, hit))  # type: ignore[misc]
            elif done := _inject(fault, hit, handlers.failed):
                fault.remember(chosen)
                fault.injected += 1
                struck.append(build_injection(fault, hit, done))
    return struck


def _inject(fault: ActiveFault, hit: Hit, failed: Failed) -> Done | None:
    """Run the fault on one message. An exception is reported, and the call goes on."""
    try:
        return fault.type.inject(hit)
    except Exception as error:  # noqa: BLE001 -- an event tells of it
        failed(fault, hit, error)
        return None
