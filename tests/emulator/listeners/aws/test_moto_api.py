"""What is left of moto's own API: a reset, which empties everything, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from tests.extensions.parts import PARTS

KEYS = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
INTERNAL = (
    "recorder/start-recording",
    "recorder/stop-recording",
    "recorder/replay-recording",
    "recorder/upload-recording",
    "recorder/download-recording",
    "recorder/reset-recording",
    "seed",
    "state-manager/get-transition",
    "state-manager/set-transition",
    "state-manager/unset-transition",
    "reset-auth",
    "config",
    "data.json",
    "proxy/passthrough",
    "static/athena/query-results",
    "",
)


@pytest.fixture
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    folder = tmp_path_factory.mktemp("settings")
    extensions = tuple(each for part in PARTS for each in part.settings(folder))
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, extensions=extensions)) as running:
        yield running


def client(emulator: Embedded, service: str) -> Any:
    return boto3.client(service, endpoint_url=emulator.aws, **KEYS)


def test_reset_empties_everything_and_makes_the_topology_anew(emulator: Embedded) -> None:
    """moto's decorators in server mode call it before each test: streams, objects, tables and queues go."""
    kinesis, s3 = client(emulator, "kinesis"), client(emulator, "s3")
    kinesis.create_stream(StreamName="mine", ShardCount=1)
    kinesis.put_record(StreamName="input", Data=b"{}", PartitionKey="k")
    s3.create_bucket(Bucket="mine")
    client(emulator, "sqs").create_queue(QueueName="mine")
    before = _read_extensions(emulator)
    for part in PARTS:
        part.fill(emulator)
    filled = _read_extensions(emulator)
    assert [name for name in filled if filled[name] == before[name]] == []

    answer = httpx.post(f"{emulator.aws}/moto-api/reset")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    assert "mine" not in kinesis.list_streams()["StreamNames"]
    shards = kinesis.list_shards(StreamName="input")["Shards"]
    for shard in shards:
        place = {"StreamName": "input", "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = kinesis.get_shard_iterator(**place)["ShardIterator"]
        assert kinesis.get_records(ShardIterator=iterator)["Records"] == []
    buckets = {each["Name"] for each in s3.list_buckets()["Buckets"]}
    assert buckets == {"rdss-audit", "rdss-error", "rdss-invalid"}
    assert "QueueUrls" not in client(emulator, "sqs").list_queues()
    assert _read_extensions(emulator) == before


def _read_extensions(emulator: Embedded) -> dict[str, object]:
    with Client(emulator.control) as control:
        return {name: value for part in PARTS for name, value in part.read(control).items()}


@pytest.mark.parametrize("path", INTERNAL)
def test_nothing_else_is_there(
    emulator: Embedded, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by its path nor by a bucket's host name that becomes one; S3 answers as before."""
    monkeypatch.chdir(tmp_path)
    s3 = client(emulator, "s3")
    for method in ("GET", "POST", "PUT"):
        assert httpx.request(method, f"{emulator.aws}/moto-api/{path}", content=b"x").status_code == 404
        assert httpx.request(method, f"{emulator.aws}/%6doto-api/{path}", content=b"x").status_code == 404
        virtual = {"host": "moto-api.s3.localhost"}
        assert httpx.request(method, f"{emulator.aws}/{path}", headers=virtual).status_code == 404
    assert s3.list_buckets()["Buckets"]
    assert not list(tmp_path.iterdir())


def test_a_reset_is_asked_for_by_post(emulator: Embedded) -> None:
    """A link or an image cannot do it."""
    kinesis = client(emulator, "kinesis")
    kinesis.create_stream(StreamName="mine", ShardCount=1)
    assert httpx.get(f"{emulator.aws}/moto-api/reset").status_code == 404
    assert "mine" in kinesis.list_streams()["StreamNames"]


def test_a_page_cannot_reset(emulator: Embedded) -> None:
    """As text/plain no browser asks first."""
    kinesis = client(emulator, "kinesis")
    kinesis.create_stream(StreamName="mine", ShardCount=1)
    headers = {"origin": "http://evil.example", "content-type": "text/plain"}
    assert httpx.post(f"{emulator.aws}/moto-api/reset", headers=headers, content=b"x").status_code == 403
    assert "mine" in kinesis.list_streams()["StreamNames"]
