"""Every key of the registry does something where it is said to, and the few that no other test presses."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from rdss_sandbox.shapes.streams import Reshard
from tests.taken_out import needs
from tests.tui.app_pilot import NARROW, OURS, opened, text_of, until
from tests.tui.canned import Canned
from tui.dialogs.help import Help
from tui.keys.actions import ACTIONS, SHORT_LABELS, ActionGroup, keys_for_people, places
from tui.keys.palette import ActionCommands
from tui.keys.preferences import Preferences, read
from tui.panes.message_browser import MessageBrowser
from tui.panes.object_browser import ObjectBrowser
from tui.screens.run_player import RunScreen
from tui.widgets.banner import name_places
from tui.widgets.key_footer import KeyFooter
from tui.widgets.message_detail import MessageDetailPane
from tui.widgets.message_list import MessageList
from tui.widgets.row_list import RowList
from tui.widgets.stream_tree import StreamTree

# Where each group's keys work: how to get there.
WAYS = {
    ActionGroup.EVERYWHERE: (),
    ActionGroup.LIST: (),
    ActionGroup.MESSAGES: (),
    ActionGroup.MESSAGE: (),
    ActionGroup.STREAMS: (),
    ActionGroup.SEQUENCES: ("2",),
    ActionGroup.ERRORS: ("4",),
    ActionGroup.FAULTS: ("5",),
    ActionGroup.BUCKETS: ("6",),
    ActionGroup.SCENARIOS: ("7",),
    ActionGroup.RUN: ("7", "enter"),
}


@pytest.mark.parametrize("group", WAYS, ids=lambda group: group.name.lower())
async def test_every_key_has_its_action_where_it_is_said_to(canned: Canned, group: ActionGroup) -> None:
    """Each key of a group leads, on its screen, to that action, and there is something that does it."""
    async with opened(canned) as pilot:
        for key in WAYS[group]:
            await pilot.press(key)
            await until(pilot, partial(_arrived, pilot, key))
        if group is ActionGroup.MESSAGES:  # keys that only work while a message is read, and with a filter
            pilot.app.screen.query_one(MessageBrowser).show_filter("type:*")
            await until(pilot, lambda: pilot.app.screen.query_one(MessageList).current is not None)
            await pilot.press("enter")
        if group is ActionGroup.MESSAGE:  # and one that only does on a message in several parts
            pilot.app.screen.query_one(MessageBrowser).show_filter("total>1")
            await until(pilot, lambda: "equals_sign" in pilot.app.screen.active_bindings)
        wanted = [action for action in ACTIONS if action.group is group]
        await until(pilot, lambda: wanted[0].keys.split(",")[0] in pilot.app.screen.active_bindings)
        for action in wanted:
            for key in action.keys.split(","):
                active = pilot.app.screen.active_bindings[key]
                assert active.binding.id == action.id, key
                name = action.handler.partition("(")[0]
                assert callable(getattr(active.node, f"action_{name}")), action.id


def _arrived(pilot: Pilot[None], key: str) -> bool:
    modes = {key: mode for key, mode, _ in places()}
    there = (
        isinstance(pilot.app.screen, RunScreen) if key == "enter" else pilot.app.current_mode == modes[key]
    )
    return there and any(rows.current is not None for rows in pilot.app.screen.query(RowList))


def _stands_at(pilot: Pilot[None], mode: str, text: str) -> bool:
    return pilot.app.current_mode == mode and text in text_of(pilot)


async def test_numbers_go_to_the_screens(canned: Canned) -> None:
    """Each number shows its screen, named in the line above, and 1 leads back to the streams."""
    async with opened(canned) as pilot:
        for key, mode, label in [*places(), *places()][1:]:
            if mode not in OURS:
                continue
            await pilot.press(key)
            await until(pilot, partial(_stands_at, pilot, mode, f" {key} {label} "))


async def test_the_cursor_goes_by_lines_pages_and_to_the_ends(canned: Canned) -> None:
    """With arrows, with vi's letters, with the keys made for it."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        seen = []
        for key in (
            "g",
            "j",
            "down",
            "k",
            "up",
            "pagedown",
            "ctrl+f",
            "ctrl+b",
            "pageup",
            "end",
            "home",
            "G",
        ):
            await pilot.press(key)
            seen.append(rows.cursor)
        page = rows.size.height - 2
        assert seen == [0, 1, 2, 1, 0, page, 2 * page, page, 0, 499, 0, 499]


async def test_the_detail_is_leafed_through(canned: Canned) -> None:
    """] and [ go along header, body, raw and history, and round."""
    async with opened(canned) as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one(MessageList).current is not None)
        detail = pilot.app.screen.query_one(MessageDetailPane)
        await pilot.press("enter")
        await until(pilot, lambda: detail.detail is not None)
        tabs = detail.query_one("TabbedContent")
        seen = []
        for key in ("right_square_bracket",) * 4 + ("left_square_bracket",):
            await pilot.press(key)
            seen.append(tabs.active)  # type: ignore[attr-defined]
        assert seen == ["body", "raw", "history", "header", "history"]


async def test_help_opens_over_any_screen_and_closes(canned: Canned) -> None:
    """? and F1 alike; every action stands there."""
    async with opened(canned) as pilot:
        for key, close in (("question_mark", "escape"), ("f1", "q")):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(pilot.app.screen, Help))
            await until(pilot, lambda: pilot.app.screen.query_one("#keys", RowList).total == len(ACTIONS))
            await pilot.press(close)
            await until(pilot, lambda: not isinstance(pilot.app.screen, Help))


async def test_the_theme_is_changed_and_kept(canned: Canned, tmp_path: Path) -> None:
    """ctrl+t changes between light and dark and writes it down; any of Textual's themes can be set there."""
    path = tmp_path / "tui.toml"
    async with opened(canned, preferences=Preferences(path, theme="nord")) as pilot:
        assert pilot.app.theme == "nord"
        await pilot.press("ctrl+t")
        assert pilot.app.theme == "sandbox-light"
        await pilot.press("ctrl+t")
        assert pilot.app.theme == "sandbox-dark"
    assert read(path).theme == "sandbox-dark"


async def test_merging_asks_for_the_shard_under_the_cursor(canned: Canned) -> None:
    """M on a shard merges that one; the command that does so stands below."""
    async with opened(canned) as pilot:
        tree = pilot.app.screen.query_one(StreamTree)
        tree.focus()
        await until(pilot, lambda: tree.total > 0)
        lines = [line.branch.key for line in tree._pages._held[0].values()]
        tree.move_to(lines.index("output/shardId-000000000000"))
        await pilot.press("M")
        wanted = ("reshard", ("output", Reshard("merge", "shardId-000000000000")))
        await until(pilot, lambda: wanted in canned.asked)
        await until(pilot, lambda: "$ sandbox reshard merge output shardId-000000000000" in text_of(pilot))


async def test_a_prefix_narrows_a_bucket(canned: Canned) -> None:
    """/ in a bucket shows only the objects whose key begins so; backspace goes up."""
    async with opened(canned) as pilot:
        await pilot.press("6")
        entries = pilot.app.screen.query_one("#entries", RowList)
        await until(pilot, lambda: entries.total == 3)
        await pilot.press("enter")
        await until(pilot, lambda: "rdss-audit/" in text_of(pilot))
        await pilot.press("slash", *"audit/2026/", "enter")
        await until(pilot, lambda: pilot.app.screen.query_one(ObjectBrowser).prefix == "audit/2026/")
        await until(pilot, lambda: [entry.name for entry in entries._pages._held[0].values()] == ["05"])
        await pilot.press("backspace", "h")
        assert pilot.app.screen.query_one(ObjectBrowser).prefix == ""


async def test_a_filter_saved_by_name_stands_for_itself(canned: Canned, tmp_path: Path) -> None:
    """ctrl+s in the filter keeps it, and @name means it from then on."""
    async with opened(canned, preferences=Preferences(tmp_path / "tui.toml")) as pilot:
        browser = pilot.app.screen.query_one(MessageBrowser)
        await pilot.press("slash", *"code:GENERR006", "ctrl+s")
        await until(pilot, lambda: type(pilot.app.screen).__name__ == "Prompt")
        await pilot.press(*"bad", "enter")
        await until(pilot, lambda: pilot.app.preferences.filters == {"bad": "code:GENERR006"})  # type: ignore[attr-defined]
        await until(pilot, lambda: type(pilot.app.screen).__name__ == "StreamsScreen")
        await pilot.press("escape", "slash", *"@bad", "enter")
        await until(pilot, lambda: browser.filter == "code:GENERR006")


async def test_the_mouse_does_what_the_keys_do(canned: Canned) -> None:
    """A click on a screen's name goes there, one on a row puts the cursor on it, one more opens it."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.current is not None)
        await until(pilot, lambda: "x Redrive" in _last_line(pilot))
        await until(pilot, lambda: rows.scroll_y == rows.max_scroll_y)
        first = round(rows.scroll_y)
        await pilot.click(MessageList, offset=(5, 4))
        assert rows.cursor == first + 2
        assert not rows.following
        await pilot.click(MessageList, offset=(5, 4))
        await until(pilot, lambda: pilot.app.screen.query_one(MessageDetailPane).detail is not None)
        await pilot.click("#places", offset=(text_of(pilot).index(" 5 Faults") + 3, 0))
        await until(pilot, lambda: pilot.app.current_mode == "faults")


@pytest.mark.parametrize(
    ("width", "said"),
    [
        (200, "● embedded · seed 42 · 500 messages · 1 fault · 20:28:40 UTC"),
        (80, "● 500 msg ⚡1"),
    ],
)
async def test_the_top_line_says_what_there_is_room_for(canned: Canned, width: int, said: str) -> None:
    """Nothing is cut: on a small screen less is said."""
    async with opened(canned, size=(width, 30)) as pilot:
        await until(pilot, lambda: said in text_of(pilot).splitlines()[0])


@pytest.mark.parametrize("here", [mode for _, mode, _ in places()])
def test_every_screen_has_its_name_from_100_columns_on(here: str) -> None:
    """Each key stands beside its screen's name, whole or in the short form, with room for the state."""
    for width in range(100, 260):
        named = name_places(here, width - 16)
        assert sum(len(text) for _, text in named) <= width - 16
        for (mode, text), (key, place, label) in zip(named, places(), strict=True):
            assert mode == place
            assert text.strip() in {f"{key} {label}", f"{key} {SHORT_LABELS.get(label, label)}"}


@needs("processing", "queues", "topics")
async def test_the_top_line_of_100_columns_has_the_names_and_the_state(canned: Canned) -> None:
    """Nothing of either is cut."""
    async with opened(canned, size=(100, 24)) as pilot:
        top = (
            " 1 Streams 2 Seq 3 Audit 4 Errors 5 Faults 6 Buckets 7 Scen 8 Queues 9 Topics 0 Proc"
            "  ● 500 msg ⚡1"
        )
        await until(pilot, lambda: text_of(pilot).startswith(top))


async def test_a_small_screen_names_its_screens_by_three_letters(canned: Canned) -> None:
    """No key at 80 columns stands without a word beside it."""
    async with opened(canned, size=NARROW) as pilot:
        await until(pilot, lambda: " 1 Streams 2 Seq 3 Aud 4 Err 5 Fau" in text_of(pilot))


@pytest.mark.parametrize("pane", ["MessageList", "#tree", "#readers", "#happened"])
async def test_the_footer_shows_what_works_in_the_focused_pane(canned: Canned, pane: str) -> None:
    """At 300 columns every key of the pane, its screen and everywhere, but those that move the cursor."""
    async with opened(canned, size=(300, 40)) as pilot:
        wanted = pilot.app.screen.query_one(pane)
        wanted.focus()
        await until(pilot, lambda: pilot.app.focused is wanted)

        def missing() -> list[str]:
            active = {each.binding.id for each in pilot.app.screen.active_bindings.values()}
            return [
                action.id
                for action in ACTIONS
                if action.id in active
                and action.worth
                and f"{keys_for_people(action.keys.split(',')[0])} {action.label}" not in _last_line(pilot)
            ]

        await until(pilot, lambda: not missing())
        await until(pilot, lambda: ("x Redrive" in _last_line(pilot)) == (pane == "MessageList"))


async def test_the_footer_is_one_line_in_groups(canned: Canned) -> None:
    """At 100 columns: what the row can do, what the screen can, what works everywhere, a line between."""
    async with opened(canned, size=(100, 30)) as pilot:
        await until(pilot, lambda: "x Redrive" in _last_line(pilot))
        assert pilot.app.screen.query_one(KeyFooter).size.height == 1
        groups = [part.split() for part in _last_line(pilot).split("│")]
        assert ["x", "Redrive"] == groups[2][:2]
        assert "Readers" in groups[3]
        assert {"Help", "Quit"} <= set(groups[4])


async def test_the_footer_offers_what_fits_the_row(canned: Canned) -> None:
    """Other parts only on a part, tabs only while a message is read, the way back only where there is one."""
    async with opened(canned, size=(300, 40)) as pilot:
        browser = pilot.app.screen.query_one(MessageBrowser)
        for matching, fits in (("total>1", True), ("-total>1", False)):
            browser.show_filter(matching)
            await until(pilot, lambda: browser.list.current is not None)
            await until(pilot, lambda fits=fits: ("= Sequence" in _last_line(pilot)) == fits)
        browser.show_filter("")
        await until(pilot, lambda: "esc Back" not in _last_line(pilot))
        assert "Next tab" not in _last_line(pilot)
        await until(pilot, lambda: browser.list.current is not None)
        await pilot.press("enter")
        await until(pilot, lambda: "esc Back" in _last_line(pilot) and "] Next tab" in _last_line(pilot))


async def test_the_palette_begins_with_what_fits(canned: Canned) -> None:
    """What can be done with the row under the cursor stands before the screens, and these before the rest."""
    async with opened(canned) as pilot:
        await until(pilot, lambda: "x Redrive" in _last_line(pilot))
        provider = ActionCommands(pilot.app.screen)
        titles = [hit.display for hit in [each async for each in provider.discover()]]
        names = [str(title).partition("  (")[0] for title in titles]
        assert set(names[:4]) <= {"Open", "Filter", "Life line", "Readers", "Events", "Plots"}
        assert names.index("Redrive") < names.index("Streams") < names.index("Up") < names.index("Quit")
        assert names.index("Quit") < names.index("Theme")


def _last_line(pilot: Pilot[None]) -> str:
    return text_of(pilot).rpartition("\n")[2]


async def test_a_small_footer_keeps_what_is_worth_most(canned: Canned) -> None:
    """One row at 80x24: help, quitting and what leads on; a click on a key presses it."""
    async with opened(canned, size=NARROW) as pilot:
        await until(pilot, lambda: "/ Filter" in _last_line(pilot) and "? Help q Quit" in _last_line(pilot))
        await until(pilot, lambda: "⏎ Open" in _last_line(pilot) and "r Readers" in _last_line(pilot))
        last = _last_line(pilot)
        assert "y Copy" not in last
        await pilot.click(offset=(last.index("? Help") + 1, 23))
        await until(pilot, lambda: isinstance(pilot.app.screen, Help))
