"""The local data repository: all or nothing, and checkpoints that never go back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.channels.checkpoints import SHARD_END
from emulator.clock import Clock
from sandbox.repository import MessageStatus, Repository
from schemas.rdss.envelope import serialise


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository(tmp_path / "application.sqlite3", Clock(frozen_at=0.0))
    yield repository
    repository.close()


def test_what_fails_leaves_nothing_behind(repository: Repository) -> None:
    """An error undoes the whole transaction; one that is caught within undoes only its own part."""
    with pytest.raises(ZeroDivisionError):
        _count_and_fail(repository)
    assert repository.counted("duplicate") == 0
    assert repository.checkpoint("input", "shardId-0") is None
    with repository.transaction():
        repository.count("duplicate")
        with pytest.raises(ZeroDivisionError):
            _count_and_fail(repository)
    assert repository.counted("duplicate") == 1


def _count_and_fail(repository: Repository) -> None:
    with repository.transaction():
        repository.count("duplicate")
        repository.save_checkpoint("input", "shardId-0", "1")
        raise ZeroDivisionError


def test_a_checkpoint_only_goes_forward(repository: Repository) -> None:
    """Sequence numbers are compared as numbers, and nothing comes after the end of a shard."""
    checkpoints = repository.checkpoints("input")
    for position in ("9", "10", "2"):
        checkpoints.put("shardId-0", position)
    assert checkpoints.get("shardId-0") == "10"
    checkpoints.put("shardId-0", SHARD_END)
    checkpoints.put("shardId-0", "11")
    assert checkpoints.get("shardId-0") == SHARD_END
    assert repository.checkpoints("output").get("shardId-0") is None


def test_a_reader_that_saves_its_checkpoints_leaves_the_channel_the_end_of_a_shard(
    repository: Repository,
) -> None:
    """What the channel commits is saved already, with the work; that a shard has ended, only it knows."""
    checkpoints = repository.transactional_checkpoints("input")
    checkpoints.put("shardId-0", "9")
    assert checkpoints.get("shardId-0") is None
    repository.save_checkpoint("input", "shardId-0", "9")
    assert checkpoints.get("shardId-0") == "9"
    checkpoints.put("shardId-0", SHARD_END)
    repository.save_checkpoint("input", "shardId-0", "10")
    assert checkpoints.get("shardId-0") == SHARD_END


def test_it_is_all_there_when_it_is_opened_again(repository: Repository) -> None:
    """What was committed is found by the next process on the same file."""
    repository.record_to_send("input", [b"{}"])
    repository.save_checkpoint("input", "shardId-0", "7")
    again = Repository(repository.path, Clock(frozen_at=0.0))
    assert [message.data for message in again.unsent("input", 10)] == [b"{}"]
    assert again.checkpoint("input", "shardId-0") == "7"
    again.close()


def test_the_same_message_waits_to_be_sent_once(repository: Repository) -> None:
    """Handing it over again changes nothing until it was sent; then it is a message to send again."""
    repository.record_to_send("input", [b"{}", b"{}"])
    repository.record_sent(repository.unsent("input", 10))
    assert repository.tally("input") == {(MessageStatus.SENT, None, None): 1}
    repository.record_to_send("input", [b"{}"])
    assert len(repository.unsent("input", 10)) == 1


@pytest.mark.parametrize("message_id", ["", "x" * 300, "é"])
def test_every_message_has_a_partition_key_that_a_broker_takes(
    repository: Repository, message_id: str
) -> None:
    """A messageId that cannot be a partition key is not used as one."""
    data = serialise({"messageHeader": {"messageId": message_id}})
    repository.record_to_send("input", [data])
    (unsent,) = repository.unsent("input", 10)
    assert 1 <= len(unsent.key) <= 256
    assert unsent.key.isascii()
