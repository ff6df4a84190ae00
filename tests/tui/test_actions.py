"""The action registry: keys, help, docs and keymaps from one list."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from emulator.message_index.sql_filter import compile_filter, list_columns
from schemas.rdss.contract import RDSS
from tests.docs.tui_page import list_fields, list_keys
from tests.taken_out import needs
from tests.tui.app_pilot import opened, until
from tests.tui.canned import CONTRACT, Canned
from tui.keys.actions import ACTIONS, ActionGroup
from tui.keys.preferences import Preferences, PreferencesError, read
from tui.state import query
from tui.widgets.message_list import MessageList

DOCS = Path(__file__).parents[2] / "docs" / "tui.md"


def test_no_key_means_two_things_in_one_place() -> None:
    """Within a group every key stands once, and so does every name."""
    for group in ActionGroup:
        keys = Counter(key for a in ACTIONS if a.group is group for key in a.keys.split(","))
        assert [key for key, times in keys.items() if times > 1] == []
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)


@needs("processing", "queues", "topics")
def test_the_documentation_is_the_registry() -> None:
    """docs/tui.md holds the tables that the help page shows."""
    text = DOCS.read_text(encoding="utf-8")
    assert "\n".join(list_keys()) in text
    assert list_fields(CONTRACT.fields) in text


def test_every_field_of_the_filter_language_is_explained() -> None:
    """The help knows each field that the sandbox knows, with an example that it can read."""
    explained, columns = query.explain_fields(CONTRACT.fields), list_columns(RDSS.fields)
    assert explained.keys() == columns.keys()
    for each in explained.values():
        compile_filter(each.example, columns)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ty", "type:"),
        ("type:MetadataC", "type:MetadataCreate"),
        ("mark:o", "mark:oversize"),
        ("", None),
        ("zz", None),
    ],
)
def test_filters_are_completed(word: str, expected: str | None) -> None:
    """A field's name, then the values it is known to have."""
    assert query.complete(word, query.explain_fields(CONTRACT.fields)) == expected


async def test_a_keymap_of_the_users_own(canned: Canned) -> None:
    """A key given to an action in the preferences works, and the one it replaces does not."""
    preferences = Preferences(keymap={"list.first": "home,ctrl+a"})
    async with opened(canned, preferences=preferences) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        await pilot.press("g")
        assert rows.cursor == 499
        await pilot.press("ctrl+a")
        assert rows.cursor == 0


def test_preferences_are_kept(tmp_path: Path) -> None:
    """Theme and saved filters are there the next time; a key set by hand stays as it was."""
    path = tmp_path / "config" / "tui.toml"
    path.parent.mkdir()
    path.write_text('[keys]\n"list.first" = "ctrl+a"\n')
    held = read(path)
    held.save_theme("nord")
    held.save_filter("odd", 'id:"a b" mark:late')
    again = read(path)
    assert (again.theme, again.keymap, again.filters) == (
        "nord",
        {"list.first": "ctrl+a"},
        {"odd": 'id:"a b" mark:late'},
    )
    again.save_filter("odd", "")
    assert read(path).filters == {}


@pytest.mark.parametrize("text", ["theme = ", "theme = 3", "keys = 1", "[filters]\na = 1", "\x00"])
def test_preferences_that_cannot_be_read_are_said(tmp_path: Path, text: str) -> None:
    """The file is named, and nothing is overwritten."""
    path = tmp_path / "tui.toml"
    path.write_text(text)
    with pytest.raises(PreferencesError, match=r"tui\.toml"):
        read(path)
    assert path.read_text() == text


async def test_the_palette_offers_what_works_here(canned: Canned) -> None:
    """ctrl+p finds an action of this screen by its name and does it."""
    async with opened(canned) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 500)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: type(pilot.app.screen).__name__ == "CommandPalette")
        await pilot.press(*"pause")
        await until(pilot, lambda: pilot.app.screen.query("CommandList").first().option_count >= 1)
        await pilot.press("down", "enter")
        await until(pilot, lambda: rows.paused)
