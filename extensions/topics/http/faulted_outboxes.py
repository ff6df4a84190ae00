"""Applies faults to the messages that topics send to a client.

A message can be delayed, changed, repeated, reordered or followed by the end of the connection. A throttled
one is retried.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, TypeAlias

import msgspec

from emulator.faults.delayed_deliveries import Due
from emulator.faults.fault import Failure
from emulator.faults.fault_point import FaultPoint
from emulator.faults.faulted_message import Message as Struck
from emulator.faults.held_deliveries import Form, PushedDeliveries
from emulator.faults.waits import OnLoop
from emulator.http.asgi import ClientGoneError
from extensions.topics.engine.outgoing_messages import Message, OofMessage, PublishMessage
from extensions.topics.http.unsent_messages import UnsentMessages

Sent: TypeAlias = PublishMessage | OofMessage

_MOST_HELD: Final = 20_000
"""Twice the longest distance that faults reorder over. Beyond it, messages wait in the outbox."""


class DeliveryFailedError(Exception):
    """A fault ends the connection with this reason."""


class FaultedOutboxes:
    """Applies the faults at ``point`` to what the clients' outboxes hold."""

    def __init__(self, point: FaultPoint, loop: OnLoop) -> None:
        self._point = point
        self._loop = loop

    async def sent(self, outbox: UnsentMessages) -> AsyncIterator[list[Message]]:
        """Yield the messages to send, with faults applied, while the outbox is open.

        Raises ClientGoneError, or DeliveryFailedError with the reason, when a fault ends the connection.
        """
        ready: list[Message] = []
        failures: list[Failure] = []
        changed = asyncio.Event()

        def hand_over(due: Due[Sent]) -> None:
            unchanged = due.data == bytes(due.record.data)
            ready.append(
                due.record if unchanged else msgspec.structs.replace(due.record, data=msgspec.Raw(due.data))
            )
            changed.set()

        def fail(failure: Failure) -> None:
            failures.append(failure)
            changed.set()

        pushed: PushedDeliveries[Sent] = PushedDeliveries(
            self._point,
            Form(lambda message: message.topic, self._meet, one_by_one=True),
            self._loop,
            hand_over=hand_over,
            fail=fail,
        )
        try:
            while outbox.closed is None:
                await _something(outbox, pushed, changed)
                changed.clear()
                for message in () if _is_full(pushed) else outbox.taken():
                    if isinstance(message, PublishMessage | OofMessage) and (
                        len(pushed) or message.topic in self._point.deliveries
                    ):
                        pushed.arrive(message)
                    else:
                        ready.append(message)
                if ready:
                    now, ready[:] = ready.copy(), ()
                    yield now
                if failures:
                    raise _ended(failures[0])
        finally:
            pushed.drop()

    def _meet(self, message: Sent) -> Struck:
        return Struck(bytes(message.data), message.sow_key, self._point.clock.time())


def _is_full(pushed: PushedDeliveries[Sent]) -> bool:
    return pushed.throttled or len(pushed) >= _MOST_HELD


async def _something(outbox: UnsentMessages, pushed: PushedDeliveries[Sent], changed: asyncio.Event) -> None:
    """Wait until a message arrives, or one that was held is ready."""
    if changed.is_set():
        return
    if not len(pushed):
        await outbox.wait()
        return
    came = outbox.over.wait() if _is_full(pushed) else outbox.wait()
    waits = [asyncio.ensure_future(came), asyncio.ensure_future(changed.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _ended(failure: Failure) -> Exception:
    if failure.kind == "cut":
        return ClientGoneError()
    return DeliveryFailedError(f"{failure.code}: {failure.message}")
