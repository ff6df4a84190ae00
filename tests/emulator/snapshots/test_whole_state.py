"""A snapshot brings back everything, in a running sandbox, while clients are connected."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.clock import ClockChange
from tests.emulator.services.conftest import client_of
from tests.emulator.snapshots.whole_lesson import STREAM, Lesson, Teach, change, fill, read, records

UNCHANGED = {"parts", "tags"}
"""What ``change`` leaves, or changes only besides."""


def test_everything_is_again_as_it_was_saved(anywhere: Teach) -> None:
    with anywhere() as lesson:
        fill(lesson)
        before = read(lesson)
        lesson.control.snapshots.save("lesson-1")
        change(lesson)
        changed = read(lesson)
        assert {name for name in before if before[name] == changed[name]} <= UNCHANGED
        for _ in range(2):
            assert lesson.control.snapshots.load("lesson-1").left_out == ()
            assert read(lesson) == before
            lesson.control.reset()


def test_objects_are_their_own_sandbox_s_beside_another(anywhere: Teach) -> None:
    """Another sandbox of the process that begins to use S3 meanwhile does not get them."""
    beside = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)
    with anywhere() as lesson, embedded(beside) as other:
        lesson.client("s3").list_buckets()
        client_of(other.aws, "s3").list_buckets()
        fill(lesson)
        before = read(lesson)
        lesson.control.snapshots.save("lesson-1")
        change(lesson)
        lesson.control.snapshots.load("lesson-1")
        assert read(lesson) == before


def test_a_load_in_another_process_is_as_good_and_survives_it(on_disk: Teach) -> None:
    with on_disk() as lesson:
        fill(lesson)
        before = read(lesson)
        lesson.control.snapshots.save("lesson-1")
        change(lesson)
    with on_disk() as lesson:
        lesson.control.snapshots.load("lesson-1")
    del before["clock"], before["faults"], before["permissions"]
    with on_disk() as lesson:
        found = read(lesson)
        assert {name: found[name] for name in before} == before
        assert found["faults"] == found["permissions"] == ()


def test_a_snapshot_of_what_was_loaded_and_not_used_has_all_of_it(anywhere: Teach) -> None:
    with anywhere() as lesson:
        fill(lesson)
        before = read(lesson)
        lesson.control.snapshots.save("one")
        lesson.control.snapshots.load("one")
        lesson.control.snapshots.save("two")
        lesson.control.reset()
        lesson.control.snapshots.load("two")
        assert read(lesson) == before


def iterator(lesson: Lesson, kind: str = "LATEST", **more: str) -> str:
    given: Any = {"StreamName": STREAM, "ShardId": "shardId-000000000000", "ShardIteratorType": kind, **more}
    return str(lesson.client("kinesis").get_shard_iterator(**given)["ShardIterator"])


def single_shard(lesson: Lesson) -> None:
    lesson.client("kinesis").create_stream(StreamName=STREAM, ShardCount=1)


def test_a_reader_that_was_ahead_goes_on_with_the_next_record(anywhere: Teach) -> None:
    """By its iterator and by its checkpoint, after any number of loads: never an old record, never a gap."""
    with anywhere() as lesson:
        kinesis = lesson.client("kinesis")
        single_shard(lesson)
        lesson.put("saved")
        lesson.control.snapshots.save("s")
        reader = iterator(lesson, "TRIM_HORIZON")
        for turn in range(3):
            lesson.put(*(f"lost {turn} {number}" for number in range(5)))
            answer = kinesis.get_records(ShardIterator=reader)
            assert answer["Records"][-1]["Data"] == b"lost %d 4" % turn
            reader, checkpoint = answer["NextShardIterator"], answer["Records"][-1]["SequenceNumber"]
            lesson.control.snapshots.load("s")
            assert kinesis.get_records(ShardIterator=reader)["Records"] == []
            lesson.put(f"new {turn}")
            after = iterator(lesson, "AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=checkpoint)
            for each in (reader, after):
                found = kinesis.get_records(ShardIterator=each)
                assert [record["Data"] for record in found["Records"]] == [b"new %d" % turn]
            reader = found["NextShardIterator"]
        assert [data for _, data in records(lesson)] == [b"saved", b"new 2"]
        (shard,) = lesson.control.stream(STREAM).shards
        assert (shard.records, shard.put) == (2, 2)


def test_a_reader_that_was_behind_goes_on_where_it_was(anywhere: Teach) -> None:
    with anywhere() as lesson:
        kinesis = lesson.client("kinesis")
        single_shard(lesson)
        lesson.put("one", "two", "three")
        lesson.control.snapshots.save("s")
        answer = kinesis.get_records(ShardIterator=iterator(lesson, "TRIM_HORIZON"), Limit=1)
        lesson.put("lost")
        lesson.control.snapshots.load("s")
        found = kinesis.get_records(ShardIterator=answer["NextShardIterator"])["Records"]
        assert [record["Data"] for record in found] == [b"two", b"three"]


def test_an_iterator_of_a_stream_that_was_not_saved_is_refused(anywhere: Teach) -> None:
    with anywhere() as lesson:
        lesson.control.snapshots.save("empty")
        single_shard(lesson)
        reader = iterator(lesson)
        lesson.control.snapshots.load("empty")
        kinesis = lesson.client("kinesis")
        with pytest.raises(kinesis.exceptions.ResourceNotFoundException):
            kinesis.get_records(ShardIterator=reader)
        single_shard(lesson)
        with pytest.raises(kinesis.exceptions.ResourceNotFoundException):
            kinesis.get_records(ShardIterator=reader)


def test_numbers_go_on_rising_over_resets_and_restarts(on_disk: Teach) -> None:
    """Shards that are made after a load begin beyond what earlier ones of their name had."""
    numbers: list[str] = []
    for _ in range(3):
        with on_disk() as lesson:
            if not numbers:
                single_shard(lesson)
                lesson.control.snapshots.save("s")
            lesson.control.reset()
            lesson.control.snapshots.load("s")
            lesson.put("new")
            numbers.append(records(lesson)[0][0])
    assert numbers == sorted(set(numbers))


def test_a_subscription_ends_and_continues_with_the_next_record(anywhere: Teach) -> None:
    with anywhere() as lesson:
        engine = lesson.emulator.components.streams
        single_shard(lesson)
        home = lesson.emulator.components.home
        arn = home.stream_arn(STREAM)
        made = engine.call("RegisterStreamConsumer", {"StreamARN": arn, "ConsumerName": "c"}, home)
        consumer = made["Consumer"]["ConsumerARN"]
        lesson.control.snapshots.save("s")

        def subscribe(position: dict[str, Any]) -> Any:
            return engine.subscribe(consumer, "shardId-000000000000", position, home)  # type: ignore[attr-defined]

        running = subscribe({"Type": "LATEST"})
        lesson.put("lost")
        continuation = running.next_batch()["ContinuationSequenceNumber"]
        lesson.control.snapshots.load("s")
        assert running.next_batch(empty=True) is None
        assert running.ended == "expired"
        lesson.put("new")
        again = subscribe({"Type": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": continuation})
        assert [record["Data"] for record in again.next_batch()["Records"]] == [b"new"]


def test_the_audit_log_has_each_message_once_after_a_load(anywhere: Teach) -> None:
    with anywhere() as lesson:
        lesson.put("one", "two", stream="input")
        lesson.control.drain_audit()
        before = lesson.control.audit_status()
        lesson.control.snapshots.save("s")
        lesson.put("three", stream="input")
        lesson.control.drain_audit()
        lesson.control.snapshots.load("s")
        lesson.control.drain_audit()
        assert lesson.control.audit_status().delivered == before.delivered


def test_writers_during_loads_lose_nothing_that_is_there_afterwards(on_disk: Teach) -> None:
    """What clients see before the process ends is what the next one has: in memory and on disk it is one."""
    with on_disk() as lesson:
        fill(lesson)
        lesson.control.snapshots.save("s")
        queue = lesson.client("sqs").get_queue_url(QueueName="q")["QueueUrl"]
        writes = {
            "dynamodb": lambda n: lesson.client("dynamodb").put_item(
                TableName="t", Item={"key": {"S": str(n)}}
            ),
            "sqs": lambda n: lesson.client("sqs").send_message(QueueUrl=queue, MessageBody=str(n)),
            "s3": lambda n: lesson.client("s3").put_object(Bucket="mine", Key=str(n), Body=b"%d" % n),
            "kinesis": lambda n: lesson.put(str(n)),
        }
        over = threading.Event()

        def write(service: str) -> None:
            number = 0
            while not over.is_set():
                number += 1
                writes[service](number)

        threads = [threading.Thread(target=write, args=(service,)) for service in writes]
        for thread in threads:
            thread.start()
        for _ in range(8):
            lesson.control.snapshots.load("s")
        over.set()
        for thread in threads:
            thread.join()
        lesson.control.change_clock(ClockChange("freeze"))
        before = read(lesson)
    with on_disk() as lesson:
        found = read(lesson)
        for name in ("records", "versions", "bodies", "items", "messages"):
            assert found[name] == before[name], name


def test_a_load_waits_for_who_reads_the_streams_and_they_for_it(anywhere: Teach) -> None:
    """Whatever a client asks meanwhile, both end: the index, the diagnosis and the audit log read streams."""
    with anywhere() as lesson:
        lesson.put(*map(str, range(100)), stream="input")
        lesson.control.snapshots.save("s")
        asks: list[Callable[[], object]] = [
            lesson.control.messages,
            lesson.control.diagnosis,
            lesson.control.audit("stream").messages,
        ]
        over = threading.Event()

        def ask(question: Callable[[], object]) -> None:
            while not over.is_set():
                question()

        threads = [threading.Thread(target=ask, args=(question,), daemon=True) for question in asks]
        for thread in threads:
            thread.start()
        for _ in range(20):
            lesson.put("another", stream="input")
            lesson.control.snapshots.load("s")
        over.set()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()


def test_a_name_is_checked_before_anything_is_done(anywhere: Teach) -> None:
    with anywhere() as lesson:
        for act in (
            lesson.control.snapshots.save,
            lesson.control.snapshots.load,
            lesson.control.snapshots.remove,
        ):
            for name in ("../up", ".hidden", "with space", "a" * 101, "a%2Fb"):
                with pytest.raises(RefusedError, match="is no name for a snapshot"):
                    act(name)
        assert lesson.control.snapshots.list().snapshots == ()


def test_one_that_is_not_there_says_which_are(anywhere: Teach) -> None:
    with anywhere() as lesson:
        lesson.control.snapshots.save("one")
        with pytest.raises(RefusedError, match="no snapshot is named 'two'; there are: one"):
            lesson.control.snapshots.load("two")
        assert lesson.control.snapshots.remove("one").snapshots == ()
        with pytest.raises(RefusedError, match="there are: none"):
            lesson.control.snapshots.remove("one")
