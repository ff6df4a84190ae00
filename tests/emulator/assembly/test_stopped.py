"""Ninety seconds in which a process gets no processor, as in a laptop that sleeps: what was promised holds.

A stopped process cannot be shown but by waiting, so these two tests wait for as long.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pika
import pytest

from emulator.clock import Clock
from rdss_sandbox.process import sandbox_process
from tests.emulator.services.conftest import client_of

STOPPED_SECONDS: Final = 90.0
HEARTBEAT: Final = 20
KEPT: Final = pika.BasicProperties(delivery_mode=2)
pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

_CONSUMER: Final = """
import sys
import pika

def connect():
    parameters = pika.URLParameters(sys.argv[1])
    parameters.heartbeat = int(sys.argv[2])
    return pika.BlockingConnection(parameters)

for life in range(2):
    try:
        channel = connect().channel()
        for method, _, body in channel.consume("q"):
            print(life, body.decode(), method.redelivered, flush=True)
    except pika.exceptions.AMQPError:
        print(life, "closed", flush=True)
"""


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Let a process stand still for ninety seconds, counted from what is done in the context."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
        Clock().wait(STOPPED_SECONDS)
    finally:
        os.kill(pid, signal.SIGCONT)


def open_channel(url: str, heartbeat: int = 0) -> Any:
    parameters = pika.URLParameters(url)
    parameters.heartbeat = heartbeat
    return pika.BlockingConnection(parameters).channel()


def test_a_sandbox_that_stood_still(tmp_path: Path) -> None:
    """All that was acknowledged is there, on the iterator and the connection of before where these last."""
    with sandbox_process("--data-dir", str(tmp_path / "data")) as sandbox:
        kinesis, sqs = (client_of(sandbox.aws, name) for name in ("kinesis", "sqs"))
        shard = {"StreamName": "input", "ShardId": "shardId-000000000000"}
        reader = kinesis.get_shard_iterator(**shard, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        put = [{"Data": b"%d" % number, "PartitionKey": "k", "ExplicitHashKey": "0"} for number in range(100)]
        assert kinesis.put_records(StreamName="input", Records=put)["FailedRecordCount"] == 0
        queue = sqs.create_queue(QueueName="q", Attributes={"VisibilityTimeout": "30"})["QueueUrl"]
        sqs.send_message(QueueUrl=queue, MessageBody="seen")
        (seen,) = sqs.receive_message(QueueUrl=queue)["Messages"]
        assert "Messages" not in sqs.receive_message(QueueUrl=queue)
        assert sandbox.amqp
        beating, quiet = open_channel(sandbox.amqp, HEARTBEAT), open_channel(sandbox.amqp)
        quiet.queue_declare("q", durable=True)
        quiet.confirm_delivery()
        for body in (b"first", b"second"):
            quiet.basic_publish("", "q", body, KEPT, mandatory=True)
        assert beating.basic_get("q")[2] == b"first"

        with stopped(sandbox.pid), pytest.raises(httpx.TimeoutException):
            httpx.get(f"{sandbox.control}/health", timeout=1)

        assert httpx.get(f"{sandbox.control}/health", timeout=5).is_success
        records = kinesis.get_records(ShardIterator=reader)["Records"]
        assert [each["Data"] for each in records] == [each["Data"] for each in put]
        again = sqs.receive_message(QueueUrl=queue, AttributeNames=["All"], WaitTimeSeconds=5)["Messages"]
        counts = [(each["MessageId"], each["Attributes"]["ApproximateReceiveCount"]) for each in again]
        assert counts == [(seen["MessageId"], "2")]
        # A broker that stood still itself blames no client for its silence.
        assert beating.basic_get("q")[2] == b"second"
        beating.connection.close()
        got = [quiet.basic_get("q", auto_ack=True) for _ in range(2)]
        assert [(method.redelivered, body) for method, _, body in got] == [
            (True, b"first"),
            (True, b"second"),
        ]
        with closing(open_channel(sandbox.amqp, HEARTBEAT).connection) as connection:
            assert connection.channel().basic_get("q")[0] is None
        quiet.basic_publish("", "q", b"third", KEPT, mandatory=True)
        assert quiet.basic_get("q", auto_ack=True)[2] == b"third"
        assert kinesis.put_record(StreamName="input", Data=b"later", PartitionKey="k")["ShardId"]


def test_a_client_that_stood_still(tmp_path: Path) -> None:
    """The broker gives its message to another meanwhile; the client learns that, and connects again."""
    with sandbox_process("--data-dir", str(tmp_path / "data")) as sandbox:
        assert sandbox.amqp
        channel = open_channel(sandbox.amqp)
        channel.queue_declare("q", durable=True)
        channel.basic_publish("", "q", b"once", KEPT)
        command = [sys.executable, "-c", _CONSUMER, sandbox.amqp, str(HEARTBEAT)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
            try:
                assert client.stdout
                assert client.stdout.readline() == "0 once False\n"
                with stopped(client.pid):
                    assert channel.basic_get("q")[0] is None
                method, _, body = channel.basic_get("q", auto_ack=True)
                assert (method.redelivered, body) == (True, b"once")
                assert client.stdout.readline() == "0 closed\n"
                channel.basic_publish("", "q", b"later", KEPT)
                assert client.stdout.readline() == "1 later False\n"
            finally:
                client.kill()
        channel.connection.close()
