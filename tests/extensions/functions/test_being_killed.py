"""Mappings of a sandbox that is ended with kill -9 again and again, while records come."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest

from emulator.rng import Chance
from extensions.functions.engine.function_code import zip_files
from rdss_sandbox.process import sandbox_process
from tests.waiting import wait_until

HANDLER = """
import base64, os
def handler(event, context):
    with open(os.environ["SEEN"], "a") as seen:
        for record in event["Records"]:
            seen.write(base64.b64decode(record["kinesis"]["data"]).decode() + "\\n")
"""
EVENT_HANDLER = """
import os
def handler(event, context):
    with open(os.environ["SEEN"], "a") as seen:
        seen.write(event + "\\n")
        if not seen.tell() > len(event) + 1:
            raise ValueError("the first time")
"""
BATCH = 5


@pytest.mark.parametrize("deaths", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_no_record_is_left_out_and_what_was_done_is_not_done_again(tmp_path: Path, deaths: int) -> None:
    """A batch that was under way comes again, one for each lane of the shard, and nothing else does."""
    seen, port = tmp_path / "seen", 0
    draws = Chance(deaths).draws("deaths")
    sent: list[str] = []
    for life in range(deaths + 1):
        options = ("--data-dir", str(tmp_path / "data"), "--aws-port", str(port))
        with sandbox_process(*options) as sandbox:
            port = urlsplit(sandbox.aws).port or 0
            kinesis, lambda_ = (_client(service, sandbox.aws) for service in ("kinesis", "lambda"))
            if life == 0:
                _map(kinesis, lambda_, seen)
            more = [f"{life}-{number}" for number in range(draws.randrange(20, 60))]
            records = [{"Data": each, "PartitionKey": each} for each in more]
            kinesis.put_records(StreamName="killed", Records=records)
            sent += more
            least = len(sent) if life == deaths else len(_read(seen)) + draws.randrange(0, 15)
            _wait_for(seen, min(least, len(sent)))
            if life < deaths:
                os.kill(sandbox.pid, signal.SIGKILL)
    found = _read(seen)
    assert set(found) == set(sent)
    assert len(found) - len(sent) <= deaths * BATCH * 2  # two shards


def test_an_event_that_was_taken_survives_the_process(tmp_path: Path) -> None:
    """Whoever got the answer 202 need not invoke again: the next process goes on, until it has succeeded."""
    seen = tmp_path / "seen"
    with sandbox_process("--data-dir", str(tmp_path / "data")) as sandbox:
        lambda_ = _client("lambda", sandbox.aws)
        _create(lambda_, EVENT_HANDLER, seen)
        lambda_.invoke(FunctionName="f", InvocationType="Event", Payload=b'"first"')
        wait_until(lambda: _read(seen) == ["first"])
        os.kill(sandbox.pid, signal.SIGKILL)
    with sandbox_process("--data-dir", str(tmp_path / "data")) as sandbox:
        wait_until(lambda: _read(seen) == ["first", "first"])
        _client("lambda", sandbox.aws).invoke(FunctionName="f", Payload=b'"last"')
    with sandbox_process("--data-dir", str(tmp_path / "data")) as sandbox:
        _client("lambda", sandbox.aws).invoke(FunctionName="f", Payload=b'"again"')
        assert _read(seen) == ["first", "first", "last", "again"]


def _map(kinesis: Any, lambda_: Any, seen: Path) -> None:
    kinesis.create_stream(StreamName="killed", ShardCount=2)
    kinesis.get_waiter("stream_exists").wait(StreamName="killed")
    _create(lambda_, HANDLER, seen)
    lambda_.create_event_source_mapping(
        FunctionName="f",
        EventSourceArn="arn:aws:kinesis:us-east-1:000000000000:stream/killed",
        StartingPosition="TRIM_HORIZON",
        BatchSize=BATCH,
    )


def _create(lambda_: Any, source: str, seen: Path) -> None:
    lambda_.create_function(
        FunctionName="f",
        Runtime="python3.11",
        Handler="h.handler",
        Role="arn:aws:iam::000000000000:role/r",
        Code={"ZipFile": zip_files({"h.py": source.encode()})},
        Environment={"Variables": {"SEEN": str(seen)}},
    )


def _client(service: Any, url: str) -> Any:
    return boto3.client(
        service,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def _read(seen: Path) -> list[str]:
    with suppress(FileNotFoundError):
        return seen.read_text().split()
    return []


def _wait_for(seen: Path, count: int) -> None:
    """Wait until so many different records were handled."""
    wait_until(lambda: len(set(_read(seen))) >= count)
