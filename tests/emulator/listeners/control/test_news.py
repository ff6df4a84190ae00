"""News: that something happened, of what kind and where, for a reader who asks for the rest itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from threading import Thread

import msgspec

from emulator.assembly.embedded import Embedded
from emulator.clock import Clock
from emulator.events import Events
from emulator.listeners.control.events import EventResources
from emulator.listeners.control.live_answers import LiveAnswers
from rdss_sandbox.client import AsyncClient, Client
from rdss_sandbox.shapes.events import News
from rdss_sandbox.shapes.messages import NewMessage


async def test_records_tell_their_stream_and_events_their_kind(emulator: Embedded, api: Client) -> None:
    """The first news say that a connection began; what comes then is told without what it was."""
    async with AsyncClient(emulator.control) as client, asyncio.timeout(30):
        following = client.follow_news()
        assert await anext(following) == News(first=True)
        await asyncio.to_thread(api.send, NewMessage("input", b"{}"))
        assert "input" in (await anext(following)).streams
        await asyncio.to_thread(api.populate, None)
        await asyncio.to_thread(emulator.components.events.emit, "queue.created", queue="q")
        while "queue.created" not in (news := await anext(following)).kinds:
            assert not news.first


class Streams:
    """Tells of records when a test says so."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[str, str], None]] = []

    def on_records(self, callback: Callable[[str, str], None]) -> Callable[[], None]:
        self.callbacks.append(callback)
        return lambda: self.callbacks.remove(callback)

    def arrive(self, count: int, stream: str) -> None:
        for _ in range(count):
            for each in self.callbacks:
                each(stream, "shardId-000000000000")


async def test_a_slow_reader_holds_nobody_and_misses_nothing() -> None:
    """Whatever happened on any thread while it did not read is one news."""
    events, streams = Events(Clock()), Streams()
    resources = EventResources(events, LiveAnswers(), [streams])
    async with aclosing(resources._tell_news()) as told:
        assert decoded(await anext(told)) == News(first=True)
        writers = [Thread(target=streams.arrive, args=(5000, name)) for name in ("input", "output")]
        for each in writers:
            each.start()
        for number in range(5000):
            events.emit(f"kind.{number % 3}")
        for each in writers:
            each.join()
        wanted = News(kinds=("kind.0", "kind.1", "kind.2"), streams=("input", "output"))
        assert decoded(await anext(told)) == wanted
        streams.arrive(1, "late")
        assert decoded(await anext(told)) == News(streams=("late",))
    assert streams.callbacks == []
    assert events._subscribers == []


def decoded(message: bytes) -> News:
    return msgspec.json.decode(message.removeprefix(b"data: "), type=News)


def test_to_ask_for_the_status_changes_nothing(emulator: Embedded, api: Client) -> None:
    """It counts messages that no index has, and neither indexes them nor makes an event."""
    for _ in range(3):
        api.send(NewMessage("input", b"{}"))
    before = (emulator.components.index.progress(), emulator.components.events.last)
    first, second = api.status(), api.status()
    assert (first.messages, second.messages) == (3, 3)
    assert first.streams == second.streams
    assert (emulator.components.index.progress(), emulator.components.events.last) == before
    assert before[0][0] == 0


def test_a_page_says_when_messages_wait_to_be_indexed(emulator: Embedded, api: Client) -> None:
    """Who lists a sandbox with many new messages is told to ask again."""
    api.send(NewMessage("input", b"{}"))
    whole = emulator.components.index.catch_up
    emulator.components.index.catch_up = lambda seconds=0.0: False  # type: ignore[method-assign]
    try:
        assert not api.messages().indexed
        assert not api.sequences().indexed
    finally:
        emulator.components.index.catch_up = whole  # type: ignore[method-assign]
    assert api.messages().indexed
