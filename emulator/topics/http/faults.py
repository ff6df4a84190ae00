"""Applies faults between topics and their clients, to publishes and to delivered messages.

A publish can be refused, cut off, delayed, changed or repeated. A delivered message can be delayed, changed,
repeated, reordered or followed by the end of the connection. A throttled delivery is retried.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Final, TypeAlias

import msgspec

from emulator.clock import Clock
from emulator.faults.delayed_deliveries import DelayedDeliveries
from emulator.faults.engine import FaultEngine
from emulator.faults.fault import Call, Direction, Failure, Kind
from emulator.faults.faulted_message import Message as Struck
from emulator.faults.types.throttle import CODE as THROTTLED
from emulator.http.asgi import ClientGoneError
from emulator.topics.engine import Session
from emulator.topics.engine.commands import Command, Publish
from emulator.topics.engine.outgoing_messages import Ack, Message, OofMessage, PublishMessage
from emulator.topics.http.unsent_messages import Outbox

Sent: TypeAlias = PublishMessage | OofMessage

_RETRY_SECONDS: Final = 1.0
_MOST_AT_ONCE: Final = 1000
_FAILABLE: Final = ("processed", "completed", "persisted")


class DeliveryFailedError(Exception):
    """A fault ends the connection with this reason."""


class TopicFaults:
    """Applies the faults of ``fault_engine`` on channels of the kind ``topic``."""

    def __init__(self, fault_engine: FaultEngine, clock: Clock) -> None:
        self._fault_engine = fault_engine
        self._clock = clock
        self._seen: set[str] = set()

    def concern(self, command: Command) -> bool:
        """Report the topic to the fault engine, and return True if a fault may strike the command."""
        if not isinstance(command, Publish):
            return False
        if command.topic not in self._seen:
            self._seen.add(command.topic)
            self._fault_engine.note_channel(command.topic, Kind.TOPIC)
        return command.topic in self._fault_engine.index(Direction.PUBLISH, Kind.TOPIC)

    async def publish(self, session: Session, command: Publish, outbox: Outbox) -> None:
        """Execute it as the faults let it. Raises ClientGoneError when they cut the connection."""
        call = self._fault_engine.plan_publish(
            command.topic, Kind.TOPIC, [Struck(bytes(command.data), command.sow_key)], single=True
        )
        await self._fault_engine.sleep_for(call)
        (item,) = call.items
        failure = call.failure or item.failure
        if failure is None or failure.written:
            asked = "" if failure else command.ack_type
            changed = msgspec.structs.replace(command, data=msgspec.Raw(item.data), ack_type=asked)
            session.execute(changed)
            for _ in range(item.copies):
                session.execute(msgspec.structs.replace(changed, ack_type=""))
            self._fault_engine.run_actions(call)
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
        pending: DelayedDeliveries[Sent] = DelayedDeliveries()
        while outbox.closed is None:
            await self._something(outbox, pending)
            now: list[Message] = []
            for message in outbox.taken():
                if isinstance(message, PublishMessage | OofMessage) and self._strikes(message, pending):
                    await self._strike(message, pending)
                else:
                    now.append(message)
            now.extend(self._due(pending))
            if now:
                yield now

    def _strikes(self, message: Sent, pending: DelayedDeliveries[Sent]) -> bool:
        """Whether a fault may strike the message, or it must wait behind one that was struck."""
        return len(pending) > 0 or message.topic in self._fault_engine.index(Direction.DELIVER, Kind.TOPIC)

    async def _strike(self, message: Sent, pending: DelayedDeliveries[Sent]) -> None:
        while True:
            changed = self._fault_engine.watch_removals()
            call = self._met(message)
            await self._fault_engine.sleep_for(call)
            failure = call.failure
            if failure is None:
                pending.add([(call.items[0], message)])
                return
            if failure.kind == "cut":
                raise ClientGoneError
            if failure.code != THROTTLED:
                raise DeliveryFailedError(f"{failure.code}: {failure.message}")
            await self._clock.sleep(_RETRY_SECONDS, changed)

    def _met(self, message: Sent) -> Call:
        struck = Struck(bytes(message.data), message.sow_key, self._clock.time())
        return self._fault_engine.plan_delivery(message.topic, Kind.TOPIC, [struck])

    def _due(self, pending: DelayedDeliveries[Sent]) -> Iterator[Sent]:
        for due in pending.take(self._clock.time(), _MOST_AT_ONCE) if len(pending) else ():
            unchanged = due.data == bytes(due.record.data)
            yield due.record if unchanged else msgspec.structs.replace(due.record, data=msgspec.Raw(due.data))

    async def _something(self, outbox: Outbox, pending: DelayedDeliveries[Sent]) -> None:
        """Wait until a message arrives or a delayed one is due."""
        if not len(pending):
            await outbox.wait()
            return
        left = pending.due_at() - self._clock.time()
        if left <= 0:
            return
        due = self._clock.sleep(left, lambda: pending.due_at() <= self._clock.time())
        waits = [asyncio.ensure_future(outbox.wait()), asyncio.ensure_future(due)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


def _refusals(command: Publish, failure: Failure) -> Iterator[Ack]:
    """Build the requested acknowledgements as failures."""
    asked = {kind.strip() for kind in command.ack_type.split(",")}
    for kind in _FAILABLE:
        if kind in asked:
            reason = f"{failure.code}: {failure.message}"
            yield Ack(kind, "failure", cmd_id=command.cmd_id, seq=command.seq, reason=reason)
