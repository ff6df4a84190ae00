"""Events in sentences: what a person reads first, and what follows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rdss_sandbox.shapes.events import Event
from tests.tui.app_pilot import NARROW, opened, see, text_of, until
from tests.tui.canned import EVENTS, Canned
from tui.text.columns import ListColumn, split_cell
from tui.text.narration import remaining_fields, sentence
from tui.widgets.event_list import EventList

STRUCK = {
    "fault": "producer-retry",
    "type": "duplicate",
    "channel": "input",
    "message_id": "c0ffee12-0000-4000-8000-000000000000",
    "did": "put once more, same bytes",
}


@pytest.mark.parametrize(
    ("kind", "fields", "said", "more"),
    [
        (
            "fault.injected",
            STRUCK,
            "the fault producer-retry struck c0ffee12: put once more, same bytes",
            "channel input, type duplicate",
        ),
        ("clock.changed", {"action": "advance", "seconds": 360.0, "speed": None}, "went on by 6.0 min", ""),
        ("clock.changed", {"action": "freeze"}, "the clock stands still", ""),
        ("fault.changed", {"fault": "slow", "enabled": False}, "the fault slow is paused", ""),
        (
            "queue.claimed",
            {"queue": "error", "client": "anna", "messages": ["a", "b"]},
            "claims 2 messages of error",
            "",
        ),
        ("stream.created", {"stream": "input", "shards": 1}, "the stream input was made with 1 shard", ""),
        (
            "snapshot.saved",
            {"snapshot": "before", "records": 7},
            "the snapshot before was saved, 7 records",
            "",
        ),
        ("brand.new_thing", {"why": "it is new", "count": 3}, "brand new thing: it is new", "count 3"),
        ("stream.deleted", {}, "the stream ? was deleted", ""),
    ],
)
def test_an_event_is_a_sentence_and_then_its_fields(
    kind: str, fields: dict[str, Any], said: str, more: str
) -> None:
    """A sentence for each kind, also where a field is missing; what it tells is not told again."""
    event = Event(1, 0.0, kind, fields)
    assert said in sentence(event, {})
    if more:
        assert remaining_fields(event, {}) in {more, ", ".join(reversed(more.split(", ")))}


def test_every_kind_has_a_sentence_in_words() -> None:
    """No event is told by its name with dots and underlines, not even an unknown one."""
    for number, (kind, fields) in enumerate(EVENTS, 1):
        assert kind not in sentence(Event(number, 0.0, kind, fields), {})
    assert "_" not in sentence(Event(1, 0.0, "a.kind_of_later", {}), {})


def test_what_the_sandbox_emits_is_told_in_a_sentence_of_its_own() -> None:
    """No kind of event that stands in the code is told by its name."""
    sources = (
        path.read_text()
        for room in ("emulator", "sandbox", "extensions")
        for path in Path(room).rglob("*.py")
    )
    kinds = {kind for text in sources for kind in re.findall(r'emit\(\s*"([a-z_]+\.[a-z_.]+)"', text)}
    assert "fault.injected" in kinds
    named = {kind: kind.replace(".", " ").replace("_", " ") for kind in kinds}
    assert {kind for kind, name in named.items() if sentence(Event(1, 0.0, kind, {}), {}) == name} == set()


def test_the_sentence_is_whole_before_the_fields_have_any_room() -> None:
    """Of a cell the fields get what the sentence leaves."""
    column = ListColumn[str]("x", 10, lambda _: "a sentence", after=lambda _: "stream input, shards 2")
    assert split_cell(column, "", 10) == ("a sentence", "")
    assert split_cell(column, "", 12) == ("a sentence  ", "")
    assert split_cell(column, "", 24) == ("a sentence  ", "stream inpu…")
    assert split_cell(column, "", 40) == ("a sentence  ", "stream input, shards 2      ")
    assert split_cell(column, "", 6) == ("a sen…", "")


@pytest.mark.parametrize("size", [(100, 30), (120, 40), (160, 48)])
async def test_the_list_of_events_shows_sentences_whole(canned: Canned, size: tuple[int, int]) -> None:
    """On a screen of each usual width."""
    async with opened(canned, size=size) as pilot:
        await pilot.press("v")
        await see(
            pilot, "the fault latency struck 000001f4: held 412 ms", "the fault latency is in force on input"
        )


async def test_an_event_is_shown_whole_with_enter(canned: Canned) -> None:
    """On a small screen v brings the events and enter the one under the cursor, with its time and fields."""
    async with opened(canned, size=NARROW) as pilot:
        await pilot.press("v")
        await until(pilot, lambda: isinstance(pilot.app.focused, EventList))
        await see(pilot, "the fault latency struck 000001f4: held 412 ms")
        await pilot.press("enter")
        await see(pilot, '"message_id": "000001f4"', '"time": "2026-05-28 20:26:44.000 UTC"', "esc Close")
        await pilot.press("escape")
        await until(pilot, lambda: "esc Close" not in text_of(pilot))
