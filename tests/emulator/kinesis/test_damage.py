"""A damaged directory is named, never passed over in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from emulator.journal import DamagedLogError
from emulator.kinesis import Engine, KinesisError
from tests.emulator.kinesis.engine_calls import SCOPE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.emulator.kinesis.engine_calls import Api

ARN = "arn:aws:kinesis:eu-west-2:000000000000:stream/s"


def change(path: Path, position: int) -> None:
    """Change one bit of a file."""
    raw = bytearray(path.read_bytes())
    raw[position] ^= 1
    path.write_bytes(raw)


@pytest.mark.parametrize("name", ["state.log", "0000000000000001.log"])
def test_an_engine_does_not_open_on_damaged_files(engines: Callable[..., Api], name: str) -> None:
    """The error names the file and the place, and the file is left as it is."""
    api = engines()
    api.create()
    for _ in range(3):
        api.put()
    api.engine.close()
    (path,) = api.directory.rglob(name)
    change(path, 50)
    raw = path.read_bytes()

    with pytest.raises(
        DamagedLogError, match=r"is damaged at byte 0.*Restore the file from a copy"
    ) as caught:
        Engine(api.directory, api.clock, api.events)

    assert (caught.value.path, caught.value.position) == (path, 0)
    assert path.read_bytes() == raw
    change(path, 50)
    api.engine = Engine(api.directory, api.clock, api.events)
    assert len(api.drain()) == 3


def test_records_damaged_while_the_engine_runs_are_an_internal_failure(engines: Callable[..., Api]) -> None:
    """GetRecords says which file it is, an event tells of it, and other shards are read as before."""
    api = engines()
    api.create(shards=2)
    api.put(b"fine", ExplicitHashKey="0")
    api.put(b"broken", ExplicitHashKey=str(2**128 - 1))
    (path,) = api.directory.rglob("000000000001/*.log")
    change(path, 60)

    error = api.refuses(
        "InternalFailure", "does not match its checksum", "GetRecords", ShardIterator=api.iterator(1)
    )

    position = {"Type": "TRIM_HORIZON"}
    consumer = api("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="c")["Consumer"]["ConsumerARN"]
    subscription = api.engine.subscribe(consumer, "shardId-000000000001", position, SCOPE)
    with pytest.raises(KinesisError, match="does not match its checksum"):
        subscription.next_batch()
    assert str(path) in error.message
    assert error.status == 500
    assert "journal.damaged" in [event.kind for event in api.events.since()]
    assert api.drain(0) == [b"fine"]


def test_what_a_torn_write_left_is_cut_and_told(engines: Callable[..., Api]) -> None:
    """The engine opens, says how many bytes it cut, and goes on."""
    api = engines()
    api.create()
    api.put(b"whole")
    (path,) = api.directory.rglob("0000000000000001.log")
    with path.open("ab") as file:
        file.write(path.read_bytes()[:40])

    api.restart()

    (cut,) = [event for event in api.events.since() if event.kind == "journal.cut"]
    where = {"file": str(path.parent), "stream": "s", "shard": "shardId-000000000000"}
    assert cut.fields == {**where, "bytes": 40}
    api.put(b"after")
    assert api.drain() == [b"whole", b"after"]


def test_what_a_deletion_that_was_cut_short_left_is_swept_away(engines: Callable[..., Api]) -> None:
    """Records of a stream that the journal says is gone are removed at the next start."""
    api = engines()
    api.create()
    api.put()
    left = api.directory / "streams" / "000000099"
    left.mkdir()
    (left / "x.log").write_bytes(b"x")

    api.restart()

    assert not left.exists()
    assert api.engine.streams(SCOPE)[0].records == 1


def test_a_disk_that_cannot_be_read_is_an_internal_failure(
    engines: Callable[..., Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason of the operating system is in the message; when it is over, nothing is missing."""
    api = engines()
    api.create()
    api.put(b"kept")
    iterator = api.iterator()

    def broken(descriptor: int, length: int, position: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("emulator.journal.storage.os.pread", broken)
    api.refuses(
        "InternalFailure", "could not be read.*Input/output error", "GetRecords", ShardIterator=iterator
    )
    monkeypatch.undo()

    assert [record["Data"] for record in api.get(iterator)["Records"]] == [b"kept"]
