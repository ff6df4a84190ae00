"""The event stream: emit, read back, follow."""

import asyncio
import itertools
from collections.abc import Iterator

from emulator.clock import Clock
from emulator.events import Events


class ListLog:
    """An event log that lives in a list; positions are indexes."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []

    def append(self, payload: bytes) -> int:
        self.payloads.append(payload)
        return len(self.payloads) - 1

    def entries(self, start: int = 0) -> Iterator[tuple[int, bytes]]:
        return zip(itertools.count(start), self.payloads[start:], strict=False)


def test_events_are_numbered_without_gaps_and_read_back_from_any_cursor() -> None:
    """A reader that remembers the last id it saw gets exactly the rest."""
    events = Events(Clock(frozen_at=5.0))
    for n in range(4):
        events.emit("record.put", n=n)

    rest = events.since(2)

    assert [(3, 2), (4, 3)] == [(event.id, event.fields["n"]) for event in rest]
    assert {5.0} == {event.time for event in rest}


def test_a_name_that_is_no_utf_8_is_told_all_the_same() -> None:
    """A client of AMQP may name a queue by any bytes; the event of it is written, with a mark for each."""
    events = Events(Clock(frozen_at=5.0), log := ListLog())

    events.emit("amqp.dead_letters", channel="q\udcb1", table={"\udcff": ["\ud800", 1]})

    assert events.since()[0].fields == {"channel": "q?", "table": {"?": ["?", 1]}}
    assert len(log.payloads) == 1


def test_what_memory_no_longer_holds_is_read_from_the_log() -> None:
    """With a log, a cursor far behind what is kept in memory still misses nothing."""
    events = Events(Clock(frozen_at=5.0), ListLog(), keep=10)
    for n in range(1500):
        events.emit("record.put", n=n)

    assert list(range(700, 1200)) == [event.fields["n"] for event in events.since(700, 500)]
    assert [1499] == [event.fields["n"] for event in events.since(1499)]


def test_the_next_process_goes_on_where_the_log_ends() -> None:
    """Events survive a restart, and numbering continues."""
    log = ListLog()
    Events(Clock(frozen_at=5.0), log).emit("stream.created", stream="input")

    reopened = Events(Clock(frozen_at=6.0), log)
    reopened.emit("stream.deleted", stream="input")

    assert [(1, "stream.created"), (2, "stream.deleted")] == [(e.id, e.kind) for e in reopened.since()]


def test_subscribers_hear_events_while_they_are_subscribed() -> None:
    """A subscriber is told of each event once, and of none after it left."""
    events = Events(Clock(frozen_at=5.0))
    heard: list[str] = []

    with events.subscribed(lambda event: heard.append(event.kind)):
        events.emit("fault.added")
    events.emit("fault.removed")

    assert heard == ["fault.added"]


async def test_following_gives_the_past_and_then_what_comes_without_a_gap() -> None:
    """A follower that starts late sees every event exactly once, in order."""
    events = Events(Clock(frozen_at=5.0))
    events.emit("tick", n=1)
    seen: list[int] = []

    async def read_three() -> None:
        async for event in events.follow(0):
            seen.append(event.fields["n"])
            if len(seen) == 3:
                return

    reader = asyncio.create_task(read_three())
    await asyncio.sleep(0)
    events.emit("tick", n=2)
    events.emit("tick", n=3)
    await asyncio.wait_for(reader, 60)

    assert seen == [1, 2, 3]
