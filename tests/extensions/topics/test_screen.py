"""The topics screen: records, what changes, what leaves and why."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from extensions.topics.columns import summary
from extensions.topics.engine.commands import Publish, SowDelete
from extensions.topics.topic_port import TopicPort
from rdss_sandbox.client import AsyncClient
from tests.extensions.topics.canned_topics import CannedWithTopics
from tests.tui.app_pilot import NARROW, WIDE, answer, notices, opened, see, show_screens, text_of, until
from tui.app import SandboxApp
from tui.keys.preferences import Preferences
from tui.widgets.banner import Banner
from tui.widgets.row_list import RowList

KEY = "9"


def rows(pilot: Pilot[Any], name: str) -> RowList[Any]:
    return pilot.app.screen.query_one(f"#{name}", RowList)


async def test_the_records_of_the_objects_come_first() -> None:
    """The topics with their records and subscriptions, and the state of the world of the objects."""
    async with opened(CannedWithTopics()) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "records").total == 12)
        assert rows(pilot, "topics").total == 3
        await see(pilot, "objects: 12 records", "objectTitle Fish of the Clyde, 0", '"objectKeywordArray"')


async def test_changes_come_newest_first_with_the_reason_why_a_record_left() -> None:
    """While one looks: a publish, then what was deleted, expired, or matches no more."""
    canned = CannedWithTopics()
    async with opened(canned) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "records").total == 12)
        canned.topics.tell(1)
        await until(pilot, lambda: rows(pilot, "changes").total == 1)
        for reason in ("deleted", "expired", "filter"):
            canned.topics.tell(2, reason)
        await until(pilot, lambda: rows(pilot, "changes").total == 4)
        await until(pilot, lambda: "4 changes, 3 left the topic" in text_of(pilot))
        told = [change.reason for change in rows(pilot, "changes")._pages._held[0].values()]
        assert told == ["filter", "expired", "deleted", None]


async def test_a_filter_narrows_records_and_changes() -> None:
    """/ asks for a filter of topics, escape drops it; the line above the footer is the same for a shell."""
    canned = CannedWithTopics()
    async with opened(canned) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "records").total == 12)
        await pilot.press("slash")
        await answer(pilot, "/objectTitle LIKE 'Fish'")
        await until(pilot, lambda: rows(pilot, "records").total == 4)
        assert pilot.app.command == "sandbox topic subscribe objects --filter \"/objectTitle LIKE 'Fish'\""  # type: ignore[attr-defined]
        await see(pilot, "objects: 4 records match /objectTitle LIKE 'Fish'")
        await pilot.press("escape")
        await until(pilot, lambda: rows(pilot, "records").total == 12)


async def test_a_filter_that_cannot_be_read_is_said_and_dropped() -> None:
    """The sandbox's own words, with the place in the filter."""
    async with opened(CannedWithTopics()) as pilot:
        await pilot.press(KEY)
        await pilot.press("slash")
        await answer(pilot, "/objectTitle LIKE")
        await until(pilot, lambda: any("at character 18" in said for said in notices(pilot)))
        await until(pilot, lambda: rows(pilot, "records").total == 12)


async def test_another_topic_is_chosen_with_enter() -> None:
    """The records and changes are those of the topic that was opened; a queue is not looked into."""
    canned = CannedWithTopics()
    async with opened(canned) as pilot:
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "topics").total == 3)
        rows(pilot, "topics").focus()
        await pilot.press("end", "enter")
        await until(pilot, lambda: "orders: 0 records" in text_of(pilot))
        assert pilot.app.command == "sandbox topic subscribe orders"  # type: ignore[attr-defined]
        await until(pilot, lambda: "would take it from its consumers" in text_of(pilot))
        assert not any(topic == "orders" for topic, _ in canned.topics.asked)


async def test_against_a_real_sandbox() -> None:
    """What a publisher does is on the screen a moment later, and what it deletes is told as deleted."""
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)
    with embedded(settings) as emulator, TopicPort(emulator.urls["topics"]) as port:
        async with opened(AsyncClient(emulator.control)) as pilot:
            await pilot.press(KEY)
            # Changes are told from the first fetch on, and the list is filled by it.
            await until(pilot, lambda: rows(pilot, "topics").total == 1)
            await see(pilot, "objects: 0 records")
            data = msgspec.Raw(b'{"objectUUID": "a", "objectTitle": "fish"}')
            await asyncio.to_thread(port.execute, Publish(topic="objects", data=data))
            await until(pilot, lambda: "objectTitle fish" in text_of(pilot))
            await asyncio.to_thread(port.execute, SowDelete(topic="objects", filter="1=1"))
            await until(pilot, lambda: "2 changes, 1 left the topic" in text_of(pilot))
            await see(pilot, "deleted")


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'{"a": 1, "b": [2], "c": "x"}', "a 1 \xb7 c x"),
        (b"[1]", "[1]"),
        (b"{", "{"),
        (b"", ""),
    ],
)
def test_a_record_in_one_line(data: bytes, line: str) -> None:
    """Scalars by name; what is no object as it came."""
    assert summary(data) == line


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=str)
def test_the_screen_looks_as_it_did(
    monkeypatch: pytest.MonkeyPatch, snap_compare: Callable[..., bool], size: tuple[int, int]
) -> None:
    """Records, changes with their reasons, and a record in full."""
    show_screens(monkeypatch, "topics")
    canned = CannedWithTopics()
    app = SandboxApp(canned, Preferences(theme="sandbox-dark"))  # type: ignore[arg-type]
    for number, reason in ((3, None), (4, "filter"), (5, "deleted"), (6, "expired"), (7, None)):
        canned.topics.tell(number, reason)

    async def run(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: app.snapshot is not None)
        await pilot.press(KEY)
        await until(pilot, lambda: rows(pilot, "changes").total == 5)
        app.screen.query_one(Banner).display = False  # it is in the pictures of every other screen
        await pilot.pause(0.1)

    assert snap_compare(app, terminal_size=size, run_before=run)
