"""The list of buckets and objects holds what is there, whatever went wrong on the way to it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.buckets import Bucket, ObjectPage, ObjectRow
from rdss_sandbox.shapes.events import News
from tests.tui.app_pilot import notices, opened, see, text_of, until
from tests.tui.canned import NOON, Canned
from tui.panes import object_browser
from tui.widgets.row_list import RowList


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_browser, "_AGAIN_SECONDS", 0.05)


class Failing(Canned):
    """A sandbox whose S3 refuses the first listings."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    async def buckets(self) -> tuple[Bucket, ...]:
        self.failures -= 1
        if self.failures >= 0:
            raise RefusedError(502, "SlowDown", "Please reduce your request rate.")
        return await super().buckets()


async def test_what_could_not_be_listed_is_listed_again() -> None:
    """Nothing happens in the sandbox meanwhile; the failure is told once, and then the buckets are there."""
    async with opened(Failing(3)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: pilot.app.screen.query_one("#entries").is_mounted)
        entries = pilot.app.screen.query_one("#entries", RowList)
        await until(pilot, lambda: entries.total == 3)
        assert len([said for said in notices(pilot) if "request rate" in said]) == 1


async def test_what_was_asked_for_off_the_screen_is_listed_on_it(canned: Canned) -> None:
    """Another screen was in front when the buckets were to be listed: they are listed on return."""
    async with opened(canned) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: pilot.app.screen.query_one("#entries").is_mounted)
        browser = pilot.app.screen.query_one(object_browser.ObjectBrowser)
        entries = browser.query_one(RowList)
        await until(pilot, lambda: entries.total == 3)
        await pilot.press("1")
        browser._go("rdss-audit", "")
        await pilot.press("6")
        await until(pilot, lambda: entries.total == 2)


class Slow(Canned):
    """A sandbox that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = asyncio.Event()

    async def objects(self, *_: Any, **__: Any) -> ObjectPage:
        await self.answers.wait()
        return ObjectPage((), None)


async def test_a_list_is_not_called_empty_before_that_is_known() -> None:
    """A bucket whose objects are still being listed says so; once they are, it says that there are none."""
    client = Slow()
    async with opened(client) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: pilot.app.screen.query_one("#entries").is_mounted)
        entries = pilot.app.screen.query_one("#entries", RowList)
        await until(pilot, lambda: entries.total == 3)
        await pilot.press("enter")
        await see(pilot, "rdss-audit/", "…")
        assert "nothing in here" not in text_of(pilot)
        client.answers.set()
        await see(pilot, "nothing in here")


class Growing(Canned):
    """A sandbox whose bucket has thirty pages, in each of which something new happens."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = 30
        self.came = lambda: None

    async def objects(
        self, bucket: str, *, prefix: str = "", after: str | None = None, limit: int = 1000
    ) -> ObjectPage:
        number = int(after or 0) + 1
        self.came()
        await asyncio.sleep(0.01)
        row = ObjectRow(f"{number:03}", limit, NOON)
        return ObjectPage((row,), str(number) if number < self.pages else None)


async def test_news_do_not_keep_a_long_listing_from_its_end() -> None:
    """A bucket of many pages is shown whole while messages keep coming, and what was removed is gone."""
    client = Growing()
    async with opened(client) as pilot:
        client.came = lambda: setattr(pilot.app, "news", News(kinds=("stream.records",)))
        await pilot.press("6")
        await until(pilot, lambda: pilot.app.screen.query_one("#entries").is_mounted)
        entries = pilot.app.screen.query_one("#entries", RowList)
        await until(pilot, lambda: entries.total == 3)
        await pilot.press("enter")
        await until(pilot, lambda: entries.total == 30)
        client.pages = 12
        await until(pilot, lambda: entries.total == 12)
