"""What was acknowledged as persisted is there after any death; what is damaged is not passed over."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import DamagedLogError
from emulator.rng import Chance
from extensions.topics.engine import checkpoints
from extensions.topics.engine import topic_assembly as assembly
from extensions.topics.engine.commands import Publish, Sow, Subscribe
from extensions.topics.engine.topic_definitions import ConflatedTopic, Queue, Topic, View
from extensions.topics.engine.topics_engine import TopicsEngine
from tests.extensions.topics.engine.publishing_process import DEFINITIONS
from tests.extensions.topics.engine.topics_world import NOON, Client, World, raw, said

KILLS = 6
SEED = 20_261_121
WRITER = Path(__file__).with_name("publishing_process.py")
ROOT = Path(__file__).parents[4]
SOW = Topic(name="objects", keys=("/id",), logged=True, expiration=0)


def publish_until_killed(directory: Path, first: int, lines: int) -> tuple[int, set[int]]:
    """The last number that was acknowledged, and those that the queue had handed out."""
    command = [sys.executable, str(WRITER), str(directory), str(first)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said_lines = [process.stdout.readline() for _ in range(lines)]
        process.send_signal(signal.SIGKILL)
        said_lines += process.stdout.read().splitlines(keepends=True)
        taken = [
            line.split() for line in process.stderr.read().splitlines(keepends=True) if line.endswith("\n")
        ]
    numbers = [int(line) for line in said_lines if line.endswith("\n")]
    return max(numbers), {int(words[1]) for words in taken}


def test_what_was_persisted_survives_being_killed_at_any_moment(tmp_path: Path) -> None:
    """Six times over: nothing acknowledged is missing, and the records are what the log makes of them.

    A queue that hands out at most once hands out nothing again.
    """
    draws = Chance(SEED).draws("killer")
    clock = Clock(frozen_at=NOON)
    first, handed_out = 1, set[int]()
    for _ in range(KILLS):
        acknowledged, taken = publish_until_killed(tmp_path, first, draws.randint(1, 20))
        handed_out |= taken
        topics = TopicsEngine(tmp_path, clock, Events(clock), DEFINITIONS)
        reader = Client(topics, "ann", "writer")
        reached = reader.session.last_seq or 0
        assert reached >= acknowledged
        reader.do(Sow("objects"))
        made: dict[str, Any] = {}
        numbers = []
        for change in topics.history("objects", limit=10**9):
            if change.kind == "published":
                made[change.sow_key] = said(change)
                numbers.append(said(change)["number"])
            else:
                made.pop(change.sow_key, None)
        assert numbers == [number for number in range(1, reached + 1) if number % 7]
        assert sorted(reader.records, key=str) == sorted(made.values(), key=str)
        reader.do(Subscribe("work", sub_id="s"))
        again = {said(message)["number"] for message in reader.published}
        assert not again & handed_out
        handed_out |= again
        topics.close()
        first = reached + 1
    assert first > 500


def test_everything_is_as_it_was_after_a_restart(world: World) -> None:
    """Records with their headers, views and conflated topics; what expired meanwhile leaves at once."""
    view = View(name="kinds", of=("objects",), keys=("/kind",))
    slow = ConflatedTopic(name="slow", of="objects")
    topics = world.topics(SOW, view, slow, durable=True)
    ann = Client(topics, "ann")
    ann.do(Publish("objects", raw(id=1, kind="a"), correlation_id="c", expiration=60))
    ann.do(Publish("objects", raw(id=2, kind="b"), expiration=5))
    topics.close()
    world.clock.advance(10)
    topics = world.topics(SOW, view, slow, durable=True)
    for name, found in (
        ("objects", [{"id": 1, "kind": "a"}]),
        ("kinds", [{"kind": "a"}]),
        ("slow", [{"id": 1, "kind": "a"}]),
    ):
        bob = Client(topics, "bob")
        world.clock.advance(1)
        bob.do(Sow(name))
        assert bob.records == found, name
    world.clock.advance(60)
    bob = Client(topics, "bob")
    bob.do(Sow("objects"))
    assert bob.records == []


def ids(topics: TopicsEngine) -> list[int]:
    reader = Client(topics, "reader")
    reader.do(Sow("objects"))
    return [record["id"] for record in reader.records]


def test_a_start_reads_only_what_came_after_the_checkpoint(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records, repeats and a queue's messages are known from it; the log adds what happened since."""
    monkeypatch.setattr(checkpoints, "ENTRIES_BETWEEN", 20)
    queue = Queue(name="work", of=("objects",), max_backlog=100)
    topics = world.topics(SOW, queue, durable=True)
    ann = Client(topics, "ann", "writer")
    for number in range(50):
        ann.do(Publish("objects", raw(id=number), seq=number))
    shutil.copytree(world.directory / "topics", world.directory / "left")
    read: list[int] = []
    recall = assembly._recall
    monkeypatch.setattr(
        assembly,
        "_recall",
        lambda registry, number, entry: (read.append(number), recall(registry, number, entry)),
    )
    again = TopicsEngine(world.directory / "left", world.clock, world.events, [SOW, queue])
    assert ids(again) == list(range(50))
    assert 0 < len(read) < 50
    bob = Client(again, "ann", "writer")
    assert bob.session.last_seq == 49
    bob.do(Subscribe("work", sub_id="s", opts="max_backlog=100"))
    assert [said(message)["id"] for message in bob.published] == list(range(50))
    again.close()


def test_a_log_is_remembered_as_long_as_it_is_asked_to_be(world: World) -> None:
    """What is older can be replayed no more; the state of the world has it still, after a restart too."""
    topics = world.topics(SOW, durable=True, retention=3600)
    ann = Client(topics, "ann")
    ann.do(Publish("objects", raw(id=1)))
    world.clock.advance(7200)
    ann.do(Publish("objects", raw(id=2)))
    topics._checkpoints.write()
    assert [said(one)["id"] for one in topics.history("objects")] == [2]
    bob = Client(topics, "bob")
    bob.do(Subscribe("objects", sub_id="s", bookmark="0000000000000001"))
    assert [said(message)["id"] for message in bob.published] == [2]
    assert ids(topics) == [1, 2]
    topics.close()
    assert ids(world.topics(SOW, durable=True)) == [1, 2]


@pytest.mark.parametrize("damage", ["damaged", "missing"])
def test_a_checkpoint_that_is_no_good_is_not_needed(world: World, damage: str) -> None:
    """As long as the log is whole, everything is read from it."""
    path = written(world, 5).parent / "checkpoint"
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-3] + b"???")
    assert ids(world.topics(SOW, durable=True)) == list(range(5))


def test_new_definitions_are_given_the_whole_log(world: World) -> None:
    """A queue that is defined later has the messages that were logged before it."""
    written(world, 3)
    topics = world.topics(SOW, Queue(name="work", of=("objects",)), durable=True)
    assert {one.name: one.records for one in topics.summaries()} == {"objects": 3, "work": 3}


def written(world: World, count: int) -> Path:
    """The file of a log with ``count`` messages."""
    topics = world.topics(SOW, durable=True)
    ann = Client(topics, "ann")
    for number in range(count):
        ann.do(Publish("objects", raw(id=number)))
    topics.close()
    (path,) = world.directory.rglob("*.log")
    return path


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_torn_tail_costs_only_what_was_being_written(world: World, cut: int) -> None:
    """The entry whose end is missing is gone, all before it are there, and new ones come after them."""
    path = written(world, 5)
    path.write_bytes(path.read_bytes()[:-cut])
    topics = world.topics(SOW, durable=True)
    ann = Client(topics, "ann")
    ann.do(Sow("objects"))
    assert ann.records == [{"id": number} for number in range(4)]
    ann.do(Publish("objects", raw(id=9)))
    assert len(topics.history("objects")) == 5


def test_a_damaged_log_is_not_passed_over(world: World) -> None:
    """A byte that differs in the middle is an error that names the file, not a record less."""
    path = written(world, 5)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DamagedLogError, match=path.name):
        world.topics(SOW, durable=True)


def test_a_full_disk_refuses_a_message_and_changes_nothing(world: World) -> None:
    """The acknowledgement says that it was not stored, and nobody is sent it."""
    topics = world.topics(SOW, durable=True)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(Subscribe("objects", sub_id="s"))
    with pytest.MonkeyPatch.context() as patch:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(os, "pwritev", full)
        (ack,) = ann.do(Publish("objects", raw(id=1), ack_type="processed"))
    assert (ack.status, ack.reason.partition(":")[0]) == ("failure", "not stored")
    assert bob.published == []
    assert topics.summaries()[0].records == 0
    (ack,) = ann.do(Publish("objects", raw(id=1), ack_type="processed"))
    assert ack.status == "success"
