"""Records: put, routed, found again by every kind of iterator; what is refused."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.emulator.kinesis.engine_calls import Calls

SOON = 60
"""Seconds within which a test comes to look."""
SOONEST = 1.1
"""Seconds that keep two records apart where times are told in whole seconds."""

MIB = 1024 * 1024


def many(api: Calls, *records: tuple[bytes, str], **more: Any) -> dict[str, Any]:
    return api(
        "PutRecords",
        StreamName=api.name,
        Records=[{"Data": data, "PartitionKey": key, **more} for data, key in records],
    )


def test_a_record_comes_back_as_it_went_in(api: Calls) -> None:
    """Every byte of the data, any partition key, the arrival on the clock."""
    api.create()
    data, key = bytes(range(256)), 'k\n"\\é\U0001f600'

    put = api.put(data, key)
    (record,) = api.get(api.iterator())["Records"]

    assert record.pop("EncryptionType", "NONE") == "NONE"
    assert record == {
        "SequenceNumber": put["SequenceNumber"],
        "ApproximateArrivalTimestamp": pytest.approx(api.clock.time(), abs=SOON),
        "Data": data,
        "PartitionKey": key,
    }


def test_keys_go_to_the_shard_whose_range_holds_their_md5(api: Calls) -> None:
    """By the MD5 of the key, or by ExplicitHashKey when there is one."""
    api.create(shards=5)
    width = 2**128 // 5

    for i in range(20):
        expected = min(int(hashlib.md5(str(i).encode()).hexdigest(), 16) // width, 4)
        assert api.put(key=str(i))["ShardId"] == f"shardId-{expected:012d}"
    assert api.put(ExplicitHashKey=str(2**128 - 1))["ShardId"] == "shardId-000000000004"
    assert api.put(ExplicitHashKey="0")["ShardId"] == "shardId-000000000000"
    api.refuses(
        "InvalidArgumentException",
        "Invalid ExplicitHashKey",
        "PutRecord",
        StreamName=api.name,
        Data=b"",
        PartitionKey="k",
        ExplicitHashKey=str(2**128),
    )


def test_many_records_are_answered_in_the_order_they_came_in(api: Calls) -> None:
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


def test_each_kind_of_iterator_starts_where_it_says(api: Calls) -> None:
    """TRIM_HORIZON, LATEST, AT_ and AFTER_SEQUENCE_NUMBER, AT_TIMESTAMP."""
    api.create()
    numbers = []
    for i in range(5):
        numbers.append(api.put(b"%d" % i)["SequenceNumber"])
        api.pass_by(SOONEST)
    times = [record["ApproximateArrivalTimestamp"] for record in api.get(api.iterator(0))["Records"]]

    def first(kind: str, **more: Any) -> bytes | None:
        records = api.get(api.iterator(0, kind, **more))["Records"]
        return records[0]["Data"] if records else None

    assert first("TRIM_HORIZON") == b"0"
    assert first("LATEST") is None
    assert first("AT_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[2]) == b"2"
    assert first("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[2]) == b"3"
    assert first("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=numbers[4]) is None
    assert first("AT_TIMESTAMP", Timestamp=int(times[0]) - 5) == b"0"
    assert first("AT_TIMESTAMP", Timestamp=int(times[2])) == b"2"
    assert first("AT_TIMESTAMP", Timestamp=int(times[2]) + 1) == b"3"
    assert first("AT_TIMESTAMP", Timestamp=int(api.clock.time())) is None
    start = api.shards()[0]["SequenceNumberRange"]["StartingSequenceNumber"]
    assert first("AT_SEQUENCE_NUMBER", StartingSequenceNumber=start) == b"0"
    latest = api.iterator(0, "LATEST")
    api.put(b"5")
    assert [record["Data"] for record in api.get(latest)["Records"]] == [b"5"]


@pytest.mark.parametrize(
    ("kind", "more", "words"),
    [
        pytest.param(
            "AT_SEQUENCE_NUMBER",
            {},
            "Request specified AT_SEQUENCE_NUMBER and no StartingSequenceNumber",
            id="no number",
        ),
        pytest.param("LATEST", {"StartingSequenceNumber": "5"}, "LATEST and also a", id="number not wanted"),
        pytest.param(
            "AFTER_SEQUENCE_NUMBER", {"StartingSequenceNumber": "5"}, "is invalid", id="no such number"
        ),
        pytest.param(
            "AFTER_SEQUENCE_NUMBER",
            {"StartingSequenceNumber": "49" + "0" * 54},
            "did not come from this stream",
            id="number of another stream",
        ),
        pytest.param("AT_TIMESTAMP", {}, "Must specify timestampInMillis", id="no time"),
        pytest.param("AT_TIMESTAMP", {"Timestamp": 3600}, "cannot be greater than", id="time to come"),
    ],
)
def test_a_position_that_cannot_be_is_refused(
    api: Calls, kind: str, more: dict[str, Any], words: str
) -> None:
    """With AWS's InvalidArgumentException, saying what is wrong with it."""
    api.create()
    if "Timestamp" in more:
        more = {"Timestamp": int(api.clock.time()) + more["Timestamp"]}

    api.refuses(
        "InvalidArgumentException",
        words,
        "GetShardIterator",
        StreamName=api.name,
        ShardId="shardId-000000000000",
        ShardIteratorType=kind,
        **more,
    )


@pytest.mark.parametrize("token", ["x", "AAAAAAAAAAA=", "é", "A" * 512])
def test_a_garbage_iterator_is_refused_as_aws_does(api: Calls, token: str) -> None:
    """Whatever is sent as an iterator, the answer is an InvalidArgumentException."""
    api.refuses("InvalidArgumentException", "Invalid ShardIterator", "GetRecords", ShardIterator=token)


def test_millis_behind_latest_is_true(api: Calls) -> None:
    """It is the age of the last record of an answer when there are more, and 0 at the tip."""
    api.create()
    for i in range(3):
        api.put(b"%d" % i)
        api.clock.advance(10)

    first = api.get(api.iterator(), Limit=1)
    second = api.get(first["NextShardIterator"], Limit=1)
    third = api.get(second["NextShardIterator"], Limit=1)

    assert [answer["MillisBehindLatest"] for answer in (first, second, third)] == pytest.approx(
        [30_000, 20_000, 0], abs=5_000
    )


def test_the_limit_of_get_records_is_kept(api: Calls) -> None:
    """Batches put at once can be read one by one, in order."""
    api.create()
    many(api, *((b"%d" % i, "k") for i in range(30)))
    many(api, *((b"%d" % i, "k") for i in range(30, 50)))

    for limit in (1, 7, 50, 10_000):
        assert api.drain(Limit=limit) == [b"%d" % i for i in range(50)]


def test_records_of_an_encrypted_stream_say_so(api: Calls) -> None:
    """From the start of encryption until it is stopped, in answers and on records."""
    api.create()
    api("StartStreamEncryption", StreamName=api.name, EncryptionType="KMS", KeyId="alias/k")
    assert api.put(b"in")["EncryptionType"] == "KMS"
    assert many(api, (b"in", "k"))["EncryptionType"] == "KMS"
    api("StopStreamEncryption", StreamName=api.name, EncryptionType="KMS", KeyId="alias/k")
    assert api.put(b"out").get("EncryptionType", "NONE") == "NONE"

    records = api.get(api.iterator())["Records"]

    assert [record.get("EncryptionType", "NONE") for record in records] == ["KMS", "KMS", "NONE"]


def test_a_dry_run_says_that_it_would_have_worked_and_does_nothing(api: Calls) -> None:
    """As AWS answers one: with an error of its own."""
    api.create()

    api.refuses(
        "DryRunOperationException",
        "would have succeeded",
        "PutRecord",
        StreamName=api.name,
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


def test_a_stream_that_distributes_by_itself_needs_no_key(api: Calls) -> None:
    """On demand and AUTO, records go to the shards in turn; otherwise a key is needed."""
    api("CreateStream", StreamName=api.name, StreamModeDetails={"StreamMode": "ON_DEMAND"})
    api.refuses("ValidationException", "partitionKey", "PutRecord", StreamName=api.name, Data=b"x")
    api("UpdateStreamRecordDistributionStrategy", StreamARN=api.arn, RecordDistributionStrategy="AUTO")

    shards = {api("PutRecord", StreamName=api.name, Data=b"x")["ShardId"] for _ in range(4)}

    assert len(shards) == 4
    assert "PartitionKey" not in api.get(api.iterator())["Records"][0]


def test_a_number_of_another_shard_is_refused_by_name(api: Calls) -> None:
    """As AWS does: it says which shard the number is of."""
    api.create(shards=2)
    number = api.put(ExplicitHashKey="0")["SequenceNumber"]

    api.refuses(
        "InvalidArgumentException",
        r"It encodes shardId-000000000000, while it was used .* shardId-000000000001",
        "GetShardIterator",
        StreamName=api.name,
        ShardId="shardId-000000000001",
        ShardIteratorType="AT_SEQUENCE_NUMBER",
        StartingSequenceNumber=number,
    )


def test_shard_ids_can_be_abbreviated(api: Calls) -> None:
    """AWS takes shardId-1 and 1 as well."""
    api.create(shards=2)
    api.put(b"in one", ExplicitHashKey=str(2**128 - 1))

    for shard_id in ("shardId-1", "1", "shardId-000000000001"):
        at = {"StreamName": api.name, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
        token = api("GetShardIterator", **at)["ShardIterator"]
        assert [record["Data"] for record in api.get(token)["Records"]] == [b"in one"]
    api.refuses(
        "ResourceNotFoundException",
        f"Could not find shard shardId-x in stream {api.name} under account 000000000000.",
        "GetShardIterator",
        StreamName=api.name,
        ShardId="shardId-x",
        ShardIteratorType="LATEST",
    )


def test_a_number_to_order_after_must_be_one_of_the_past(api: Calls) -> None:
    """SequenceNumberForOrdering is taken when it is a number, and refused in AWS's words when not."""
    api.create()
    first = api.put()["SequenceNumber"]

    assert api.put(SequenceNumberForOrdering=first)["SequenceNumber"] > first
    api.refuses(
        "InvalidArgumentException",
        f"ExclusiveMinimumSequenceNumber 7 used in PutRecord on stream {api.name} under account 000000000000",
        "PutRecord",
        StreamName=api.name,
        Data=b"",
        PartitionKey="k",
        SequenceNumberForOrdering="7",
    )


def test_an_iterator_is_not_taken_for_another_stream(api: Calls) -> None:
    """A StreamARN given with it must be that of its stream."""
    api.create()
    api.refuses(
        "InvalidArgumentException",
        "not for the stream",
        "GetRecords",
        ShardIterator=api.iterator(),
        StreamARN=f"{api.arn}-other",
    )
    assert api.get(api.iterator(), StreamARN=api.arn)["Records"] == []
