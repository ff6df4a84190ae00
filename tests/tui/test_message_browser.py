"""Looking through messages with the keys."""

from __future__ import annotations

from textual.events import MouseScrollUp

from tests.tui.app_pilot import answer, opened, see, text_of, until
from tests.tui.canned import Canned
from tui.panes.message_browser import MessageBrowser
from tui.widgets.message_detail import MessageDetailPane
from tui.widgets.message_list import MessageList


async def test_opens_at_the_newest_message(canned: Canned) -> None:
    """The list starts at its end, following."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.current is not None)
        assert rows.following
        assert rows.current.id == 500


async def test_tail_shows_what_arrives(canned: Canned) -> None:
    """A message that arrives while following comes under the cursor."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        canned.arrive(3)
        await until(pilot, lambda: rows.current is not None and rows.current.id == 503)


async def test_a_burst_longer_than_many_pages_is_followed(canned: Canned) -> None:
    """A burst of thousands of messages leaves the cursor on the last of them; g goes to the first."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        canned.arrive(3_000)
        await until(pilot, lambda: rows.current is not None and rows.current.id == 3_500)
        await pilot.press("g")
        await until(pilot, lambda: rows.current is not None and rows.current.id == 1)
        assert not rows.following


async def test_pause_holds_the_list_and_loses_nothing(canned: Canned) -> None:
    """While paused nothing moves and what arrives is counted; resuming shows all of it."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        await pilot.press("space")
        canned.arrive(250)
        await until(pilot, lambda: rows.behind == 250)
        assert rows.total == 500
        await until(pilot, lambda: "paused, 250 waiting" in text_of(pilot))
        await pilot.press("space")
        await until(pilot, lambda: rows.total == 750 and rows.behind == 0)
        await until(pilot, lambda: rows.current is not None and rows.current.id == 750)


async def test_moving_away_from_the_end_stops_the_tail(canned: Canned) -> None:
    """One row up and the list stays where it is, whatever arrives; t follows again."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        await pilot.press("up")
        canned.arrive(10)
        await until(pilot, lambda: rows.total == 510)
        assert rows.current.id == 499
        await pilot.press("t")
        await until(pilot, lambda: rows.current is not None and rows.current.id == 510)


async def test_the_wheel_stops_the_tail_and_a_resize_does_not(canned: Canned) -> None:
    """A larger or smaller window keeps the newest message in sight; scrolling back holds the list there."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        for size in ((160, 60), (100, 24), (160, 48)):
            await pilot.resize_terminal(*size)
            await until(pilot, lambda: rows.scroll_y == rows.max_scroll_y)
            assert rows.following
        rows.post_message(MouseScrollUp(rows, 5, 5, 0, -1, 0, False, False, False))
        await until(pilot, lambda: not rows.following)
        canned.arrive(20)
        before = rows.scroll_y
        await until(pilot, lambda: rows.total == 520)
        assert rows.scroll_y == before


async def test_filter_is_edited_in_place(canned: Canned) -> None:
    """/ asks for a filter, enter shows only what matches, / again offers the same text to edit."""
    async with opened(canned) as pilot:
        browser = pilot.app.screen.query_one(MessageBrowser)
        await pilot.press("slash")
        await answer(pilot, "code:GENERR006")
        expected = sum(row.code == "GENERR006" for row in canned.rows)
        await until(pilot, lambda: browser.list.total == expected)
        await pilot.press("slash", *" -mark:late", "enter")
        assert browser.filter == "code:GENERR006 -mark:late"


async def test_a_filter_that_cannot_be_read_is_explained_in_place(canned: Canned) -> None:
    """An unknown field is named below the field, with those there are; the list stays as it was."""
    async with opened(canned) as pilot:
        browser = pilot.app.screen.query_one(MessageBrowser)
        await until(pilot, lambda: browser.list.total == 500)
        await pilot.press("slash")
        await answer(pilot, "colour:red")
        await until(pilot, lambda: "no field 'colour'; there are id, class, type" in text_of(pilot))
        assert browser.filter == ""
        assert browser.list.total == 500
        assert pilot.app.focused.value == "colour:red"


async def test_dropping_a_filter_stays_on_the_message(canned: Canned) -> None:
    """Escape shows all messages again with the cursor on the same one; n and N go along the matches."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await pilot.press("slash")
        await answer(pilot, "mark:oversize")
        await pilot.press("g")
        await until(pilot, lambda: rows.current is not None and rows.current.id == 29)
        await pilot.press("escape")
        await until(pilot, lambda: rows.total == 500 and rows.current is not None and rows.current.id == 29)
        await pilot.press("n")
        await until(pilot, lambda: rows.current.id == 58)
        await pilot.press("n")
        await until(pilot, lambda: rows.current.id == 87)
        await pilot.press("N")
        await until(pilot, lambda: rows.current.id == 58)


async def test_goto_takes_numbers_times_and_the_iterators_words(canned: Canned) -> None:
    """: goes to a message, a sequence number, a time, the first and the last."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        number = canned.rows[122].sequence_number
        for text, expected in (
            ("#77", 77),
            (number, 123),
            (f"AFTER_SEQUENCE_NUMBER {number}", 124),
            ("20:26:53.700", 100),
            ("TRIM_HORIZON", 1),
            ("LATEST", 500),
        ):
            await pilot.press("colon")
            await answer(pilot, text)
            await until(pilot, lambda e=expected: rows.current is not None and rows.current.id == e)


async def test_enter_opens_the_message_and_escape_closes_it(canned: Canned) -> None:
    """The detail shows header, body, the text as sent and the way; it goes along with the cursor."""
    async with opened(canned) as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one(MessageList).total == 500)
        detail = pilot.app.screen.query_one(MessageDetailPane)
        await pilot.press("enter")
        await until(pilot, lambda: detail.detail is not None and detail.detail.id == 500)
        await see(pilot, "GENERR006")
        await pilot.press("up")
        await until(pilot, lambda: detail.detail.id == 499)
        await pilot.press("escape")
        assert not detail.display


async def test_loss_of_the_sandbox_keeps_the_rows_and_comes_back(canned: Canned) -> None:
    """While nothing answers the screen says so and keeps what it shows; then it goes on by itself."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        canned.gone = True
        await until(pilot, lambda: "connection lost" in text_of(pilot))
        assert rows.current.id == 500
        canned.gone = False
        canned.arrive(1)
        await until(pilot, lambda: pilot.app.lost == "" and rows.total == 501)


async def test_q_quits(canned: Canned) -> None:
    """q leaves, with nothing to confirm."""
    async with opened(canned) as pilot:
        await pilot.press("q")
        await until(pilot, lambda: not pilot.app.is_running)
