"""Records: put, routed, found again by every kind of iterator, trimmed; sizes and limits."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any

import pytest

from emulator.kinesis import KinesisError
from tests.emulator.kinesis.conftest import SCOPE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.emulator.kinesis.conftest import Api

NOON = 1_790_000_000.0
MIB = 1024 * 1024


def many(api: Api, *records: tuple[bytes, str], **more: Any) -> dict[str, Any]:
    return api(
        "PutRecords",
        StreamName="s",
        Records=[{"Data": data, "PartitionKey": key, **more} for data, key in records],
    )


def test_a_record_comes_back_as_it_went_in(api: Api) -> None:
    """Every byte of the data, any partition key, the arrival on the clock."""
    api.create()
    data, key = bytes(range(256)), 'k\n"\\é\U0001f600'

    put = api.put(data, key)
    (record,) = api.get(api.iterator())["Records"]

    assert record == {
        "SequenceNumber": put["SequenceNumber"],
        "ApproximateArrivalTimestamp": NOON,
        "Data": data,
        "PartitionKey": key,
    }


def test_keys_go_to_the_shard_whose_range_holds_their_md5(api: Api) -> None:
    """By the MD5 of the key, or by ExplicitHashKey when there is one."""
    api.create(shards=5)
    width = 2**128 // 5

    for i in range(50):
        expected = min(int(hashlib.md5(str(i).encode()).hexdigest(), 16) // width, 4)
        assert api.put(key=str(i))["ShardId"] == f"shardId-{expected:012d}"
    assert api.put(ExplicitHashKey=str(2**128 - 1))["ShardId"] == "shardId-000000000004"
    assert api.put(ExplicitHashKey="0")["ShardId"] == "shardId-000000000000"
    api.refuses(
        "InvalidArgumentException",
        "Invalid ExplicitHashKey",
        "PutRecord",
        StreamName="s",
        Data=b"",
        PartitionKey="k",
        ExplicitHashKey=str(2**128),
    )


def test_many_records_are_answered_in_the_order_they_came_in(api: Api) -> None:
    """Each answer names the shard and number under which that record is found, over many shards."""
    api.create(shards=3)
    records = [(b"%d" % i, str(i)) for i in range(100)]

    answer = many(api, *records)

    assert answer["FailedRecordCount"] == 0
    found = {}
    for shard in range(3):
        for record in api.get(api.iterator(shard))["Records"]:
            found[f"shardId-{shard:012d}", record["SequenceNumber"]] = record["Data"]
    answered = [(entry["ShardId"], entry["SequenceNumber"]) for entry in answer["Records"]]
    assert [found[place] for place in answered] == [data for data, _ in records]


def test_each_kind_of_iterator_starts_where_it_says(api: Api) -> None:
    """TRIM_HORIZON, LATEST, AT_ and AFTER_SEQUENCE_NUMBER, AT_TIMESTAMP."""
    api.create()
    numbers = []
    for i in range(5):
        numbers.append(api.put(b"%d" % i)["SequenceNumber"])
        api.clock.advance(10)

    def first(kind: str, **more: Any) -> bytes | None:
        records = api.get(api.iterator(0, kind, **more))["Records"]
        return records[0]["Data"] if records else None

    assert first("TRIM_HORIZON") == b"0"
    assert first("LATEST") is None
    assert first("AT_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[2]) == b"2"
    assert first("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[2]) == b"3"
    assert first("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[4]) is None
    assert first("AT_TIMESTAMP", Timestamp=NOON - 1) == b"0"
    assert first("AT_TIMESTAMP", Timestamp=NOON + 20) == b"2"
    assert first("AT_TIMESTAMP", Timestamp=NOON + 20.001) == b"3"
    assert first("AT_TIMESTAMP", Timestamp=NOON + 50) is None
    start = api.shards()[0]["SequenceNumberRange"]["StartingSequenceNumber"]
    assert first("AT_SEQUENCE_NUMBER", StartingSequenceNumber=start) == b"0"
    latest = api.iterator(0, "LATEST")
    api.put(b"5")
    assert [record["Data"] for record in api.get(latest)["Records"]] == [b"5"]


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [
        ("AT_SEQUENCE_NUMBER", {}, "Request specified AT_SEQUENCE_NUMBER and no StartingSequenceNumber"),
        ("LATEST", {"StartingSequenceNumber": "5"}, "LATEST and also a StartingSequenceNumber"),
        ("AFTER_SEQUENCE_NUMBER", {"StartingSequenceNumber": "5"}, "is invalid"),
        (
            "AFTER_SEQUENCE_NUMBER",
            {"StartingSequenceNumber": "49" + "0" * 54},
            "did not come from this stream",
        ),
        ("AT_TIMESTAMP", {}, "Must specify timestampInMillis"),
        ("AT_TIMESTAMP", {"Timestamp": NOON + 1}, "cannot be greater than"),
    ],
)
def test_a_position_that_cannot_be_is_refused(api: Api, kind: str, more: dict[str, Any], words: str) -> None:
    """With AWS's InvalidArgumentException, saying what is wrong with it."""
    api.create()

    api.refuses(
        "InvalidArgumentException",
        words,
        "GetShardIterator",
        StreamName="s",
        ShardId="shardId-000000000000",
        ShardIteratorType=kind,
        **more,
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


@pytest.mark.parametrize("token", ["x", "", "AAAAAAAAAAA=", "é", "A" * 512])
def test_a_garbage_iterator_is_refused_as_aws_does(api: Api, token: str) -> None:
    """Whatever is sent as an iterator, the answer is an InvalidArgumentException."""
    api.refuses("InvalidArgumentException", "Invalid ShardIterator", "GetRecords", ShardIterator=token)


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


def test_millis_behind_latest_is_true(api: Api) -> None:
    """It is the age of the last record of an answer when there are more, and 0 at the tip."""
    api.create()
    for i in range(3):
        api.put(b"%d" % i)
        api.clock.advance(10)

    first = api.get(api.iterator(), Limit=1)
    second = api.get(first["NextShardIterator"], Limit=1)
    third = api.get(second["NextShardIterator"], Limit=1)

    assert [answer["MillisBehindLatest"] for answer in (first, second, third)] == [30_000, 20_000, 0]


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


def test_the_limit_of_get_records_is_kept(api: Api) -> None:
    """Batches put at once can be read one by one, in order."""
    api.create()
    many(api, *((b"%d" % i, "k") for i in range(30)))
    many(api, *((b"%d" % i, "k") for i in range(30, 50)))

    for limit in (1, 7, 50, 10_000):
        assert api.drain(Limit=limit) == [b"%d" % i for i in range(50)]


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


def test_records_of_an_encrypted_stream_say_so(api: Api) -> None:
    """From the start of encryption until it is stopped, in answers and on records."""
    api.create()
    api("StartStreamEncryption", StreamName="s", EncryptionType="KMS", KeyId="alias/k")
    assert api.put(b"in")["EncryptionType"] == "KMS"
    assert many(api, (b"in", "k"))["EncryptionType"] == "KMS"
    api("StopStreamEncryption", StreamName="s", EncryptionType="KMS", KeyId="alias/k")
    assert "EncryptionType" not in api.put(b"out")

    records = api.get(api.iterator())["Records"]

    assert [record.get("EncryptionType") for record in records] == ["KMS", "KMS", None]


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


def test_a_dry_run_says_that_it_would_have_worked_and_does_nothing(api: Api) -> None:
    """As AWS answers one: with an error of its own."""
    api.create()

    api.refuses(
        "DryRunOperationException",
        "would have succeeded",
        "PutRecord",
        StreamName="s",
        Data=b"x",
        PartitionKey="k",
        DryRun=True,
    )
    assert api.drain() == []
    api.refuses(
        "DryRunOperationException",
        "would have succeeded",
        "GetRecords",
        ShardIterator=api.iterator(),
        DryRun=True,
    )


def test_a_stream_that_distributes_by_itself_needs_no_key(api: Api) -> None:
    """On demand and AUTO, records go to the shards in turn; otherwise a key is needed."""
    api("CreateStream", StreamName="s", StreamModeDetails={"StreamMode": "ON_DEMAND"})
    api.refuses("ValidationException", "partitionKey", "PutRecord", StreamName="s", Data=b"x")
    arn = "arn:aws:kinesis:eu-west-2:000000000000:stream/s"
    api("UpdateStreamRecordDistributionStrategy", StreamARN=arn, RecordDistributionStrategy="AUTO")

    shards = {api("PutRecord", StreamName="s", Data=b"x")["ShardId"] for _ in range(4)}

    assert len(shards) == 4
    assert "PartitionKey" not in api.get(api.iterator())["Records"][0]


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


def test_a_number_of_another_shard_is_refused_by_name(api: Api) -> None:
    """As AWS does: it says which shard the number is of."""
    api.create(shards=2)
    number = api.put(ExplicitHashKey="0")["SequenceNumber"]

    with pytest.raises(
        KinesisError, match=r"It encodes shardId-000000000000, while it was used .* shardId-000000000001"
    ):
        api.iterator(1, "AT_SEQUENCE_NUMBER", StartingSequenceNumber=number)


def test_shard_ids_can_be_abbreviated(api: Api) -> None:
    """AWS takes shardId-1 and 1 as well."""
    api.create(shards=2)
    api.put(b"in one", ExplicitHashKey=str(2**128 - 1))

    for shard_id in ("shardId-1", "1", "shardId-000000000001"):
        token = api("GetShardIterator", StreamName="s", ShardId=shard_id, ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]
        assert [record["Data"] for record in api.get(token)["Records"]] == [b"in one"]
    api.refuses(
        "ResourceNotFoundException",
        "Could not find shard shardId-x in stream s under account 000000000000.",
        "GetShardIterator",
        StreamName="s",
        ShardId="shardId-x",
        ShardIteratorType="LATEST",
    )


def test_a_number_to_order_after_must_be_one_of_the_past(api: Api) -> None:
    """SequenceNumberForOrdering is taken when it is a number, and refused in AWS's words when not."""
    api.create()
    first = api.put()["SequenceNumber"]

    assert api.put(SequenceNumberForOrdering=first)["SequenceNumber"] > first
    api.refuses(
        "InvalidArgumentException",
        "ExclusiveMinimumSequenceNumber 7 used in PutRecord on stream s under account 000000000000",
        "PutRecord",
        StreamName="s",
        Data=b"",
        PartitionKey="k",
        SequenceNumberForOrdering="7",
    )


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


def test_an_iterator_is_not_taken_for_another_stream(api: Api) -> None:
    """A StreamARN given with it must be that of its stream."""
    api.create()
    api.refuses(
        "InvalidArgumentException",
        "not for the stream",
        "GetRecords",
        ShardIterator=api.iterator(),
        StreamARN="arn:aws:kinesis:eu-west-2:000000000000:stream/t",
    )
    assert (
        api.get(api.iterator(), StreamARN="arn:aws:kinesis:eu-west-2:000000000000:stream/s")["Records"] == []
    )
