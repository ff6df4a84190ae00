"""Right clients of other makers give no finding, while faults strike: aiobotocore and aio-pika."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.real_clients import install
from tests.real_clients.sandbox_process import Sandbox, installed
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(180)]

HERE = Path(__file__).parent
_DEADLINE = 60.0


def test_aiobotocore(sandbox: Sandbox, tmp_path: Path) -> None:
    """A consumer that is throttled and loses its iterators while its shard splits, and is told to end."""
    programs = installed(
        "aiobotocore", lambda: install.python_environment("aiobotocore", install.AIOBOTOCORE)
    )
    producer, told, samples, put = sandbox.client("kinesis"), tmp_path / "told", Samples(1), set()
    producer.create_stream(StreamName="aio", ShardCount=1)

    def send(count: int) -> None:
        for _ in range(count):
            message = samples.message()
            name = message["messageHeader"]["messageId"]
            producer.put_record(StreamName="aio", Data=serialise(message), PartitionKey=name)
            put.add(name)

    def processed() -> bool:
        return put == {json.loads(line)["processed"] for line in told.read_text().splitlines()}

    environment = {
        **sandbox.environment,
        "AWS_ACCESS_KEY_ID": "aio",
        "SANDBOX_STREAM": "aio",
        "SANDBOX_STATE_DIR": str(tmp_path),
    }
    with told.open("wb") as out:
        process = subprocess.Popen(
            [programs / "python", HERE / "certified_aiobotocore.py"], env=environment, stdout=out
        )
    try:
        with Client(sandbox.control) as control:
            send(10)
            wait_until(processed)
            control.add_fault(NewFault("throttle", channel="aio", direction="deliver", limit=2))
            control.add_fault(NewFault("expire_iterator", channel="aio", direction="deliver", limit=1))
            send(10)
            wait_until(processed)
            producer.split_shard(
                StreamName="aio", ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**127)
            )
            send(20)
            wait_until(processed)
            process.terminate()
            assert process.wait(20) == 0
            control.change_clock(ClockChange("advance", seconds=120))
            diagnosis = control.diagnosis(stream="aio")
    finally:
        process.kill()
        process.wait()
    assert any(each.name.startswith("aio (aiobotocore/") for each in diagnosis.clients)
    assert diagnosis.findings == ()


def test_aio_pika(tmp_path: Path) -> None:
    """A client with confirms, a limit and acks, while messages come twice."""
    programs = installed("aio-pika", lambda: install.python_environment("aio-pika", install.AIO_PIKA))
    settings = Settings(aws_port=0, control_port=0, amqp_port=0, data_dir=None, amqp="embedded")
    with embedded(settings) as running, Client(running.control) as control:
        control.add_fault(NewFault("duplicate", channel="work", direction="deliver"))
        command = [programs / "python", HERE / "right_aio_pika.py", str(running.broker.url), "work"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert ran.stdout == "20\n"
        control.change_clock(ClockChange("advance", seconds=7_200))
        diagnosis = control.diagnosis()
    assert any("aio-pika" in each.agent or "aiormq" in each.agent for each in diagnosis.clients)
    assert diagnosis.findings == ()
