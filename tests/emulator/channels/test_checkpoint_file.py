"""Checkpoints in a file: each stream's, over restarts, and only while it is the same stream."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from emulator.channels.checkpoints.checkpoint_file import CheckpointFile
from emulator.journal import Log


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
def test_a_stream_created_again_under_its_name_has_no_checkpoints(tmp_path: Path, restarted: bool) -> None:
    """Its readers are told once; other streams, and the same stream when asked again, keep theirs."""
    file = CheckpointFile(tmp_path / "positions.log")
    assert not file.begin("messages", "1")
    file.put("messages", "shardId-000000000000", "100")
    file.put("errors", "shardId-000000000000", "7")
    if restarted:
        file.close()
        file = CheckpointFile(tmp_path / "positions.log")
    with closing(file):
        assert not file.begin("messages", "1")
        assert file.get("messages", "shardId-000000000000") == "100"
        assert file.begin("messages", "2")
        assert file.get("messages", "shardId-000000000000") is None
        assert not file.begin("messages", "2")
        assert file.get("errors", "shardId-000000000000") == "7"


def test_the_file_of_the_format_before_is_taken_over_once(tmp_path: Path) -> None:
    """Its entries were a stream, a shard and a sequence number, without a key."""
    path = tmp_path / "positions.log"
    shutil.copyfile(Path(__file__).with_name("format_1_positions.log"), path)
    for _ in range(2):
        with closing(CheckpointFile(path)) as file:
            assert not file.begin("messages", "000000001")
            assert file.of("messages").get("shardId-000000000000") == "200"
            assert file.of("errors").get("shardId-000000000001") == "7"
        assert b'"200"]' not in path.read_bytes()


def test_a_stream_that_is_forgotten_stays_forgotten(tmp_path: Path) -> None:
    """After a restart too; a checkpoint that it gets then is new."""
    path = tmp_path / "positions.log"
    with closing(CheckpointFile(path)) as file:
        for stream in ("messages", "errors"):
            file.put(stream, "shardId-000000000000", "1")
        file.forget("messages")
    with closing(CheckpointFile(path)) as file:
        assert file.get("messages", "shardId-000000000000") is None
        assert file.get("errors", "shardId-000000000000") == "1"


def test_a_file_that_cannot_be_rewritten_is_used_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the start: the checkpoints are read, and the next start makes the file shorter."""
    path = tmp_path / "positions.log"
    with closing(CheckpointFile(path)) as file:
        for number in range(1000):
            file.put("messages", "shardId-000000000000", str(number))

    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Log, "replace", full)
        with closing(CheckpointFile(path)) as file:
            assert file.get("messages", "shardId-000000000000") == "999"
    long = path.stat().st_size
    CheckpointFile(path).close()
    assert path.stat().st_size < long / 100
