"""Topics on one clock, and clients that keep what they were sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from extensions.topics.engine.commands import Command
from extensions.topics.engine.outgoing_messages import Ack, Message, OofMessage, PublishMessage, SowMessage
from extensions.topics.engine.topic_definitions import EVERYBODY, Definition
from extensions.topics.engine.topics_engine import TopicsEngine
from rdss_sandbox.shapes.topics import Access, Downstream

NOON = 1_700_000_000.0


_M = TypeVar("_M")


def raw(**fields: Any) -> msgspec.Raw:
    """A record as it is published."""
    return msgspec.Raw(msgspec.json.encode(fields))


def said(message: Any) -> Any:
    """The data of a message, parsed."""
    return msgspec.json.decode(message.data)


class Client:
    """A session and everything that it was sent."""

    def __init__(self, topics: TopicsEngine, user: str, name: str = "") -> None:
        self.inbox: list[Message] = []
        self.session = topics.session(user, self.inbox.append, client_name=name)

    def do(self, command: Command) -> list[Message]:
        """What the client is sent while ``command`` is executed."""
        before = len(self.inbox)
        self.session.execute(command)
        return self.inbox[before:]

    def all(self, kind: type[_M]) -> list[_M]:
        return [message for message in self.inbox if isinstance(message, kind)]

    @property
    def published(self) -> list[PublishMessage]:
        return self.all(PublishMessage)

    @property
    def oofs(self) -> list[OofMessage]:
        return self.all(OofMessage)

    @property
    def acks(self) -> list[Ack]:
        return self.all(Ack)

    def ack(self, kind: str) -> Ack:
        """The only acknowledgement of this kind."""
        (found,) = [ack for ack in self.acks if ack.ack_type == kind]
        return found

    @property
    def records(self) -> list[Any]:
        """The records in the results of queries."""
        return [said(record) for message in self.all(SowMessage) for record in message.data]


class World:
    """Makes topics, all on one clock, and closes them."""

    def __init__(self, directory: Path) -> None:
        self.clock = Clock(frozen_at=NOON)
        self.events = Events(self.clock)
        self.directory = directory
        self._open: list[TopicsEngine] = []

    def topics(
        self,
        *definitions: Definition,
        access: Access = EVERYBODY,
        downstreams: tuple[Downstream, ...] = (),
        durable: bool = False,
        folder: str = "topics",
        fsync: bool = False,
        retention: float | None = None,
    ) -> TopicsEngine:
        topics = TopicsEngine(
            self.directory / folder if durable else None,
            self.clock,
            self.events,
            definitions,
            access=access,
            downstreams=downstreams,
            fsync=fsync,
            retention=retention,
        )
        self._open.append(topics)
        return topics

    def kinds(self) -> list[str]:
        return [event.kind for event in self.events.since()]

    def close(self) -> None:
        for topics in self._open:
            topics.close()
