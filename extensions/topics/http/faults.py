"""Applies faults to publishes to topics: refused, cut off, delayed, changed or repeated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final

import msgspec

from emulator.clock import Clock
from emulator.faults.fault import Failure, Item
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.fault_point import FaultPoint
from emulator.faults.faulted_message import Message as Struck
from emulator.faults.waits import OnLoop
from emulator.http.asgi import ClientGoneError
from extensions.topics.engine.client_session import ClientSession
from extensions.topics.engine.commands import Command, Publish
from extensions.topics.engine.outgoing_messages import Ack, Message
from extensions.topics.http.faulted_outboxes import FaultedOutboxes
from extensions.topics.http.unsent_messages import UnsentMessages

_FAILABLE: Final = ("processed", "completed", "persisted")


class TopicFaults:
    """Applies the faults of ``fault_engine`` on channels of the kind ``topic``."""

    def __init__(self, fault_engine: FaultEngine, clock: Clock) -> None:
        loop = OnLoop(clock)
        self._point = FaultPoint(fault_engine, clock, "topic", loop)
        self._deliveries = FaultedOutboxes(self._point, loop)

    def concern(self, command: Command) -> bool:
        """Report the topic to the fault engine, and return True if a fault may strike the command."""
        if not isinstance(command, Publish):
            return False
        self._point.note_channel(command.topic)
        return command.topic in self._point.publishes

    async def publish(self, session: ClientSession, command: Publish, outbox: UnsentMessages) -> None:
        """Execute it as the faults let it. Raises ClientGoneError when they cut the connection."""
        message = Struck(bytes(command.data), command.sow_key)
        call = self._point.plan_publish(command.topic, [message], single=True)

        def put(item: Item, turn: int) -> None:
            asked = "" if turn or call.failure else command.ack_type
            data = msgspec.Raw(item.data)
            session.execute(msgspec.structs.replace(command, data=data, ack_type=asked))

        failure = await self._point.publish_one(call, put)
        if failure is None:
            return
        if failure.kind == "cut":
            raise ClientGoneError
        for ack in _refusals(command, failure):
            outbox.put(ack)

    def sent(self, outbox: UnsentMessages) -> AsyncIterator[list[Message]]:
        """The messages to send, with faults applied; see ``FaultedOutboxes.sent``."""
        return self._deliveries.sent(outbox)


def _refusals(command: Publish, failure: Failure) -> Iterator[Ack]:
    """Build the requested acknowledgements as failures."""
    asked = {kind.strip() for kind in command.ack_type.split(",")}
    for kind in _FAILABLE:
        if kind in asked:
            reason = f"{failure.code}: {failure.message}"
            yield Ack(kind, "failure", cmd_id=command.cmd_id, seq=command.seq, reason=reason)
