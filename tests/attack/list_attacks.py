"""Attacks by what holds very much: long lists and tables, and very many readers of it."""

from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from pamqp import commands
from pamqp.body import ContentBody
from pamqp.frame import marshal
from pamqp.header import ContentHeader

from emulator.clock import stopwatch
from tests.attack.amqp_attacks import connected
from tests.attack.broker_attacks import ask_for, declared, exchange, repeated
from tests.attack.http_attacks import opened

_SECONDS = 60.0


def client_of(aws: str, service: str) -> Any:
    return boto3.client(
        service,  # type: ignore[call-overload]
        endpoint_url=aws,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=_SECONDS, max_pool_connections=50),
    )


def header_tables(url: str, seconds: float) -> None:
    """Messages with as many headers as a frame has room for, to an exchange that looks at headers."""
    with connected(url) as connection:
        bind = commands.Queue.Bind(
            queue="tables", exchange="headed", nowait=True, arguments={"x-match": "all", "k1": 1}
        )
        ask_for(
            connection,
            (exchange("headed", "headers"), declared("tables", arguments={"x-max-length": 10}), bind),
        )
        headers = {f"k{number}": number for number in range(12_000)}
        properties = commands.Basic.Properties(headers=headers)
        parts = (
            commands.Basic.Publish(exchange="headed"),
            ContentHeader(0, 2, properties),
            ContentBody(b"{}"),
        )
        repeated(connection, b"".join(marshal(part, 1) for part in parts), seconds)


def declared_tables(url: str, seconds: float) -> None:
    """Queues declared with as many arguments as a frame has room for."""
    with connected(url) as connection:
        arguments = {f"k{number}": number for number in range(12_000)}
        repeated(connection, marshal(declared("wide", arguments=arguments), 1), seconds)


def described_shards(aws: str, stream: str, times: int) -> None:
    """A stream of as many shards as there may be, described and listed by several clients at once."""
    kinesis = client_of(aws, "kinesis")
    kinesis.create_stream(StreamName=stream, ShardCount=10_000)

    def ask(_: int) -> None:
        kinesis.describe_stream(StreamName=stream, Limit=10_000)
        kinesis.list_shards(StreamName=stream, MaxResults=10_000)
        kinesis.describe_stream_summary(StreamName=stream)

    with ThreadPoolExecutor(8) as asking:
        list(asking.map(ask, range(times)))
    kinesis.delete_stream(StreamName=stream)


def _signed(service: str, target: str, body: dict[str, Any], version: str = "1.1") -> bytes:
    data = json.dumps(body).encode()
    head = (
        "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-amz-date: 20260101T000000Z\r\n"
        f"authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/{service}/aws4_request, "
        "SignedHeaders=host, Signature=0\r\n"
        f"content-type: application/x-amz-json-{version}\r\nx-amz-target: {target}\r\n"
        f"content-length: {len(data)}\r\n\r\n"
    )
    return head.encode() + data


def unread_answers(aws: str, stream: str, connections: int, seconds: float) -> None:
    """Connections that each ask for as many records as an answer has room for, and read nothing."""
    kinesis = client_of(aws, "kinesis")
    kinesis.create_stream(StreamName=stream, ShardCount=1)
    records = [{"PartitionKey": "k", "Data": bytes(90_000)}] * 50
    for _ in range(3):
        kinesis.put_records(StreamName=stream, Records=records)
    shard = kinesis.list_shards(StreamName=stream)["Shards"][0]["ShardId"]
    token = kinesis.get_shard_iterator(StreamName=stream, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    asked = _signed("kinesis", "Kinesis_20131202.GetRecords", {"ShardIterator": token["ShardIterator"]})
    _ask_on_many(urlsplit(aws).port or 0, asked, connections, seconds, reading=False)


def long_polls(aws: str, queue: str, connections: int, seconds: float) -> None:
    """Connections that each wait for a message that does not come."""
    url = client_of(aws, "sqs").create_queue(QueueName=queue)["QueueUrl"]
    asked = _signed("sqs", "AmazonSQS.ReceiveMessage", {"QueueUrl": url, "WaitTimeSeconds": 20}, "1.0")
    _ask_on_many(urlsplit(aws).port or 0, asked, connections, seconds, reading=True)


def _ask_on_many(port: int, asked: bytes, connections: int, seconds: float, *, reading: bool) -> None:
    until = stopwatch() + seconds
    with ExitStack() as stack, ThreadPoolExecutor(connections) as readers:
        for _ in range(connections):
            with suppress(OSError):
                connection = stack.enter_context(opened(port, small_window=not reading))
                connection.sendall(asked)
                readers.submit(_read if reading else _wait, connection, asked, until)


def _wait(_connection: socket.socket, _asked: bytes, until: float) -> None:
    threading.Event().wait(until - stopwatch())


def _read(connection: socket.socket, asked: bytes, until: float) -> None:
    """Read, and ask again whenever nothing has come for a while."""
    connection.settimeout(0.2)
    while stopwatch() < until:
        try:
            if not connection.recv(1 << 20):
                return
        except TimeoutError:
            with suppress(OSError):
                connection.sendall(asked)
        except OSError:
            return
