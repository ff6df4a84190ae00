"""A recorded run: read from its folder, and how it stands at any of its moments."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rdss_sandbox.shapes.events import Event
from sandbox.cli.tui import tui
from sandbox.scenarios.scenario import find_scenario
from sandbox.scenarios.scenario_run import run_scenario
from tests.tui.canned_scenarios import events
from tui.state.playback import MessageState, Playback, PlaybackState
from tui.state.recording import RecordingError, read_recording
from tui.text.narration import sentence


def write(folder: Path, happened: tuple[Event, ...]) -> Path:
    """A folder as a run leaves it, without its summary."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.ndjson").write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in happened))
    return folder


def test_a_run_of_ours_is_read_whole(tmp_path: Path) -> None:
    """Title, verdict, what it teaches, the command that repeats it and every event are there."""
    run = run_scenario(find_scenario("happy-path"), "happy-path", seed=3, runs=tmp_path)
    read = read_recording(run.folder)
    assert read.events == run.events
    assert (read.title, read.seed, read.verdict) == (run.scenario.title, 3, "pass")
    assert read.teach.why == run.scenario.teach.why
    assert read.command == "sandbox scenario run happy-path --seed 3"
    assert {line.claim for line in read.lines} >= {"lost", "twice"}
    # Every one of our own events has a sentence of its own, or at least its name.
    assert all(sentence(event) for event in read.events)


def test_a_sentence_says_why(tmp_path: Path) -> None:
    """What the broker refused is told with its code; claims and empty reads are told in words."""
    throttled = run_scenario(find_scenario("throttled-producer"), "x", seed=7, runs=tmp_path).events
    refused = [sentence(event) for event in throttled if event.kind == "message.refused"]
    assert all(said.endswith("ProvisionedThroughputExceededException") for said in refused)
    assert "the receiver reads and finds nothing" in map(sentence, throttled)
    claimed = [
        sentence(event)
        for event in run_scenario(find_scenario("claim-expires"), "x", seed=7, runs=tmp_path).events
    ]
    assert "worker-2 claims 5 messages of input" in claimed
    assert "a claim of worker-2 on 3 messages of input expired" in claimed


def test_a_run_without_a_summary_has_its_folders_name(tmp_path: Path) -> None:
    """Events alone are enough to look through them."""
    read = read_recording(write(tmp_path / "2026-01-01T00-00-00Z", events()))
    assert (read.title, read.verdict, read.seed) == ("2026-01-01T00-00-00Z", "", None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"events\.ndjson is missing: play the scenario with --report ndjson"),
        (b"", "nothing happened in that run"),
        (b'{"id":1,"time":0,"kind":"a","fields":{}}\n{"id":', "event 2"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, content: bytes | None, said: str) -> None:
    """Which file, where in it, and what to do; the command says the same and exits as for wrong usage."""
    if content is not None:
        (tmp_path / "events.ndjson").write_bytes(content)
    with pytest.raises(RecordingError, match=said):
        read_recording(tmp_path)
    refused = CliRunner().invoke(tui, ["--run", str(tmp_path)], standalone_mode=False)
    assert refused.return_value == 2
    assert "events.ndjson" in refused.stderr


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """It is named, and where runs lie is said."""
    with pytest.raises(RecordingError, match="is not a folder; runs are in"):
        read_recording(tmp_path / "nowhere")


HAPPENED = events(200)


def replayed(count: int) -> PlaybackState:
    scene = PlaybackState()
    for event in HAPPENED[:count]:
        scene.apply(event)
    return scene


@settings(max_examples=30)
@given(st.lists(st.integers(0, len(HAPPENED)), max_size=8))
def test_a_scene_is_the_same_from_whichever_side_it_is_reached(moments: list[int]) -> None:
    """Scrubbing back and forth shows what playing from the start would."""
    scenes = Playback(HAPPENED)
    for count in moments:
        assert scenes.after(count) == replayed(count)


def test_messages_go_from_wanted_to_processed_and_never_back() -> None:
    """What was processed stays so when it comes again; processed again it is marked."""
    end = replayed(len(HAPPENED))
    assert end.states[f"{6:08x}-0000-4000-8000-000000000000"] is MessageState.REJECTED
    assert end.states[f"{199:08x}-0000-4000-8000-000000000000"] is MessageState.DELIVERED
    assert [end.shards[f"shardId-{number:012}"] for number in range(3)] == [False, True, True]
    scene, place = PlaybackState(), {"message_id": "m", "channel": "input"}
    states = []
    for kind in ("offered", "acknowledged", "delivered", "processed", "delivered", "processed"):
        scene.apply(Event(1, 0.0, f"message.{kind}", place))
        states.append(scene.states["m"])
    assert "".join(states) == "·○◐●●‼"


def test_parts_are_counted_and_are_no_messages() -> None:
    """A message in three parts is one sign on the board."""
    scene = PlaybackState()
    scene.apply(Event(1, 0.0, "message.offered", {"message_id": "whole"}))
    for position in (1, 2, 3):
        part = {"message_id": f"p{position}", "channel": "input", "position": position, "shard": "s-1"}
        scene.apply(Event(2, 0.0, "message.delivered", part))
    scene.apply(Event(3, 0.0, "message.processed", {"message_id": "whole", "parts": 3}))
    assert scene.states == {"whole": MessageState.PROCESSED}
    assert scene.counts["parts"] == 3
