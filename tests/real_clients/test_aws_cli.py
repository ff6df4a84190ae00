"""The AWS CLI, unmodified, with AWS_ENDPOINT_URL set."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

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
            timeout=120,
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


def test_a_function_is_made_invoked_and_mapped(aws: Callable[..., Any], tmp_path: Path) -> None:
    """As in Amazon's own tutorial: a zip, an invocation with its log, and a mapping of a stream."""
    with ZipFile(tmp_path / "function.zip", "w") as archive:
        archive.writestr(
            "index.py", "def handler(event, context):\n    print('came')\n    return event['a']\n"
        )
    role = "arn:aws:iam::000000000000:role/functions"
    made = ("--runtime", "python3.11", "--handler", "index.handler", "--role", role)
    code = ("--zip-file", f"fileb://{tmp_path / 'function.zip'}")
    aws("lambda", "create-function", "--function-name", "cli", *made, *code)
    aws("lambda", "wait", "function-active-v2", "--function-name", "cli")
    (tmp_path / "event.json").write_text('{"a": 7}')
    event = ("--payload", f"fileb://{tmp_path / 'event.json'}", "--log-type", "Tail")
    answer = aws("lambda", "invoke", "--function-name", "cli", *event, str(tmp_path / "answer"))
    assert (tmp_path / "answer").read_text() == "7"
    assert b"came" in base64.b64decode(answer["LogResult"])
    aws("kinesis", "create-stream", "--stream-name", "mapped", "--shard-count", "1")
    source = ("--event-source-arn", "arn:aws:kinesis:us-east-1:000000000000:stream/mapped")
    start = ("--starting-position", "TRIM_HORIZON", "--batch-size", "5")
    mapped = aws("lambda", "create-event-source-mapping", "--function-name", "cli", *source, *start)
    (found,) = aws("lambda", "list-event-source-mappings", "--function-name", "cli")["EventSourceMappings"]
    assert (found["UUID"], found["BatchSize"]) == (mapped["UUID"], 5)


@pytest.mark.slow
def test_a_template_is_deployed_and_deployed_again(aws: Callable[..., Any], tmp_path: Path) -> None:
    """`aws cloudformation deploy` makes a stack, changes it, and says where there is nothing to change."""
    (tmp_path / "stack.yaml").write_text(
        "Parameters: {Name: {Type: String}}\n"
        "Resources: {Q: {Type: AWS::SQS::Queue, Properties: {QueueName: !Ref Name}}}\n"
        "Outputs: {Url: {Value: !Ref Q}}\n"
    )
    named = ("--stack-name", "cli", "--template-file", str(tmp_path / "stack.yaml"))
    aws("cloudformation", "deploy", *named, "--parameter-overrides", "Name=one")
    changed = aws("cloudformation", "deploy", *named, "--parameter-overrides", "Name=other")
    assert "Successfully created/updated stack - cli" in changed
    unchanged = aws("cloudformation", "deploy", *named, "--no-fail-on-empty-changeset")
    assert "No changes to deploy. Stack cli is up to date" in unchanged
    (stack,) = aws("cloudformation", "describe-stacks", "--stack-name", "cli")["Stacks"]
    assert stack["Outputs"][0]["OutputValue"].endswith("/other")


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
