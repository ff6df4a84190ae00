"""A process that publishes as fast as it can, and says what was persisted, until it is killed.

Started by ``test_durability`` with a directory and a first number. Each line on standard output is the last
number up to which everything is persisted, each on standard error what was taken from the queue.
"""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from extensions.topics.engine.commands import DeltaPublish, Publish, SowDelete, Subscribe
from extensions.topics.engine.outgoing_messages import Ack, Message, PublishMessage
from extensions.topics.engine.topic_definitions import Queue, Topic
from extensions.topics.engine.topics_engine import TopicsEngine

KEYS = 40
DEFINITIONS = (
    Topic(name="objects", keys=("/id",), logged=True),
    Queue(name="work", of=("objects",), semantics="at-most-once"),
)


def main(directory: str, first: int) -> None:
    """Publish the numbers from ``first`` on for ever; every seventh is deleted."""
    clock = Clock(frozen_at=1_700_000_000.0)
    topics = TopicsEngine(Path(directory), clock, Events(clock), DEFINITIONS)

    def told(message: Message) -> None:
        if isinstance(message, Ack) and message.ack_type == "persisted":
            os.write(1, b"%d\n" % (message.seq or 0))
        elif isinstance(message, PublishMessage):
            os.write(2, b"taken %d\n" % msgspec.json.decode(message.data)["number"])

    session = topics.session("ann", told, client_name="writer")
    topics.session("bob", told).execute(Subscribe("work", sub_id="s"))
    for number in count(first):
        body = msgspec.Raw(
            b'{"id":%d,"number":%d,"text":"%s"}' % (number % KEYS, number, b"x" * (number % 90))
        )
        if number % 7 == 0:
            session.execute(SowDelete("objects", data=body, seq=number, ack_type="persisted"))
        else:
            kind = Publish if number % 2 else DeltaPublish
            session.execute(kind("objects", body, seq=number, ack_type="persisted"))
        if number % 20 == 0:
            clock.advance(1)
            topics.tend()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
