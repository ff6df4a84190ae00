"""Topics in one process: what a subscriber can be sent in a second, and what ten thousand filters cost it.

A publish is counted with all that it causes: parsing, matching, the state of the world, the log, delivery.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from emulator.clock import Clock, stopwatch
from emulator.events import Events
from extensions.topics.engine.commands import Publish, Subscribe
from extensions.topics.engine.outgoing_messages import Message
from extensions.topics.engine.topic_definitions import Definition, Topic
from extensions.topics.engine.topics_engine import TopicsEngine
from tests.bench.rows import US, Row
from tests.extensions.topics.bench_topics_wire import over_the_wire

MESSAGES = 100_000
OBJECTS = 10_000
FILTERS = 10_000
_SOW = Topic(name="objects", keys=("/id",))
_LOGGED = Topic(name="objects", keys=("/id",), logged=True)


def measure() -> list[Row]:
    """Matching publishes a second to a subscriber, by what the topic keeps and how many filters are on it."""
    one, disk = ["/kind = 'x'"], Path(tempfile.gettempdir())
    sent = "topics: matching publishes to a subscriber,"
    rows = [
        _row(f"{sent} nothing kept", _rate((), one, None)),
        _row(f"{sent} state of the world in memory", _rate((_SOW,), one, None)),
        _row(f"{sent} state of the world and log in memory", _rate((_LOGGED,), one, None)),
        _row(f"{sent} state of the world and log on disk", _rate((_LOGGED,), one, disk)),
    ]
    for many in (1, FILTERS):
        distinct = [f"/kind = 'x' AND /id = {number}" for number in range(many)]
        measured = f"topics: publishes to a topic with {many} distinct filter{'s'[: many - 1]}"
        rows.append(_row(measured, _rate((), distinct, None)))
    return rows + over_the_wire()


def _row(measured: str, rate: float) -> Row:
    return Row(measured, US, rate, "publishes/s", "more")


def _rate(definitions: Sequence[Definition], filters: list[str], disk: Path | None) -> float:
    """Publishes a second of what matches the one filter, or one of the many; ``disk`` None: no files."""
    clock = Clock()
    received: list[Message] = []
    with tempfile.TemporaryDirectory(dir=disk) as folder:
        topics = TopicsEngine(Path(folder) if disk else None, clock, Events(clock), definitions)
        reader = topics.session("reader", received.append)
        for number, text in enumerate(filters):
            reader.execute(Subscribe("objects", sub_id=str(number), filter=text))
        writer = topics.session("writer", received.append)
        commands = [Publish("objects", _body(number % OBJECTS)) for number in range(MESSAGES)]
        began = stopwatch()
        for command in commands:
            writer.execute(command)
        seconds = stopwatch() - began
        topics.close()
    matching = MESSAGES if "AND" not in filters[0] else MESSAGES // OBJECTS * len(filters)
    if len(received) != matching:
        raise AssertionError(f"{len(received)} messages were delivered of {matching} that match")
    return MESSAGES / seconds


def _body(number: int) -> msgspec.Raw:
    title = f"the object with the number {number}"
    return msgspec.Raw(msgspec.json.encode({"id": number, "kind": "x", "title": title, "files": [1, 2, 3]}))
