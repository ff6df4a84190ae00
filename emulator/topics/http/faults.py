"""Applies faults between topics and their clients, to publishes and to delivered messages.

A publish can be refused, cut off, delayed, changed or repeated. A delivered message can be delayed, changed,
repeated, reordered or followed by the end of the connection. A throttled delivery is retried.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final, TypeAlias

import msgspec

from emulator.clock import Clock
from emulator.faults.delayed_deliveries import Due
from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Failure, Item, Kind
from emulator.faults.fault_point import CallFailedError, FaultPoint
from emulator.faults.faulted_message import Message as Struck
from emulator.faults.held_deliveries import Form, PushedDeliveries
from emulator.faults.waits import OnLoop
from emulator.http.asgi import ClientGoneError
from emulator.topics.engine import Session
from emulator.topics.engine.commands import Command, Publish
from emulator.topics.engine.outgoing_messages import Ack, Message, OofMessage, PublishMessage
from emulator.topics.http.unsent_messages import Outbox

Sent: TypeAlias = PublishMessage | OofMessage

_MOST_HELD: Final = 20_000
"""Twice the longest distance that faults reorder over. Beyond it, messages wait in the outbox."""
_FAILABLE: Final = ("processed", "completed", "persisted")


class DeliveryFailedError(Exception):
    """A fault ends the connection with this reason."""


class TopicFaults:
    """Applies the faults of ``fault_engine`` on channels of the kind ``topic``."""

    def __init__(self, fault_engine: FaultEngine, clock: Clock) -> None:
        self._clock = clock
        self._loop = OnLoop(clock)
        self._point = FaultPoint(fault_engine, clock, Kind.TOPIC, self._loop)

    def concern(self, command: Command) -> bool:
        """Report the topic to the fault engine, and return True if a fault may strike the command."""
        if not isinstance(command, Publish):
            return False
        self._point.note_channel(command.topic)
        return command.topic in self._point.publishes

    async def publish(self, session: Session, command: Publish, outbox: Outbox) -> None:
        """Execute it as the faults let it. Raises ClientGoneError when they cut the connection."""
        message = Struck(bytes(command.data), command.sow_key)
        call = self._point.plan_publish(command.topic, [message], single=True)

        async def put(items: Sequence[Item], turn: int) -> list[None]:
            asked = "" if turn or call.failure else command.ack_type
            data = msgspec.Raw(items[0].data)
            session.execute(msgspec.structs.replace(command, data=data, ack_type=asked))
            return [None]

        try:
            (failure,) = await self._point.publish(call, put)
        except CallFailedError as failed:
            failure = failed.failure
        if failure is None:
            return
        if failure.kind == "cut":
            raise ClientGoneError
        for ack in _refusals(command, failure):
            outbox.put(ack)

    async def sent(self, outbox: Outbox) -> AsyncIterator[list[Message]]:
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
        return Struck(bytes(message.data), message.sow_key, self._clock.time())


def _is_full(pushed: PushedDeliveries[Sent]) -> bool:
    return pushed.throttled or len(pushed) >= _MOST_HELD


async def _something(outbox: Outbox, pushed: PushedDeliveries[Sent], changed: asyncio.Event) -> None:
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


def _refusals(command: Publish, failure: Failure) -> Iterator[Ack]:
    """Build the requested acknowledgements as failures."""
    asked = {kind.strip() for kind in command.ack_type.split(",")}
    for kind in _FAILABLE:
        if kind in asked:
            reason = f"{failure.code}: {failure.message}"
            yield Ack(kind, "failure", cmd_id=command.cmd_id, seq=command.seq, reason=reason)
