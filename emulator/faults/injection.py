"""The faults that concern a call strike it, each message on its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

from emulator.faults.active import ActiveFault
from emulator.faults.fault import Call, Done, Environment, Hit, Phase

Failed: TypeAlias = Callable[[ActiveFault, Hit, Exception], None]


class Handlers(NamedTuple):
    """What to call to act on a channel, and for a fault that could not strike."""

    perform: Callable[[ActiveFault, Hit], None]
    failed: Failed


class Injection(NamedTuple):
    """The event ``fault.injected``: which fault did what, to which message."""

    fault: str
    type: str
    channel: str
    direction: str
    message_id: str | None
    did: str
    data: dict[str, Any]


def injection_of(fault: ActiveFault, hit: Hit, done: Done) -> Injection:
    message_id = hit.item.message.message_id
    return Injection(
        fault.name, fault.type.name, hit.call.channel, fault.direction, message_id, done.did, done.data
    )


def strike(
    faults: Iterable[ActiveFault],
    call: Call,
    now: float,
    world: Environment,
    handlers: Handlers,
) -> list[Injection]:
    """Let ``faults``, in the order of their phases, strike ``call``; what was done.

    A message meets a fault only when no fault before it kept the message back,
    so that the same messages meet it whichever others are in force. A call that
    fails is charged to each of its messages for which it would have failed, so
    that it does not matter how messages are batched. What acts on the channel
    is left in ``call.actions`` for ``handlers.perform``.
    """
    struck: list[Injection] = []
    for fault in faults:
        if _over(call, fault):
            continue
        for item in call.items:
            if item.failure:
                continue
            chosen = fault.chosen(item.message, call.channel, now)
            if chosen is None:
                continue
            hit = Hit(fault.attributes, chosen.draws, call, item, now, world, fault.hold)
            if fault.type.phase is Phase.CONTROL:
                fault.remember(chosen)
                fault.injected += 1
                call.actions.append(lambda fault=fault, hit=hit: handlers.perform(fault, hit))  # type: ignore[misc]
            elif done := _injected(fault, hit, handlers.failed):
                fault.remember(chosen)
                fault.injected += 1
                struck.append(injection_of(fault, hit, done))
    return struck


def _injected(fault: ActiveFault, hit: Hit, failed: Failed) -> Done | None:
    """A fault that cannot cope with a message must not break what it was to disturb."""
    try:
        return fault.type.inject(hit)
    except Exception as error:  # noqa: BLE001 -- told of as an event
        failed(fault, hit, error)
        return None


def _over(call: Call, fault: ActiveFault) -> bool:
    """A call fails once; when it did not even take effect, nothing else happens to its messages."""
    return call.failure is not None and (fault.type.phase is Phase.CALL or not call.failure.written)
