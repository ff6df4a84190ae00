"""A recorded run: read from its folder, and how it stands at any of its moments."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from rdss_sandbox.shapes.certificate import Certificate
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.trace import Delivery, Disposition, IteratorRequest, Put, PutEntry, Read, Settlement
from sandbox.certify.clause import Role
from sandbox.certify.clause_verdicts import count_verdicts, judge_clauses
from sandbox.certify.clauses import clauses
from sandbox.certify.history import FinalShard, History, Injected, Level, Life, ShardChange, Statement
from sandbox.certify.results_folder import write_results
from sandbox.cli.environment.tui import tui
from sandbox.scenarios.scenario import find_scenario
from sandbox.scenarios.scenario_run import run_scenario
from tests.tui.app_pilot import WIDE, see, text_of, until
from tests.tui.canned_scenarios import events
from tui.keys.preferences import Preferences
from tui.recording_app import RecordingApp
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
    assert all(sentence(event, read.meanings) for event in read.events)


def write_certificate(folder: Path) -> Path:
    """A certificate of a consumer that died once, was throttled, and never read the child of a split."""
    history = History("input", 0.0)
    history.lives += [
        Life(0, 0.0, 1.0, "SIGKILL", -9),
        Life(1, 1.0, 3.0, "itself", 3),
        Life(2, 3.0, 9.0, "SIGTERM", 0),
    ]
    history.exchanges += [
        IteratorRequest(0.2, 0, "input", "shardId-000000000000", "LATEST"),
        Read(0.4, 0, "input", "shardId-000000000000", records=(Delivery("1", "m-1"),)),
        Read(0.5, 0, "input", "shardId-000000000000"),
        Read(2.0, 1, "input", "shardId-000000000000", error="ProvisionedThroughputExceededException"),
        Put(4.0, 4.1, 2, "error", (PutEntry("m-2", "d", 10, "k"),)),
        Settlement(4.2, 2, "input", Disposition.ACK, (Delivery("1", "m-1"),)),
    ]
    history.told.append(Statement("m-1", 0.6, 0))
    history.injected.append(Injected(2.0, "throttle", None, Level.SILVER))
    parent, children = "shardId-000000000000", ("shardId-000000000002", "shardId-000000000003")
    history.reshards.append(ShardChange(2.5, "split", (parent,), children, 0, Level.SILVER))
    history.shards.append(FinalShard(children[0], (parent,), (("9", "m-9"),)))
    results, reached = judge_clauses(
        clauses(Role.CONSUMER), history, "sandbox certify again", {"joins-sequences": "deselected"}
    )
    counts, subject = count_verdicts(results), {"command": ["python", "naive.py"], "files": {}}
    kit = {"version": 1, "sandbox": "0", "clauses": len(results)}
    certificate = Certificate(kit, subject, "consumer", "kinesis", 7, reached, results, counts, 9.0)
    write_results(certificate, history, folder)
    return folder


def test_a_certificate_opens_like_a_run(tmp_path: Path) -> None:
    """Its clauses are the lines of the verdict, and what the client did are events with sentences."""
    read = read_recording(write_certificate(tmp_path))
    assert (read.title, read.seed, read.verdict) == ("certificate of a consumer: no level", 7, "fail")
    assert read.command == "sandbox certify again"
    assert "python naive.py" in read.teach.happens
    lines = {line.claim: line for line in read.lines}
    assert "joins-sequences" not in lines
    assert lines["every-shard-read"].holds is False
    assert "shardId-000000000002, made by a split" in lines["every-shard-read"].observed
    assert lines["refuses-expired"].holds is None
    assert [event.time for event in read.events] == sorted(event.time for event in read.events)
    said = [sentence(event, read.meanings) for event in read.events]
    assert said == [
        "the receiving process starts",
        "the receiver asks for an iterator: LATEST of 0000",
        "the receiver is given m-1 from input, shard 0000",
        "the receiver reads and finds nothing",
        "the application has processed m-1",
        "the receiving process is killed (SIGKILL)",
        "the receiving process starts",
        "a read was refused: 0000: ProvisionedThroughputExceededException",
        "the fault throttle struck: throttle",
        "input was resharded: 0000 closed, 0002, 0003 opened",
        "the receiving process ends: by itself, with exit code 3",
        "the receiving process starts",
        "the broker has m-2 on error",
        "client settlement",
        "the receiving process was ended: SIGTERM",
    ]


async def test_a_certificate_is_played_on_the_screen_of_runs(tmp_path: Path) -> None:
    """The level stands in the title, and the clauses are told after the last event."""
    app = RecordingApp(read_recording(write_certificate(tmp_path)), Preferences())
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "certificate of a consumer: no level" in text_of(pilot))
        await pilot.press("G")
        await see(pilot, "fail  ·  certificate of a consumer", "✗ every-shard-read is")


@pytest.mark.parametrize("file", ["certificate.json", "events.ndjson"])
def test_a_damaged_certificate_is_named(tmp_path: Path, file: str) -> None:
    """Which file cannot be read is said."""
    (write_certificate(tmp_path) / file).write_text('{"type": "read"}')
    with pytest.raises(RecordingError, match=rf"{file} cannot be read"):
        read_recording(tmp_path)


def test_a_sentence_says_why(tmp_path: Path) -> None:
    """What the broker refused is told with its code; empty reads are told in words."""
    throttled = run_scenario(find_scenario("throttled-producer"), "x", seed=7, runs=tmp_path).events
    refused = [sentence(event, {}) for event in throttled if event.kind == "message.refused"]
    assert all(said.endswith("ProvisionedThroughputExceededException") for said in refused)
    assert "the receiver reads and finds nothing" in [sentence(event, {}) for event in throttled]


def test_a_refusal_is_told_with_what_its_code_means(tmp_path: Path) -> None:
    """By the run's own summary: no sandbox has to answer."""
    run = run_scenario(find_scenario("expired-message"), "x", seed=7, runs=tmp_path)
    read = read_recording(run.folder)
    (said, *_) = (sentence(each, read.meanings) for each in read.events if each.kind == "message.rejected")
    assert "GENERR003, The message had expired when its delivery was attempted" in said


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
