"""The lanes of a run: each message stands in its shard's, at the stage that it has reached."""

from __future__ import annotations

from textual.app import App, ComposeResult

from rdss_sandbox.shapes.events import Event
from tests.tui.app_pilot import text_of
from tui.state.playback import Playback
from tui.widgets.message_lanes import MessageLanes

SHARDS = {"a": "shardId-000000000000", "b": "shardId-000000000001", "c": "shardId-000000000001"}
STEPS = ("offered", "acknowledged", "delivered", "processed")


def run_of(*steps: tuple[str, str]) -> Playback:
    """A run in which these messages reached these stages, in this order."""
    events = []
    for number, (message, step) in enumerate(steps, 1):
        fields = {"message_id": message, "channel": "input"}
        if step in {"acknowledged", "delivered"}:
            fields["shard"] = SHARDS.get(message[:1], SHARDS["c"])
        events.append(Event(number, float(number), f"message.{step}", fields))
    return Playback(events)


class LanesApp(App[None]):
    """The lanes alone."""

    def compose(self) -> ComposeResult:
        yield MessageLanes()


async def drawn(playback: Playback, after: int, width: int = 60) -> list[str]:
    """The lines above the legend, after so many events."""
    app = LanesApp()
    async with app.run_test(size=(width, 24)) as pilot:
        lanes = app.query_one(MessageLanes)
        lanes.styles.height = "auto"
        lanes.show(playback.after(after))
        await pilot.pause()
        lines = [line.rstrip() for line in text_of(pilot).splitlines()]
        return lines[: lines.index("")]


async def test_a_message_moves_along_its_lane() -> None:
    """Offered by the application, in the stream, given to the receiver, done: one stage further each time."""
    playback = run_of(*(("a", step) for step in STEPS))
    seen = [(await drawn(playback, number))[-1] for number in range(1, 5)]
    assert [line.split() for line in seen] == [
        ["·", "→", "→", "→"],
        ["●", "0000", "→", "○", "→", "→"],
        ["●", "0000", "→", "→", "◐", "→"],
        ["●", "0000", "→", "→", "→", "●", "1"],
    ]
    (heading, *_) = await drawn(playback, 4)
    assert heading.split() == ["offered", "in", "stream", "given", "done"]
    assert heading.index("done") == seen[3].rindex("●")


async def test_each_message_is_in_the_lane_of_its_shard() -> None:
    """Two shards, two lanes; what was only offered is in neither."""
    playback = run_of(
        ("a", "offered"), ("b", "offered"), ("c", "offered"), ("a", "acknowledged"), ("b", "acknowledged")
    )
    lines = await drawn(playback, 5)
    assert [line.split() for line in lines[1:]] == [
        ["·", "→", "→", "→"],
        ["●", "0000", "→", "○", "→", "→"],
        ["●", "0001", "→", "○", "→", "→"],
    ]


async def test_a_message_that_was_in_no_shard_is_told_apart() -> None:
    """What was joined from parts is done without a shard of its own: its lane says so."""
    playback = run_of(("whole", "offered"), ("whole", "processed"))
    assert (await drawn(playback, 2))[-1].split() == ["no", "shard", "→", "→", "→", "●", "1"]


async def test_more_messages_than_cells_are_counted() -> None:
    """A stage that is full has its number on the left, and no line is longer than the screen."""
    playback = run_of(*((f"c{number}", "acknowledged") for number in range(300)))
    (_, lane) = await drawn(playback, 300, width=46)
    assert lane.split()[:4] == ["●", "0001", "→", "300"]
    assert len(lane) <= 46


async def test_a_lane_that_was_closed_stays_with_what_it_gave() -> None:
    """After a split the parent's lane is hollow, and its children have lanes of their own."""
    playback = run_of(*(("a", step) for step in STEPS))
    split = {"closed": [SHARDS["a"]], "opened": ["shardId-000000000002", "shardId-000000000003"]}
    events = [*playback._events, Event(5, 5.0, "stream.resharded", {"stream": "input", **split})]
    lines = await drawn(Playback(events), 5)
    assert [line.split()[:2] for line in lines[1:]] == [["○", "0000"], ["●", "0002"], ["●", "0003"]]
    assert lines[1].split()[-2:] == ["●", "1"]
