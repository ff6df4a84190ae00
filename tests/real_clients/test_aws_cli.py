"""The AWS CLI, unmodified, with AWS_ENDPOINT_URL set."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.real_clients.sandbox_process import Sandbox

pytestmark = [pytest.mark.real_client, pytest.mark.xdist_group("aws_cli")]


@pytest.fixture(scope="module")
def aws(sandbox: Sandbox, aws_cli: Path) -> Callable[..., Any]:
    """Run ``aws`` with these arguments; what it prints, as JSON where it is."""

    def run(*arguments: str, stdin: str | None = None) -> Any:
        ran = subprocess.run(
            [aws_cli, *arguments],
            env=sandbox.environment,
            input=stdin,
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if ran.returncode:
            raise RuntimeError(ran.stderr)
        return json.loads(ran.stdout) if ran.stdout.startswith("{") else ran.stdout

    return run


def test_a_record_goes_through_a_stream(aws: Callable[..., Any]) -> None:
    """Create, wait, put, split, read; as in Amazon's own tutorial."""
    aws("kinesis", "create-stream", "--stream-name", "cli", "--shard-count", "1")
    aws("kinesis", "wait", "stream-exists", "--stream-name", "cli")
    put = aws("kinesis", "put-record", "--stream-name", "cli", "--partition-key", "1", "--data", "testdata")
    assert put["ShardId"] == "shardId-000000000000"
    at = ("--shard-id", put["ShardId"], "--shard-iterator-type", "TRIM_HORIZON", "--stream-name", "cli")
    iterator = aws("kinesis", "get-shard-iterator", *at)["ShardIterator"]
    (record,) = aws("kinesis", "get-records", "--shard-iterator", iterator)["Records"]
    assert base64.b64decode(record["Data"]) == b"testdata"
    split = (
        "--shard-to-split",
        put["ShardId"],
        "--new-starting-hash-key",
        "170141183460469231731687303715884105728",
    )
    aws("kinesis", "split-shard", "--stream-name", "cli", *split)
    shards = aws("kinesis", "list-shards", "--stream-name", "cli")["Shards"]
    assert [shard.get("ParentShardId") for shard in shards] == [None, put["ShardId"], put["ShardId"]]


def test_an_error_reads_as_from_aws(aws: Callable[..., Any]) -> None:
    """What a person sees who mistypes a name."""
    with pytest.raises(
        RuntimeError, match=r"\(ResourceNotFoundException\).*Stream nowhere under account .* not found"
    ):
        aws("kinesis", "describe-stream", "--stream-name", "nowhere")


def test_files_are_copied_to_s3_and_back(aws: Callable[..., Any], tmp_path: Path) -> None:
    """``aws s3 mb``, ``cp`` of a file that needs several parts, ``ls`` and ``sync``."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "large").write_bytes(bytes(9_000_000))
    (source / "small").write_text("small")
    aws("s3", "mb", "s3://cli-bucket")
    aws("s3", "sync", str(source), "s3://cli-bucket/here")
    assert aws("s3", "ls", "s3://cli-bucket/here/").split()[-1] == "small"
    aws("s3", "cp", "--quiet", "s3://cli-bucket/here/large", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == bytes(9_000_000)
