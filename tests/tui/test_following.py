"""The screens follow the sandbox's news: they show at once what happened, and ask for nothing else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import boto3
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import AsyncClient, Client, UnreachableError
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.contract import Contract
from rdss_sandbox.shapes.events import News
from rdss_sandbox.shapes.faults import Fault, NewFault
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.shapes.status import Status
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.taken_out import needs
from tests.tui.app_pilot import opened, text_of, until
from tests.tui.canned import CONTRACT, Canned
from tui.screens.error_queues import ErrorsScreen
from tui.state import feed
from tui.state.worker_messages import ConnectionLost, NewsArrived, ObservedState, SnapshotTaken
from tui.widgets.message_list import MessageList

NEVER = 3600.0


@pytest.fixture(scope="module")
def emulator() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        yield emulator


@pytest.fixture
def nothing_is_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not shown because of news is not shown within the test."""
    monkeypatch.setattr(feed, "HEARTBEAT_SECONDS", NEVER)
    monkeypatch.setattr("tui.screens.base.FollowingScreen.AGAIN_SECONDS", None)


@pytest.mark.usefixtures("nothing_is_polled")
async def test_a_message_is_on_the_screen_by_its_news_alone(emulator: Embedded) -> None:
    """From boto3's answer to the row on the screen, with no poll that could have found it.

    How long it takes is a figure of the benchmark, area ``tui``.
    """
    kinesis = boto3.client(
        "kinesis",
        endpoint_url=emulator.aws,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
    )
    async with opened(AsyncClient(emulator.control)) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: "0 messages" in text_of(pilot))
        data = serialise(Samples(7).message())
        put = await asyncio.to_thread(kinesis.put_record, StreamName="input", Data=data, PartitionKey="k")
        await until(pilot, lambda: rows.total == 1 and put["SequenceNumber"][-7:] in text_of(pilot))


@pytest.mark.usefixtures("nothing_is_polled")
async def test_a_fault_and_a_clock_that_jumps_are_seen_without_a_poll(emulator: Embedded) -> None:
    """The banner tells both, as soon as the sandbox says that they happened."""
    async with opened(AsyncClient(emulator.control)) as pilot:
        with Client(emulator.control) as client:
            client.add_fault(NewFault("latency", attributes={"delay": "1ms"}))
            await until(pilot, lambda: "1 fault ·" in text_of(pilot))
            client.change_clock(ClockChange("freeze"))
            client.change_clock(ClockChange("advance", seconds=40 * 86_400.0))
            await until(pilot, lambda: "UTC frozen" in text_of(pilot))
            client.change_clock(ClockChange("real"))
            client.remove_fault("latency")
            await until(pilot, lambda: "0 faults" in text_of(pilot))


@needs("queues")
@pytest.mark.usefixtures("nothing_is_polled")
async def test_a_queue_is_followed(emulator: Embedded) -> None:
    """A message that is posted to a queue shows on the screen of queues."""
    async with opened(AsyncClient(emulator.control)) as pilot:
        await pilot.press("8")
        await until(pilot, lambda: pilot.app.current_mode == "queues")
        post(emulator)
        await until(pilot, lambda: "news-of-a-queue" in text_of(pilot))


def free_port() -> int:
    """A port that nobody uses."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def post(emulator: Embedded) -> None:
    """Post a message to a queue, as a client of its API does."""
    import httpx

    headers = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": "p"}
    url = f"{emulator.urls['queues']}/v2/queues/news-of-a-queue/messages"
    body = {"messages": [{"body": "hello", "ttl": 300}]}
    httpx.post(url, json=body, headers=headers, trust_env=False).raise_for_status()


async def test_a_screen_asks_for_what_it_shows_alone(canned: Canned) -> None:
    """On the screen of faults nobody asks for messages, shards or readers when messages come."""
    async with opened(canned) as pilot:
        await pilot.press("5")
        await until(pilot, lambda: "kinds" in text_of(pilot))
        await until(pilot, lambda: ("last_event", None) in canned.asked)
        canned.asked.clear()
        # What the first news would have asked for is asked for before what the second do.
        for looks in (1, 2):
            canned.arrive(3)
            await until(pilot, lambda looks=looks: canned.asked.count(("status", None)) >= looks)
            await pilot.pause()
        asked = {what for what, _ in canned.asked}
    assert asked <= {"status", "faults"}, asked


async def test_a_sandbox_that_restarts_is_followed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss is told at once; when it is back, what it has then is shown whole."""
    monkeypatch.setattr("rdss_sandbox.client._RETRY_SECONDS", 0.05)
    monkeypatch.setattr(feed, "HEARTBEAT_SECONDS", NEVER)
    settings = Settings(aws_port=0, control_port=free_port(), data_dir=None)
    with embedded(settings) as first:
        url = first.control
        app_of = opened(AsyncClient(url))
        pilot = await app_of.__aenter__()
    try:
        await until(pilot, lambda: "connection lost" in text_of(pilot))
        with embedded(settings):
            with Client(url) as client:
                client.send(NewMessage("input", b"{}"))
            await until(pilot, lambda: "1 message " in text_of(pilot))
            await until(pilot, lambda: not pilot.app.lost)  # type: ignore[attr-defined]
    finally:
        await app_of.__aexit__(None, None, None)


class Sandbox:
    """Answers from ``answers``; a status that is an exception is raised."""

    def __init__(self, answers: list[Status | Exception]) -> None:
        self.answers = answers
        self.faults_asked = 0

    async def status(self) -> Status:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def faults(self) -> tuple[Fault, ...]:
        self.faults_asked += 1
        return ()

    async def contract(self) -> Contract:
        return CONTRACT

    async def follow_news(self, *, on_connection: Callable[[bool], None]) -> AsyncIterator[News]:
        on_connection(True)
        yield News(first=True)
        await asyncio.Event().wait()


async def test_after_a_loss_everything_is_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """News that came in between are lost with the connection, so the first say that all may be old."""
    monkeypatch.setattr(feed, "RETRY_SECONDS", 0.01)
    up = await Canned().status()
    posted: list[Any] = []
    following = asyncio.create_task(
        feed.follow_sandbox(Sandbox([up, UnreachableError("http://x", "gone"), up]), posted.append)  # type: ignore[arg-type]
    )
    async with asyncio.timeout(10):
        while sum(isinstance(each, SnapshotTaken) for each in posted) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    following.cancel()
    lost = next(i for i, each in enumerate(posted) if isinstance(each, ConnectionLost))
    back = posted[lost + 1]
    assert isinstance(back, NewsArrived)
    assert back.news.first


async def test_many_news_are_one_refresh() -> None:
    """What comes while a refresh runs is taken together, whoever it is about."""
    unread = feed.UnreadNews()
    for number in range(100):
        unread.add(News(kinds=(f"queue.{number % 3}",), streams=("input",)))
    news = await unread.take(1.0)
    assert news == News(kinds=("queue.0", "queue.1", "queue.2"), streams=("input",))
    assert await unread.take(0.001) == News()


async def test_a_fetch_that_is_under_way_does_not_spoil_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a screen shows is gone by then, and the app ends without a word."""

    async def fetch_late(screen: ErrorsScreen) -> None:
        while screen.app.is_running:  # noqa: ASYNC110 -- nothing tells of the end alone
            await asyncio.sleep(0)
        while screen.query("#codes"):  # noqa: ASYNC110 -- nor of what is taken away
            await asyncio.sleep(0)
        screen.query_one("#codes")

    monkeypatch.setattr(ErrorsScreen, "fetch", fetch_late)
    async with opened(Canned()) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: isinstance(pilot.app.screen, ErrorsScreen))


@pytest.mark.parametrize(("each", "pause"), [(2, feed.PAUSE_SECONDS), (100, feed.FLOOD_SECONDS)])
async def test_a_flood_is_refreshed_less_often(each: int, pause: float) -> None:
    """Faster than anybody reads, once a second; otherwise whenever there are news."""
    status, pace = await Canned(messages=0).status(), feed.Pace()
    for number in range(20):
        counted = Status(**{**_fields(status), "messages": number * each})
        last = pace.after(ObservedState(number * 0.05, counted, (), CONTRACT))
    assert last == pause
    quiet = Status(**{**_fields(status), "messages": 20 * each})
    pace.after(ObservedState(2.0, quiet, (), CONTRACT))
    assert pace.after(ObservedState(3.0, quiet, (), CONTRACT)) == feed.PAUSE_SECONDS


def _fields(status: Status) -> dict[str, Any]:
    return {name: getattr(status, name) for name in status.__struct_fields__}
