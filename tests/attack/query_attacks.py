"""Attacks by what is asked: patterns, filters, and faults that are too much."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import quote, urlsplit

import boto3
import httpx
from botocore.config import Config
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

_SECONDS = 60.0


def patterns(topics: str, pattern: str, text: str, times: int) -> None:
    """Subscribe by a pattern, and publish what it takes longest for."""
    where = quote(f"/text LIKE '{pattern}'")
    publish = {"cmd": "publish", "topic": "spite", "data": {"text": text}}
    asked = f"/topics/messages?topic=spite&filter={where}"
    with (
        httpx.Client(base_url=topics, trust_env=False, timeout=_SECONDS) as client,
        client.stream("GET", asked) as subscription,
    ):
        assert subscription.status_code == 200, subscription.read()
        for _ in range(times):
            client.post("/topics/commands", json=publish).raise_for_status()


def filters(control: str, path: str, texts: list[str], times: int) -> None:
    """Ask with filters that are too large; every answer is a refusal that names a limit."""
    with httpx.Client(base_url=control, trust_env=False, timeout=_SECONDS) as client:
        for _ in range(times):
            for text in texts:
                answer = client.get(path, params={"filter": text, "topic": "objects"})
                # A URL may be refused before the filter is.
                assert answer.status_code in {400, 414, 431}, answer.text


def faults(control: str, times: int) -> None:
    """Add every type of fault with every number beyond what it may be."""
    with httpx.Client(base_url=control, trust_env=False, timeout=_SECONDS) as client:
        types = client.get("/faults/types").json()["types"]
        for _ in range(times):
            for type_ in types:
                for attribute in type_["attributes"]:
                    if attribute["most"] is None:
                        continue
                    for value in (attribute["most"] * 2, 10**9 + 1, -1, "9" * 400, "NaN"):
                        fault = {"type": type_["type"], "attributes": {attribute["name"]: value}}
                        answer = client.post("/faults", content=json.dumps(fault))
                        assert answer.status_code == 400, (fault, answer.text)


def most_copies(control: str, aws: str, stream: str) -> None:
    """As many copies as there may be, of as many records as a call takes, from several clients at once."""
    fault = {"type": "duplicate", "channel": stream, "attributes": {"copies": 100}}
    kinesis = boto3.client(
        "kinesis",
        endpoint_url=aws,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=_SECONDS),
    )
    records = [{"PartitionKey": "k", "Data": b"x"}] * 500
    with httpx.Client(base_url=control, trust_env=False, timeout=_SECONDS) as client:
        kinesis.create_stream(StreamName=stream, ShardCount=1)
        assert client.post("/faults", json=fault).is_success
        with ThreadPoolExecutor(3) as putting:
            list(putting.map(lambda _: kinesis.put_records(StreamName=stream, Records=records), range(3)))
        assert client.delete("/faults/duplicate").is_success
    kinesis.close()


def many_subscriptions(topics: str, count: int, times: int) -> None:
    """So many subscriptions by patterns on one WebSocket, and messages that each has to look at."""
    subscribe = {"cmd": "subscribe", "topic": "crowd"}
    with connect(f"ws://{urlsplit(topics).netloc}/topics/ws", max_size=None) as socket:
        for number in range(count):
            where = f"/text LIKE '^{number}[a-z]+[0-9]+x$'"
            socket.send(json.dumps({**subscribe, "cmd_id": str(number), "filter": where}))
        publish = {"cmd": "publish", "topic": "crowd", "data": {"text": "a1" * 200}}
        with suppress(ConnectionClosed):
            for number in range(times):
                socket.send(json.dumps({**publish, "cmd_id": f"p{number}", "ack_type": "processed"}))
                while f'"p{number}"' not in str(socket.recv(_SECONDS)):
                    pass


def many_shards(aws: str, stream: str) -> None:
    """Make, reshard, read and remove streams of as many shards as there may be."""
    kinesis = boto3.client(
        "kinesis",
        endpoint_url=aws,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="b",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=_SECONDS),
    )
    kinesis.create_stream(StreamName=stream, ShardCount=3_000)
    for target in (1_600, 3_000):
        kinesis.update_shard_count(StreamName=stream, TargetShardCount=target, ScalingType="UNIFORM_SCALING")
    kinesis.delete_stream(StreamName=stream)
    kinesis.create_stream(StreamName=stream, ShardCount=9_000)
    with suppress(kinesis.exceptions.LimitExceededException):
        kinesis.update_shard_count(StreamName=stream, TargetShardCount=4_600, ScalingType="UNIFORM_SCALING")
    kinesis.describe_stream(StreamName=stream)
    kinesis.delete_stream(StreamName=stream)
    kinesis.close()
