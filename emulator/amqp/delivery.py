"""A message that was handed out and waits for its acknowledgement."""

from __future__ import annotations

from typing import NamedTuple

from emulator.amqp.message import Entry
from emulator.amqp.queue import Consumer, Queue


class Delivery(NamedTuple):
    """A message that waits for its acknowledgement. Without a ``consumer`` it was taken by a get."""

    entry: Entry
    queue: Queue
    consumer: Consumer | None
