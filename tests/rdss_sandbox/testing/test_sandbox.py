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


def test_what_is_sent_is_in_the_stream_as_it_was_sent(kit: Sandbox) -> None:
    """Objects, texts and bytes, one or several; to look at them makes no reader of the stream."""
    kit.send(message("m-1"))
    kit.send(["text", b"\xff\x00"], "output")
    assert [record.json() for record in kit.stream("input").records()] == [message("m-1")]
    assert {record.data for record in kit.stream("output").records()} == {b"text", b"\xff\x00"}
    assert kit.stream("input").records("id:m-2") == []
    assert kit.client.readers("input").readers == ()
    with pytest.raises(RefusedError, match="no stream is named 'imput'"):
        kit.stream("imput").records()


def test_faults_strike_by_their_type_and_attributes(kit: Sandbox) -> None:
    """A fault is one line of a test, counts its strikes, and can be removed."""
    kit.faults.add("duplicate", copies=2)
    kit.faults.add(NewFault("latency", name="slow", channel="output"))
    kit.send(message("m-1"))
    assert [fault.name for fault in kit.faults] == ["duplicate", "slow"]
    assert kit.faults.get("duplicate").injected == 1
    assert len(kit.stream("input").records()) == 3
    kit.faults.clear()
    assert list(kit.faults) == []
    with pytest.raises(RefusedError, match="colour"):
        kit.faults.add("duplicate", colour="blue")


def test_the_clock_and_the_shards_are_the_tests_own(kit: Sandbox) -> None:
    """Time passes by the words that people write; a split makes two shards of one."""
    kit.clock.freeze()
    at = kit.clock.set("2026-01-01T00:00:00Z").time
    assert kit.clock.advance("6m").time == at + 360
    assert kit.clock.run_at(2).speed == 2
    assert kit.clock.resume_real_time().real
    assert kit.reshard.split("input").open_shards == 3
    assert kit.reshard.merge("input").open_shards == 2
    assert kit.reshard.scale("input", 4).open_shards == 4
    assert len(kit.stream("input").shards()) > 4


def test_a_condition_is_a_sentence_or_a_function(kit: Sandbox) -> None:
    """It is true in time, or the error says what was there instead."""
    kit.send([message("m-1"), message("m-2")])
    kit.wait_until("stream input has 2 messages")
    kit.wait_until(lambda: len(kit.stream("input").records()) == 2)
    with pytest.raises(ConditionNotMetError, match="stream input has 2 messages; waited for"):
        kit.wait_until("stream input has exactly 3 messages", "10ms")
    with pytest.raises(TimeoutError, match="still 0"):
        kit.wait_until(lambda: 0, timeout=0)
    with pytest.raises(UnknownConditionError, match="error queue has 1 message"):
        kit.wait_until("all is well")


def test_shards_that_nobody_read_are_named(kit: Sandbox) -> None:
    """A consumer that lists the shards once misses what a split made."""
    kit.send([str(number) for number in range(10)])
    parents = [shard.id for shard in kit.stream("input").shards()]
    for shard in parents:
        read_shard("input", shard)
    kit.assert_all_shards_read("input")

    kit.reshard.split("input", parents[0])
    kit.send([str(number) for number in range(20)])
    for shard in parents:
        read_shard("input", shard)
    with pytest.raises(
        AssertionError, match=f"made by a split of {parents[0]}, was not read: it holds"
    ) as failed:
        kit.assert_all_shards_read("input")
    assert "2 of the 4 shards of input were read to the end" in str(failed.value)


def test_a_stream_without_a_reader_is_not_read(kit: Sandbox) -> None:
    """That nobody ever read is no pass."""
    kit.assert_all_shards_read("input")
    kit.send("one")
    with pytest.raises(AssertionError, match="was not read: it holds 1 record"):
        kit.assert_all_shards_read("input")


def test_messages_are_processed_once_or_it_is_said_why_not(kit: Sandbox) -> None:
    """Which were not, which were twice, and where they are."""
    kit.send([message("m-1"), message("m-2"), message("m-3")])
    kit.faults.add("duplicate")
    kit.send(message("m-4"))
    with pytest.raises(AssertionError, match=r"call sandbox.processed\(message_id\)"):
        kit.assert_processed_once(["m-1"])
    for each in ("m-1", "m-4", "m-4"):
        kit.processed(each)
    kit.assert_processed_once(["m-1"])
    with pytest.raises(AssertionError) as failed:
        kit.assert_processed_once(["m-1", "m-2", "m-4", "gone"])
    text = str(failed.value)
    assert text.startswith("1 of 4 messages were processed once:")
    assert "m-2 was not processed: it is in input; shardId-" in text
    assert "m-4 was processed 2 times; it is 2 times in input" in text
    assert "gone was not processed: it is in no stream" in text


def test_a_rejected_message_has_the_code_that_was_expected(kit: Sandbox) -> None:
    """In the error or the invalid queue; otherwise what is there is said."""
    kit.send(message("m-1", errorCode="GENERR004"), "error")
    kit.send(message("m-2", errorCode="GENERR001"), "invalid")
    kit.assert_rejected("m-1", "GENERR004")
    kit.assert_rejected("m-2")
    assert [(each.message_id, each.code) for each in kit.error_queue.messages()] == [("m-1", "GENERR004")]
    assert [each.code for each in kit.invalid_queue.messages()] == ["GENERR001"]
    with pytest.raises(AssertionError, match=r"GENERR004 \(in the error queue\), and not with GENERR006"):
        kit.assert_rejected("m-1", "GENERR006")
    with pytest.raises(AssertionError, match=r"it is in no stream\n  the error queue holds m-1"):
        kit.assert_rejected("m-3", "GENERR004")


def test_the_next_sandbox_is_empty_and_begins_as_the_first(make: Begin) -> None:
    """One process serves both; faults, messages and the clock's time are gone, and the seed begins again."""
    struck = []
    pids = set()
    for _ in range(2):
        with make() as kit:
            pids.add(kit.pid)
            assert (kit.client.messages().total, kit.clock.read().real, [*kit.faults]) == (0, True, [])
            kit.faults.add("duplicate", toxicity=0.5)
            kit.send([message(str(number)) for number in range(20)])
            struck.append([record.message_id for record in kit.stream("input").records("mark:duplicate")])
            kit.processed("0")
            kit.clock.advance("24h")
            with pytest.raises(AssertionError):
                kit.assert_processed_once(["1"])
    assert len(pids) == 1
    assert struck[0] == struck[1]
    assert 0 < len(struck[0]) < 20


def test_it_is_as_configured(begin: Begin, tmp_path: Path) -> None:
    """Topology, limits, services, faults and the clock, each from the start."""
    (tmp_path / "mine.yaml").write_text("streams: {mine: 3}\n")
    kit = begin(
        topology="mine.yaml",
        limits="strict",
        services=["s3", "sqs"],
        faults=["duplicate", {"type": "latency", "channel": "mine", "attributes": {"delay": "1ms"}}],
        clock="2026-01-01T00:00:00Z",
        seed=11,
    )
    assert [stream.name for stream in kit.client.streams()] == ["mine"]
    assert [fault.type for fault in kit.faults] == ["duplicate", "latency"]
    assert kit.client.status().seed == 11
    assert 1_767_225_600 <= kit.clock.read().time < 1_767_225_700
    assert "aws.moto.started" in [event.kind for event in kit.client.events()]
    with pytest.raises(LookupError, match="no error queue"):
        _ = kit.error_queue


def test_the_deployed_topology_has_its_queues(begin: Begin) -> None:
    """The error and the invalid queue are found whatever they are called."""
    kit = begin(topology="rdss")
    assert kit.error_queue.name == "message_error_dev"
    assert kit.invalid_queue.name == "message_invalid_dev"


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
    with make() as kit, closing(boto3.client("kinesis")) as kinesis:
        assert kinesis.describe_stream_summary(StreamName="input")
        assert kit.environment["AWS_ENDPOINT_URL"] == kit.aws
    assert dict(os.environ) == before


def test_an_exception_that_leaves_the_block_says_what_the_sandbox_saw(make: Begin) -> None:
    """Without pytest's report: as a note of the exception."""

    def fail() -> None:
        with make() as kit:
            kit.send(message("m-1"))
            kit.assert_rejected("m-1")

    with pytest.raises(AssertionError) as failed:
        fail()
    assert "the sandbox (seed 7):" in failed.value.__notes__[0]
    assert "input 1" in failed.value.__notes__[0]


async def test_the_same_in_a_coroutine() -> None:
    """``async with`` gives methods that are awaited; the sandbox ends with the block."""
    async with Sandbox(seed=7) as kit:
        pid = kit.sandbox.pid
        await kit.add_fault("duplicate")
        await kit.send(message("m-1"))
        assert [record.message_id for record in await kit.records("input")] == ["m-1", "m-1"]
        await kit.remove_fault("duplicate")
        await kit.advance("1m")
        assert (await kit.split("input")).open_shards == 3
        assert (await kit.merge("input")).open_shards == 2
        await kit.wait_until("stream input has 2 messages")
        await kit.send(message("m-1", errorCode="GENERR004"), "error")
        await kit.assert_rejected("m-1", "GENERR004")
        assert len(await kit.error_messages()) == 1
        assert await kit.invalid_messages() == []
        kit.processed("m-1")
        await kit.assert_processed_once(["m-1"])
        with pytest.raises(AssertionError):
            await kit.assert_all_shards_read("input")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_outside_of_its_block_there_is_none() -> None:
    """The error says what to do."""
    with pytest.raises(RuntimeError, match="use it in a with block"):
        Sandbox().send("x")


def test_one_is_not_entered_twice(kit: Sandbox) -> None:
    """The inner block would end the sandbox of the outer one."""
    with pytest.raises(RuntimeError, match="started already"):
        kit.__enter__()
