"""Steps of a replay: what is folded, and how long it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rdss_sandbox.shapes.events import Event
from sandbox.scenarios.play import START, play
from sandbox.scenarios.replay.paths import find_paths
from sandbox.scenarios.replay.replay_data import find_shards
from sandbox.scenarios.replay.replay_steps import fold_events
from sandbox.scenarios.scenario import library


def events(*told: tuple[float, str, dict[str, Any]]) -> list[Event]:
    return [
        Event(number, START + at, kind, fields) for number, (at, kind, fields) in enumerate(told, start=1)
    ]


def offered(at: float, name: str) -> tuple[float, str, dict[str, Any]]:
    return at, "message.offered", {"message_id": name, "size": 1}


def empty(at: float, channel: str = "input") -> tuple[float, str, dict[str, Any]]:
    return at, "receiver.read_empty", {"channel": channel}


def test_idle_time_is_one_step_with_its_length() -> None:
    """From the last thing that happened to the next, whatever was read and found empty in between."""
    steps = fold_events(events(offered(0, "a"), empty(1), empty(31), offered(61.5, "b")))
    assert [step.kind for step in steps] == [
        "message.offered",
        "receiver.read_empty",
        "idle",
        "message.offered",
    ]
    assert steps[2].lasts == 61.5
    assert steps[2].text == "nothing happens for 1.0 min"
    assert steps[3].slot - steps[2].slot > 1, "idle time takes more room than a step"


def test_time_without_a_pause_is_not_folded() -> None:
    """What follows within a twentieth of a second follows at once."""
    steps = fold_events(events(offered(0, "a"), offered(0.04, "b"), offered(0.08, "c")))
    assert [step.kind for step in steps] == ["message.offered"] * 3
    assert [step.slot for step in steps] == [1, 2, 3]


def test_empty_reads_in_a_row_are_one() -> None:
    """With their number and how long they went on; a read that finds something begins another row."""
    steps = fold_events(events(empty(0), empty(1), empty(4), offered(4, "a"), empty(4)))
    assert [(step.kind, step.count) for step in steps if step.kind == "receiver.read_empty"] == [
        ("receiver.read_empty", 3),
        ("receiver.read_empty", 1),
    ]
    assert steps[0].text == "the receiver reads 3 times in 4.0 s and finds nothing"


def test_reads_of_the_queues_are_not_the_receivers() -> None:
    """What follows the error and invalid queues is not part of the picture."""
    assert fold_events(events(empty(0, "error"), empty(0, "invalid"))) == []


def test_a_run_has_its_empty_reads(tmp_path: Path) -> None:
    """A real run ends with reads that find nothing: one step, and the time for which nothing happened."""
    played = play(library()["happy-path"], tmp_path, seed=7)
    steps = fold_events(played.events)
    assert sum(event.kind == "receiver.read_empty" for event in played.events) > 5
    assert [step.kind for step in steps][-2:] == ["receiver.read_empty", "idle"]
    assert steps[-2].count > 5
    assert steps[-1].lasts > 60


def test_every_message_travels_as_it_did(tmp_path: Path) -> None:
    """From the application over its shard and the receiver to where it ends, in the order of the events."""
    played = play(library()["scale-1-8-2"], tmp_path, seed=7, kind="memory")
    steps = fold_events(played.events)
    shards = {
        event.fields["message_id"]: event.fields["shard"]
        for event in played.events
        if event.kind == "message.acknowledged"
    }
    paths = find_paths(steps)
    assert len(paths) == len({path.message for path in paths}) == len(played.offered)
    for path in paths:
        assert path.lanes == ["application sends", shards[path.message], "receiver", "application has it"]
        assert [index for index, _ in path.stops] == sorted(index for index, _ in path.stops)


def test_parts_belong_to_their_message(tmp_path: Path) -> None:
    """A message in three parts is one message with three paths."""
    played = play(library()["happy-path"], tmp_path, seed=7)
    paths = find_paths(fold_events(played.events))
    whole = next(event for event in played.events if event.fields.get("parts", 1) > 1).fields["message_id"]
    assert sum(path.message == whole for path in paths) == 3
    assert len({path.message for path in paths}) == len(played.offered)


def test_a_copy_has_a_path_of_its_own(tmp_path: Path) -> None:
    """Ten messages were put twice: ten further paths, marked as such, which end at the receiver."""
    played = play(library()["producer-retry"], tmp_path, seed=7)
    copies = [path for path in find_paths(fold_events(played.events)) if path.again]
    assert len(copies) == 10
    assert all(path.lanes[-1] == "receiver" for path in copies)


def test_children_stand_below_their_parents(tmp_path: Path) -> None:
    """Two shards, both split: each parent is followed by its children, opened where it was closed."""
    played = play(library()["split-under-load"], tmp_path, seed=7)
    shards = find_shards(fold_events(played.events), [shard.id for shard in played.shards])
    assert [shard.name for shard in shards] == [f"shard {number}" for number in (0, 2, 3, 1, 4, 5)]
    first, child = shards[0], shards[1]
    assert child.parents == (first.id,)
    assert (first.opened, child.closed) == (None, None)
    assert child.opened == first.closed is not None


def test_a_merged_shard_has_two_parents(tmp_path: Path) -> None:
    played = play(library()["merge-under-load"], tmp_path, seed=7)
    shards = find_shards(fold_events(played.events), [shard.id for shard in played.shards])
    assert sorted(len(shard.parents) for shard in shards) == [0, 0, 0, 0, 2, 2]
