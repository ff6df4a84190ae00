"""What a test writes to its sandbox and reads of it, against a real one."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pytest

from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.questions.conditions import ConditionNotMetError, UnknownConditionError
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.testing import ConfigurationError, Sandbox
from rdss_sandbox.text.timestamps import timestamp

Begin = Callable[..., Sandbox]


def message(message_id: str, **header: Any) -> dict[str, Any]:
    return {"messageHeader": {"messageId": message_id, **header}}


def read_shard(stream: str, shard_id: str) -> list[bytes]:
    """Read a shard from its beginning, as a consumer does that the environment alone points here."""
    with closing(boto3.client("kinesis")) as kinesis:
        iterator = kinesis.get_shard_iterator(
            StreamName=stream, ShardId=shard_id, ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        return [record["Data"] for record in kinesis.get_records(ShardIterator=iterator)["Records"]]


def test_it_begins_as_a_snapshot_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a sandbox of the project saved; the seed and the clock are the test's own all the same."""
    settings = Settings(data_dir=tmp_path / ".sandbox" / "data", aws_port=0, control_port=0, seed=1)
    with embedded(settings) as emulator, Client(emulator.control) as client:
        client.send(NewMessage("input", b"saved"))
        client.snapshots.save("lesson-3")
    monkeypatch.chdir(tmp_path)
    later = Clock().time() + 3600
    sandbox = Sandbox(snapshot="lesson-3", seed=7, clock=timestamp(later))
    for _ in range(2):
        with sandbox:
            assert [record.data for record in sandbox.stream("input").records()] == [b"saved"]
            assert sandbox.client.status().seed == 7
            assert sandbox.clock.read().time == pytest.approx(later, abs=300)
            sandbox.send("more")
    with pytest.raises(RefusedError, match="lesson-3"), Sandbox(snapshot="lesson-4"):
        pass


def test_what_is_sent_is_in_the_stream_as_it_was_sent(seeded: Sandbox) -> None:
    """Objects, texts and bytes, one or several; to look at them makes no reader of the stream."""
    seeded.send(message("m-1"))
    seeded.send(["text", b"\xff\x00"], "output")
    assert [record.json() for record in seeded.stream("input").records()] == [message("m-1")]
    assert {record.data for record in seeded.stream("output").records()} == {b"text", b"\xff\x00"}
    assert seeded.stream("input").records("id:m-2") == []
    assert seeded.client.readers("input").readers == ()
    with pytest.raises(RefusedError, match="no stream is named 'imput'"):
        seeded.stream("imput").records()


def test_faults_strike_by_their_type_and_attributes(seeded: Sandbox) -> None:
    """A fault is one line of a test, counts its strikes, and can be removed."""
    seeded.faults.add("duplicate", copies=2)
    seeded.faults.add(NewFault("latency", name="slow", channel="output"))
    seeded.send(message("m-1"))
    assert [fault.name for fault in seeded.faults] == ["duplicate", "slow"]
    assert seeded.faults.get("duplicate").injected == 1
    assert len(seeded.stream("input").records()) == 3
    seeded.faults.clear()
    assert list(seeded.faults) == []
    with pytest.raises(RefusedError, match="colour"):
        seeded.faults.add("duplicate", colour="blue")


def test_the_clock_and_the_shards_are_the_tests_own(seeded: Sandbox) -> None:
    """Time passes by the words that people write; a split makes two shards of one."""
    seeded.clock.freeze()
    at = seeded.clock.set("2026-01-01T00:00:00Z").time
    assert seeded.clock.advance("6m").time == at + 360
    assert seeded.clock.run_at(2).speed == 2
    assert seeded.clock.resume_real_time().real
    assert seeded.reshard.split("input").open_shards == 3
    assert seeded.reshard.merge("input").open_shards == 2
    assert seeded.reshard.scale("input", 4).open_shards == 4
    assert len(seeded.stream("input").shards()) > 4


def test_a_condition_is_a_sentence_or_a_function(seeded: Sandbox) -> None:
    """It is true in time, or the error says what was there instead."""
    seeded.send([message("m-1"), message("m-2")])
    seeded.wait_until("stream input has 2 messages")
    seeded.wait_until(lambda: len(seeded.stream("input").records()) == 2)
    with pytest.raises(ConditionNotMetError, match="stream input has 2 messages; waited for"):
        seeded.wait_until("stream input has exactly 3 messages", "10ms")
    with pytest.raises(TimeoutError, match="still 0"):
        seeded.wait_until(lambda: 0, timeout=0)
    with pytest.raises(UnknownConditionError, match="error queue has 1 message"):
        seeded.wait_until("all is well")


def test_shards_that_nobody_read_are_named(seeded: Sandbox) -> None:
    """A consumer that lists the shards once misses what a split made."""
    seeded.send([str(number) for number in range(10)])
    parents = [shard.id for shard in seeded.stream("input").shards()]
    for shard in parents:
        read_shard("input", shard)
    seeded.assert_all_shards_read("input")

    seeded.reshard.split("input", parents[0])
    for number in range(20):
        seeded.send(str(number), key=str(number))  # by chance, one of the two that were made may get none
    for shard in parents:
        read_shard("input", shard)
    with pytest.raises(
        AssertionError, match=f"made by a split of {parents[0]}, was not read: it holds"
    ) as failed:
        seeded.assert_all_shards_read("input")
    assert "2 of the 4 shards of input were read to the end" in str(failed.value)


def test_a_stream_without_a_reader_is_not_read(seeded: Sandbox) -> None:
    """That nobody ever read is no pass."""
    seeded.assert_all_shards_read("input")
    seeded.send("one")
    with pytest.raises(AssertionError, match="was not read: it holds 1 record"):
        seeded.assert_all_shards_read("input")


def test_messages_are_processed_once_or_it_is_said_why_not(seeded: Sandbox) -> None:
    """Which were not, which were twice, and where they are."""
    seeded.send([message("m-1"), message("m-2"), message("m-3")])
    seeded.faults.add("duplicate")
    seeded.send(message("m-4"))
    with pytest.raises(AssertionError, match=r"call sandbox.processed\(message_id\)"):
        seeded.assert_processed_once(["m-1"])
    for each in ("m-1", "m-4", "m-4"):
        seeded.processed(each)
    seeded.assert_processed_once(["m-1"])
    with pytest.raises(AssertionError) as failed:
        seeded.assert_processed_once(["m-1", "m-2", "m-4", "gone"])
    text = str(failed.value)
    assert text.startswith("1 of 4 messages were processed once:")
    assert "m-2 was not processed: it is in input; shardId-" in text
    assert "m-4 was processed 2 times; it is 2 times in input" in text
    assert "gone was not processed: it is in no stream" in text


def test_a_rejected_message_has_the_code_that_was_expected(seeded: Sandbox) -> None:
    """In the error or the invalid queue; otherwise what is there is said."""
    seeded.send(message("m-1", errorCode="GENERR004"), "error")
    seeded.send(message("m-2", errorCode="GENERR001"), "invalid")
    seeded.assert_rejected("m-1", "GENERR004")
    seeded.assert_rejected("m-2")
    assert [(each.message_id, each.code) for each in seeded.error_queue.messages()] == [("m-1", "GENERR004")]
    assert [each.code for each in seeded.invalid_queue.messages()] == ["GENERR001"]
    with pytest.raises(AssertionError, match=r"GENERR004 \(in the error queue\), and not with GENERR006"):
        seeded.assert_rejected("m-1", "GENERR006")
    with pytest.raises(AssertionError, match=r"it is in no stream\n  the error queue holds m-1"):
        seeded.assert_rejected("m-3", "GENERR004")


def test_the_next_sandbox_is_empty_and_begins_as_the_first(make: Begin) -> None:
    """One process serves both; faults, messages and the clock's time are gone, and the seed begins again."""
    struck = []
    pids = set()
    for _ in range(2):
        with make() as seeded:
            pids.add(seeded.pid)
            assert (seeded.client.messages().total, seeded.clock.read().real, [*seeded.faults]) == (
                0,
                True,
                [],
            )
            seeded.faults.add("duplicate", toxicity=0.5)
            seeded.send([message(str(number)) for number in range(20)])
            struck.append([record.message_id for record in seeded.stream("input").records("mark:duplicate")])
            seeded.processed("0")
            seeded.clock.advance("24h")
            with pytest.raises(AssertionError):
                seeded.assert_processed_once(["1"])
    assert len(pids) == 1
    assert struck[0] == struck[1]
    assert 0 < len(struck[0]) < 20


def test_it_is_as_configured(begin: Begin, tmp_path: Path) -> None:
    """Topology, limits, services, faults and the clock, each from the start."""
    (tmp_path / "mine.yaml").write_text("streams: {mine: 3}\n")
    seeded = begin(
        topology="mine.yaml",
        limits="strict",
        services=["s3", "sqs"],
        faults=["duplicate", {"type": "latency", "channel": "mine", "attributes": {"delay": "1ms"}}],
        clock="2026-01-01T00:00:00Z",
        seed=11,
    )
    assert [stream.name for stream in seeded.client.streams()] == ["mine"]
    assert [fault.type for fault in seeded.faults] == ["duplicate", "latency"]
    assert seeded.client.status().seed == 11
    assert 1_767_225_600 <= seeded.clock.read().time < 1_767_225_700
    assert "aws.moto.started" in [event.kind for event in seeded.client.events()]
    with pytest.raises(LookupError, match="no error queue"):
        _ = seeded.error_queue


def test_the_deployed_topology_has_its_queues(begin: Begin) -> None:
    """The error and the invalid queue are found whatever they are called."""
    seeded = begin(topology="rdss")
    assert seeded.error_queue.name == "message_error_dev"
    assert seeded.invalid_queue.name == "message_invalid_dev"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"colour": "blue"}, "colour"),
        ({"limits": "lax"}, "limits"),
        ({"clock": "soon"}, "'soon' is not a time"),
        ({"services": ["s4"]}, "no service s4; there are s3"),
        ({"faults": [{"colour": "blue"}]}, "faults"),
        ({"faults": "duplicate"}, "faults"),
        ({"seed": "seven"}, "seed"),
    ],
)
def test_what_no_sandbox_can_be_is_refused_before_one_starts(
    begin: Begin, given: dict[str, Any], said: str
) -> None:
    """The name of what is wrong, and the names that there are."""
    with pytest.raises(ConfigurationError, match=said):
        begin(**given)


def test_the_environment_points_at_it_and_is_restored(monkeypatch: pytest.MonkeyPatch, make: Begin) -> None:
    """A profile, or the endpoint of one service, would lead a client elsewhere."""
    monkeypatch.setenv("AWS_PROFILE", "mine")
    monkeypatch.setenv("AWS_ENDPOINT_URL_KINESIS", "http://elsewhere.test")
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    before = dict(os.environ)
    with make() as seeded, closing(boto3.client("kinesis")) as kinesis:
        assert kinesis.describe_stream_summary(StreamName="input")
        assert seeded.environment["AWS_ENDPOINT_URL"] == seeded.aws
    assert dict(os.environ) == before


def test_an_exception_that_leaves_the_block_says_what_the_sandbox_saw(make: Begin) -> None:
    """Without pytest's report: as a note of the exception."""

    def fail() -> None:
        with make() as seeded:
            seeded.send(message("m-1"))
            seeded.assert_rejected("m-1")

    with pytest.raises(AssertionError) as failed:
        fail()
    assert "the sandbox (seed 7):" in failed.value.__notes__[0]
    assert "input 1" in failed.value.__notes__[0]


async def test_the_same_in_a_coroutine() -> None:
    """``async with`` gives methods that are awaited; the sandbox ends with the block."""
    async with Sandbox(seed=7) as seeded:
        pid = seeded.sandbox.pid
        await seeded.add_fault("duplicate")
        await seeded.send(message("m-1"))
        assert [record.message_id for record in await seeded.records("input")] == ["m-1", "m-1"]
        await seeded.remove_fault("duplicate")
        await seeded.advance("1m")
        assert (await seeded.split("input")).open_shards == 3
        assert (await seeded.merge("input")).open_shards == 2
        await seeded.wait_until("stream input has 2 messages")
        await seeded.send(message("m-1", errorCode="GENERR004"), "error")
        await seeded.assert_rejected("m-1", "GENERR004")
        assert len(await seeded.error_messages()) == 1
        assert await seeded.invalid_messages() == []
        seeded.processed("m-1")
        await seeded.assert_processed_once(["m-1"])
        with pytest.raises(AssertionError):
            await seeded.assert_all_shards_read("input")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_outside_of_its_block_there_is_none() -> None:
    """The error says what to do."""
    with pytest.raises(RuntimeError, match="use it in a with block"):
        Sandbox().send("x")


def test_one_is_not_entered_twice(seeded: Sandbox) -> None:
    """The inner block would end the sandbox of the outer one."""
    with pytest.raises(RuntimeError, match="started already"):
        seeded.__enter__()
