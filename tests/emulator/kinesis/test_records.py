"""Records: put, routed, found again by every kind of iterator, trimmed; sizes and limits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from emulator.kinesis import KinesisError
from tests.emulator.kinesis.engine_calls import SCOPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.emulator.kinesis.engine_calls import Api

NOON = 1_790_000_000.0
MIB = 1024 * 1024


def many(api: Api, *records: tuple[bytes, str], **more: Any) -> dict[str, Any]:
    return api(
        "PutRecords",
        StreamName="s",
        Records=[{"Data": data, "PartitionKey": key, **more} for data, key in records],
    )


def test_iterators_expire_after_five_minutes_of_the_clock(api: Api) -> None:
    """To the millisecond, and in AWS's words; a new one is good for another five."""
    api.create()
    iterator = api.iterator()

    api.clock.advance(300)
    following = api.get(iterator)["NextShardIterator"]
    api.clock.advance(0.01)

    api.refuses(
        "ExpiredIteratorException",
        "Iterator expired. The iterator was created at time Mon Sep 21 14:13:20 UTC 2026 while right now it "
        "is Mon Sep 21 14:18:20 UTC 2026 which is further in the future than the tolerated delay of 300000",
        "GetRecords",
        ShardIterator=iterator,
    )
    assert api.get(following)["Records"] == []


def test_a_changed_iterator_is_refused(api: Api) -> None:
    """An iterator cannot be made up from another."""
    api.create()
    iterator = api.iterator()

    for i in range(8, len(iterator)):
        changed = iterator[:i] + ("A" if iterator[i] != "A" else "B") + iterator[i + 1 :]
        api.refuses("InvalidArgumentException", "Invalid ShardIterator", "GetRecords", ShardIterator=changed)


def test_iterators_and_places_survive_a_restart(api: Api) -> None:
    """A consumer goes on with the iterator it had, and misses nothing."""
    api.create()
    api.put(b"one")
    following = api.get(api.iterator())["NextShardIterator"]

    api.restart()
    api.put(b"two")

    assert [record["Data"] for record in api.get(following)["Records"]] == [b"two"]


def test_records_are_trimmed_when_their_retention_has_passed(api: Api) -> None:
    """TRIM_HORIZON moves on; an iterator at what is gone goes on with what is left; it does not come back."""
    api.create()
    api.put(b"old")
    number = api.put(b"older than a day soon")["SequenceNumber"]
    api.clock.advance(12 * 3600)
    api.put(b"new")
    api.clock.advance(12 * 3600 + 1)

    assert api.drain() == [b"new"]
    left = api.get(api.iterator(0, "AT_SEQUENCE_NUMBER", StartingSequenceNumber=number))["Records"]
    assert [record["Data"] for record in left] == [b"new"]
    api("IncreaseStreamRetentionPeriod", StreamName="s", RetentionPeriodHours=48)
    api.restart()
    assert api.drain() == [b"new"]
    assert api.engine.streams(SCOPE)[0].records == 1


def test_an_answer_holds_ten_mebibytes_at_most(api: Api) -> None:
    """Records of a mebibyte come ten at a time; a single one of ten mebibytes still comes."""
    api.create(MaxRecordSizeInKiB=10_240)
    data = os.urandom(MIB)
    for _ in range(4):
        many(api, (data, "a"), (data, "b"), (data, "c"))

    first = api.get(api.iterator())
    second = api.get(first["NextShardIterator"])

    assert [len(first["Records"]), len(second["Records"])] == [10, 2]
    biggest = os.urandom(10 * MIB - 1)
    api.put(biggest, "k")
    third = api.get(second["NextShardIterator"])
    assert [record["Data"] for record in third["Records"]] == [biggest]


def test_a_record_over_the_limit_is_refused_and_nothing_of_its_batch_is_kept(api: Api) -> None:
    """Data and partition key together count, against the limit that the stream has."""
    api.create()
    fits, over = b"x" * (MIB - 3), b"x" * (MIB - 2)

    api.put(fits, "key")
    with pytest.raises(KinesisError, match="Member must have length less than or equal to 1048576") as caught:
        many(api, (b"small", "key"), (over, "key"))
    assert caught.value.code == "ValidationException"
    assert len(api.drain()) == 1
    arn = "arn:aws:kinesis:eu-west-2:000000000000:stream/s"
    api("UpdateMaxRecordSize", StreamARN=arn, MaxRecordSizeInKiB=2048)
    api.put(over, "key")
    assert len(api.drain()) == 2


def test_a_clock_that_goes_back_does_not_take_the_records_with_it(api: Api) -> None:
    """Arrivals and numbers never decrease in a shard."""
    api.create()
    api.clock.advance(40 * 365 * 86_400)
    api.put(b"from the future")
    api.clock.resume_real_time()
    api.put(b"from now")

    records = api.get(api.iterator())["Records"]

    assert [record["Data"] for record in records] == [b"from the future", b"from now"]
    assert records[0]["ApproximateArrivalTimestamp"] <= records[1]["ApproximateArrivalTimestamp"]
    assert records[0]["SequenceNumber"] < records[1]["SequenceNumber"]


def test_what_comes_after_the_clock_went_back_is_kept(api: Api) -> None:
    """Also where the trim horizon is ahead of it, over a reshard and a restart."""
    api.clock.resume_real_time()
    api.create()
    api.put(b"yesterday's")
    api.clock.advance(72 * 3600)
    assert api.drain() == []
    api.clock.resume_real_time()
    api.put(b"now")
    assert api.drain() == [b"now"]
    api("SplitShard", StreamName="s", ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**127))
    api.clock.advance(3600)
    api.restart()
    assert [record["Data"] for record in api.get(api.iterator())["Records"]] == [b"now"]


def test_readers_in_the_process_need_no_iterator(api: Api) -> None:
    """They read after a sequence number, or from the oldest record on."""
    api.create()
    answer = many(api, *((b"%d" % i, "k") for i in range(5)))
    third = answer["Records"][2]["SequenceNumber"]

    read = api.engine.read
    assert [r.data for r in read("s", "shardId-000000000000", None, 3)] == [b"0", b"1", b"2"]
    (fourth, fifth) = read("s", "shardId-000000000000", third, 100)
    assert (fourth.data, fourth.partition_key, fourth.arrived) == (b"3", "k", NOON)
    assert read("s", "shardId-000000000000", fifth.sequence_number, 100) == []
    with pytest.raises(KinesisError, match="is not a sequence number"):
        read("s", "shardId-000000000000", "7", 100)
    with pytest.raises(KinesisError, match="not found"):
        read("t", "shardId-000000000000", None, 100)


def test_a_full_disk_fails_the_records_of_that_shard_and_says_why(
    engines: Callable[..., Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PutRecord raises InternalFailure, PutRecords fails the entries; what else was stored is whole."""
    api = engines()
    api.create(shards=2)
    api.put(b"before", ExplicitHashKey="0")
    real = os.pwritev

    def full(descriptor: int, parts: list[bytes], position: int) -> int:
        if b"full" in parts[1] or b"ZnVsb" in parts[1]:
            real(descriptor, [parts[0]], position)
            raise OSError(28, "No space left on device")
        return real(descriptor, parts, position)

    monkeypatch.setattr("emulator.journal.frames.os.pwritev", full)
    error = api.refuses(
        "InternalFailure",
        "could not be stored.*No space left",
        "PutRecord",
        StreamName="s",
        Data=b"full",
        PartitionKey="k",
        ExplicitHashKey="0",
    )
    assert error.status == 500
    entries = [
        {"Data": b"full", "PartitionKey": "k", "ExplicitHashKey": "0"},
        {"Data": b"fine", "PartitionKey": "k", "ExplicitHashKey": str(2**128 - 1)},
    ]
    answer = api("PutRecords", StreamName="s", Records=entries)
    assert answer["FailedRecordCount"] == 1
    assert answer["Records"][0]["ErrorCode"] == "InternalFailure"
    assert "No space left" in answer["Records"][0]["ErrorMessage"]
    assert answer["Records"][1]["ShardId"] == "shardId-000000000001"
    api.refuses("InternalFailure", "No space left", "AddTagsToStream", StreamName="s", Tags={"full": "x"})
    monkeypatch.undo()
    api.put(b"after", ExplicitHashKey="0")
    api.restart()

    assert api.drain(0) == [b"before", b"after"]
    assert api.drain(1) == [b"fine"]
    assert api("ListTagsForStream", StreamName="s")["Tags"] == []


def test_with_fsync_a_record_is_acknowledged_after_it_is_on_the_disk(
    engines: Callable[..., Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flush comes before the answer, also when the batch begins a new file; a failed one is said."""
    flushed: list[int] = []
    monkeypatch.setattr("emulator.journal.storage.os.fdatasync", flushed.append)
    api = engines(fsync=True, segment_bytes=1)
    api.create()
    for i in range(3):
        before = len(flushed)
        api.put(b"%d" % i)
        assert len(flushed) > before

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("emulator.journal.storage.os.fdatasync", broken)
    api.refuses(
        "InternalFailure", "Input/output error", "PutRecord", StreamName="s", Data=b"x", PartitionKey="k"
    )
    monkeypatch.undo()
    api("DeleteStream", StreamName="s")
    assert api.directory is not None
    assert not list(api.directory.glob("streams/*"))


def test_without_fsync_nothing_is_flushed(
    engines: Callable[..., Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that has returned survives the end of the process, and that is what was asked for."""
    flushed: list[int] = []
    monkeypatch.setattr("emulator.journal.storage.os.fdatasync", flushed.append)
    api = engines()
    api.create()
    api.put()

    assert flushed == []


def test_a_time_to_start_at_is_taken_to_the_millisecond(api: Api) -> None:
    """A record that came at that very time is read, one a millisecond before is not."""
    api.create()
    for i in range(3):
        api.put(b"%d" % i)
        api.clock.advance(10)

    def first(time: float) -> bytes:
        found: bytes = api.get(api.iterator(0, "AT_TIMESTAMP", Timestamp=time))["Records"][0]["Data"]
        return found

    assert [first(NOON - 1), first(NOON + 10), first(NOON + 10.001)] == [b"0", b"1", b"2"]


def test_an_empty_iterator_is_refused(api: Api) -> None:
    """Before that, clients are told by the length that an iterator has to have."""
    api.refuses("InvalidArgumentException", "Invalid ShardIterator", "GetRecords", ShardIterator="")
