"""The emulator as a whole: any AWS client, one process, nothing lost when it stops."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest

from emulator.assembly.data_directory import DataDirectory, DirectoryInUseError
from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.kinesis import KinesisError
from emulator.settings.settings import RDSS_TOPOLOGY, Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.status import Reset, Status
from rdss_sandbox.shapes.topology import Topology


def client(emulator: Embedded, service: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=emulator.aws,
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )


def drained(kinesis: Any, stream: str, shard: str) -> tuple[list[bytes], list[str]]:
    """What a closed shard holds, and the children it names at its end."""
    request = {"StreamName": stream, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = kinesis.get_shard_iterator(**request)["ShardIterator"]
    data: list[bytes] = []
    while True:
        answer = kinesis.get_records(ShardIterator=iterator)
        data += [record["Data"] for record in answer["Records"]]
        if "NextShardIterator" not in answer:
            return data, [child["ShardId"] for child in answer["ChildShards"]]
        iterator = answer["NextShardIterator"]


def test_a_boto3_program_runs_unchanged() -> None:
    """Create a stream, put, split, read parent then children; put, list and get in S3: on one endpoint."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        kinesis, s3 = client(emulator, "kinesis"), client(emulator, "s3")
        kinesis.create_stream(StreamName="mine", ShardCount=1)
        kinesis.put_record(StreamName="mine", Data=b"before", PartitionKey="k")
        shard = kinesis.list_shards(StreamName="mine")["Shards"][0]
        middle = str(int(shard["HashKeyRange"]["EndingHashKey"]) // 2)
        kinesis.split_shard(StreamName="mine", ShardToSplit=shard["ShardId"], NewStartingHashKey=middle)
        kinesis.put_record(StreamName="mine", Data=b"after", PartitionKey="k")

        data, children = drained(kinesis, "mine", shard["ShardId"])
        assert (data, len(children)) == ([b"before"], 2)

        s3.put_object(Bucket="rdss-audit", Key="a/b.json", Body=b"{}")
        assert [found["Key"] for found in s3.list_objects_v2(Bucket="rdss-audit")["Contents"]] == ["a/b.json"]
        assert s3.get_object(Bucket="rdss-audit", Key="a/b.json")["Body"].read() == b"{}"
        with Client(emulator.control) as control:
            assert control.object("rdss-audit", "a/b.json") == b"{}"
            assert [row.key for row in control.objects("rdss-audit", prefix="a/").objects] == ["a/b.json"]
            assert {"rdss-audit", "rdss-error", "rdss-invalid"} <= {b.name for b in control.buckets()}


def test_reset_empties_the_buckets() -> None:
    """Objects and further buckets are gone, the sandbox's own buckets are there, and auditing goes on."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        s3 = client(emulator, "s3")
        s3.create_bucket(Bucket="further")
        s3.put_object(Bucket="rdss-error", Key="a", Body=b"a")
        with Client(emulator.control) as control:
            control.reset()
            assert [bucket.name for bucket in control.buckets()] == [
                "rdss-audit",
                "rdss-error",
                "rdss-invalid",
            ]
            assert control.objects("rdss-error").objects == ()
            client(emulator, "kinesis").put_record(StreamName="output", Data=b"x", PartitionKey="k")
            assert control.drain_audit().delivered == 1


def test_what_is_dispatched_is_audited() -> None:
    """A message put by any client is in the audit bucket, and only once in the message list."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        client(emulator, "kinesis").put_record(
            StreamName="input", Data=b'{"some":"message"}', PartitionKey="k"
        )
        with Client(emulator.control) as control:
            status = control.drain_audit()
            found = control.objects(status.bucket).objects
            assert (status.copied, status.delivered, status.pending, len(found)) == (1, 1, 0, 1)
            assert control.messages().total == 1
            assert control.stream("audit").records == 1


def test_a_fault_strikes_what_passes_the_port() -> None:
    """A duplicate added through the control API doubles what boto3 puts; removed, it does no more."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, seed=7)) as emulator:
        kinesis = client(emulator, "kinesis")
        with Client(emulator.control) as control:
            control.add_fault(NewFault("duplicate", name="twice", direction="publish"))
            kinesis.put_record(StreamName="input", Data=b"x", PartitionKey="k")
            assert control.remove_fault("twice").injected == 1
            kinesis.put_record(StreamName="input", Data=b"y", PartitionKey="k")
            rows = control.messages().messages
            assert [row.marks for row in rows] == [(), ("duplicate",), ()]
            assert "fault.injected" in [event.kind for event in control.events()]


def test_streams_records_and_ids_outlive_the_process(tmp_path: Path) -> None:
    """Stopped and started on the same directory: the same streams, records and message ids, more events."""
    settings = Settings(aws_port=0, control_port=0, data_dir=tmp_path, topology=Topology(streams={"kept": 2}))
    with embedded(settings) as emulator:
        client(emulator, "kinesis").put_record(StreamName="kept", Data=b"x", PartitionKey="k")
        before = emulator.status()
    with embedded(settings) as emulator:
        after = emulator.status()
        with Client(emulator.control) as control:
            assert [row.id for row in control.messages().messages] == [1]
            assert control.message(1).raw == "x"
            starts = [event for event in control.events() if event.kind == "sandbox.started"]
    assert (after.streams, after.messages) == (before.streams, before.messages)
    assert len(starts) == 2


def test_a_data_directory_serves_one_sandbox_at_a_time(tmp_path: Path) -> None:
    """A second one is told which process has it; once that is gone, it is free."""
    directory = DataDirectory(tmp_path)
    with pytest.raises(DirectoryInUseError, match=r"in use by process \d+"):
        DataDirectory(tmp_path)
    directory.close()
    DataDirectory(tmp_path).close()


def test_a_port_in_use_is_named_and_leaves_nothing_open(tmp_path: Path) -> None:
    """The port, what to do, and the data directory free for the next try."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        port = int(emulator.aws.rpartition(":")[2])
        settings = Settings(aws_port=0, control_port=port, data_dir=tmp_path)
        with pytest.raises(OSError, match=f"port {port} .* is in use.*another"), embedded(settings):
            pass
    DataDirectory(tmp_path).close()


def test_the_emulator_starts_without_what_it_may_never_need() -> None:
    """moto, boto3, pika, topics and such are imported when first used: ready at once, small when idle."""
    program = (
        "import sys\n"
        "from emulator.assembly.embedded import embedded\n"
        "from emulator.settings.settings import Settings\n"
        "from rdss_sandbox.client import Client\n"
        "settings = Settings(aws_port=0, control_port=0, data_dir=None)\n"
        "with embedded(settings) as emulator:\n"
        "    with Client(emulator.control) as client:\n"
        "        client.status(), client.messages(), client.faults(), client.events()\n"
        "    heavy = {'moto', 'boto3', 'botocore', 'pandas', 'pika', 'pyspark', 'textual', 'docker'}\n"
        "    heavy |= {'extensions.topics.engine', 'lark', 'websockets', 'wsproto', 'pamqp'}\n"
        "    heavy |= {'extensions.processing.processing'}\n"
        "    print(sorted(heavy & set(sys.modules)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert (ran.stdout.strip(), ran.returncode) == ("[]", 0), ran.stderr


def test_limits_are_for_clients_and_not_for_the_sandbox_itself() -> None:
    """With strict limits 32 streams are there after each reset, and a client makes five a second."""
    settings = Settings(
        aws_port=0, control_port=0, data_dir=None, seed=7, limits="strict", topology=RDSS_TOPOLOGY
    )
    with embedded(settings, Clock(frozen_at=0.0)) as emulator, Client(emulator.control) as control:
        for _ in range(3):
            assert len(control.reset(Reset(time=0.0)).streams) == len(RDSS_TOPOLOGY.streams)
            control.change_clock(ClockChange("freeze"))
            streams, home = emulator.components.streams, emulator.components.home
            for number in range(5):
                streams.call("CreateStream", {"StreamName": f"s{number}", "ShardCount": 1}, home)
            with pytest.raises(KinesisError, match="Rate exceeded"):
                streams.call("CreateStream", {"StreamName": "s5", "ShardCount": 1}, home)


@pytest.mark.parametrize("amqp", ["none", "embedded"])
def test_the_status_is_told_as_soon_as_the_control_port_answers(
    monkeypatch: pytest.MonkeyPatch, amqp: str
) -> None:
    """While the rest of the sandbox is still being started."""
    told: list[Status] = []
    open_rest = Embedded._open_extensions

    async def ask_first(starting: Embedded) -> None:
        with Client(starting.control) as control:
            told.append(await asyncio.to_thread(control.status))
        await open_rest(starting)

    monkeypatch.setattr(Embedded, "_open_extensions", ask_first)
    with embedded(Settings(aws_port=0, control_port=0, amqp_port=0, data_dir=None, amqp=amqp)):
        pass
    assert [each.amqp for each in told] == [None]
