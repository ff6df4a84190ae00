"""How long streams take to be made, changed and deleted is a setting, and clients' waiting is exercised."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.settings.setting_errors import SettingsError
from emulator.settings.settings import Settings, read_settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.topology import Topology

NOON = 1_790_000_000.0
AT_ONCE = {"Delay": 0, "MaxAttempts": 100_000}


@contextmanager
def waited_for(emulator: Embedded, kinesis: Any, status: str) -> Iterator[None]:
    """While the context lasts: the clock goes on, from a thread of its own, once the status was seen."""
    seen = threading.Event()

    def look(parsed: dict[str, Any], **_: Any) -> None:
        if parsed.get("StreamDescription", {}).get("StreamStatus") == status:
            seen.set()

    def go_on() -> None:
        assert seen.wait(30)
        with Client(emulator.control) as control:
            control.change_clock(ClockChange("advance", seconds=30))

    kinesis.meta.events.register("after-call.kinesis.DescribeStream", look)
    advancing = threading.Thread(target=go_on)
    advancing.start()
    try:
        yield
    finally:
        kinesis.meta.events.unregister("after-call.kinesis.DescribeStream", look)
        advancing.join()
    assert seen.is_set()


def connect(emulator: Embedded) -> Any:
    return boto3.client(
        "kinesis",
        endpoint_url=emulator.aws,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )


def settings(**more: Any) -> Settings:
    return Settings(aws_port=0, control_port=0, data_dir=None, transition_seconds=30, **more)


def test_the_waiters_of_boto3_wait() -> None:
    """stream_exists and stream_not_exists come back when the clock has gone on, and not before."""
    with embedded(settings(), Clock(frozen_at=NOON)) as emulator:
        kinesis = connect(emulator)
        kinesis.create_stream(StreamName="mine", ShardCount=2)
        with waited_for(emulator, kinesis, "CREATING"):
            kinesis.get_waiter("stream_exists").wait(StreamName="mine", WaiterConfig=AT_ONCE)
        assert len(kinesis.describe_stream(StreamName="mine")["StreamDescription"]["Shards"]) == 2
        kinesis.put_record(StreamName="mine", Data=b"1", PartitionKey="k")
        kinesis.delete_stream(StreamName="mine")
        with waited_for(emulator, kinesis, "DELETING"):
            kinesis.get_waiter("stream_not_exists").wait(StreamName="mine", WaiterConfig=AT_ONCE)
        assert "mine" not in kinesis.list_streams()["StreamNames"]


def test_a_subscription_ends_when_the_split_is_done() -> None:
    """It runs on while the stream is UPDATING, and is told of the children by the clock alone."""
    with embedded(settings(), Clock(frozen_at=NOON)) as emulator:
        kinesis = connect(emulator)
        arn = kinesis.describe_stream_summary(StreamName="error")["StreamDescriptionSummary"]["StreamARN"]
        consumer = kinesis.register_stream_consumer(StreamARN=arn, ConsumerName="c")["Consumer"]
        zero = "shardId-000000000000"
        with Client(emulator.control) as control:
            control.change_clock(ClockChange("advance", seconds=30))
            started = {"ConsumerARN": consumer["ConsumerARN"], "ShardId": zero}
            events = kinesis.subscribe_to_shard(**started, StartingPosition={"Type": "LATEST"})["EventStream"]
            kinesis.split_shard(StreamName="error", ShardToSplit=zero, NewStartingHashKey="1000")
            kinesis.put_record(StreamName="error", Data=b"meanwhile", PartitionKey="k")
            coming = (event["SubscribeToShardEvent"] for event in events)
            told = next(event for event in coming if event["Records"])
            assert [record["Data"] for record in told["Records"]] == [b"meanwhile"]
            control.change_clock(ClockChange("advance", seconds=30))
            last = next(event for event in coming if "ChildShards" in event)
            assert len(last["ChildShards"]) == 2
        events.close()


def test_the_sandboxs_own_streams_are_there_at_once() -> None:
    """At the start, when it is populated, and after a reset, whatever others were doing."""
    with embedded(settings(), Clock(frozen_at=NOON)) as emulator, Client(emulator.control) as control:
        kinesis = connect(emulator)
        kinesis.put_record(StreamName="input", Data=b"1", PartitionKey="k")
        control.populate(Topology(streams={"more": 2}))
        kinesis.put_record(StreamName="more", Data=b"1", PartitionKey="k")
        kinesis.create_stream(StreamName="creating", ShardCount=1)
        kinesis.delete_stream(StreamName="output")
        control.reset()
        assert control.clock().real
        assert {stream.name for stream in control.streams()} == set(emulator.settings.topology.streams)
        for name in emulator.settings.topology.streams:
            kinesis.put_record(StreamName=name, Data=b"1", PartitionKey="k")


def test_a_fault_that_reshards_is_as_slow() -> None:
    """Its split is written down and made in time, like anybody's."""
    with embedded(settings(), Clock(frozen_at=NOON)) as emulator, Client(emulator.control) as control:
        kinesis = connect(emulator)
        control.add_fault(NewFault(type="reshard", channel="error", when={"every": 1}, limit=1))
        kinesis.put_record(StreamName="error", Data=b"1", PartitionKey="k")
        described = kinesis.describe_stream(StreamName="error")["StreamDescription"]
        assert (described["StreamStatus"], len(described["Shards"])) == ("UPDATING", 1)
        kinesis.put_record(StreamName="error", Data=b"2", PartitionKey="k")
        control.change_clock(ClockChange("advance", seconds=30))
        assert kinesis.describe_stream(StreamName="error")["StreamDescription"]["StreamStatus"] == "ACTIVE"


def test_the_seconds_come_from_option_environment_file_and_topology(tmp_path: Path) -> None:
    """The nearer to the command, the stronger; a topology's are taken where nobody says otherwise."""
    (tmp_path / "slow.toml").write_text("transition_seconds = 5\n[streams]\ninput = 1\n")
    chosen = {"topology": "slow.toml"}
    assert read_settings({}, {}, tmp_path).transition_seconds == 0
    assert read_settings(chosen, {}, tmp_path).transition_seconds == 5
    (tmp_path / "sandbox.toml").write_text("[sandbox]\ntransition_seconds = 4\n")
    assert read_settings(chosen, {}, tmp_path).transition_seconds == 4
    environment = {"SANDBOX_TRANSITION_SECONDS": "1.5"}
    assert read_settings(chosen, environment, tmp_path).transition_seconds == 1.5
    assert read_settings({"transition_seconds": 0.0} | chosen, environment, tmp_path).transition_seconds == 0


@pytest.mark.parametrize("given", ["-1", "nan", "inf", "86401", "soon"])
def test_seconds_that_cannot_be(tmp_path: Path, given: str) -> None:
    """They are refused by the name of the setting."""
    with pytest.raises(SettingsError, match="transition_seconds"):
        read_settings({}, {"SANDBOX_TRANSITION_SECONDS": given}, tmp_path)
