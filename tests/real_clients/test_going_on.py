"""Clients that were stopped go on where they were after the sandbox was killed and started again."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.real_clients.sandbox_process import Sandbox
from tests.real_clients.test_kcl import STREAM, Application
from tests.waiting import wait_until

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(900)]

BOUND_SECONDS = 280.0
RECORDS = 40
SHARDS = 4


def start_again(sandbox: Sandbox, folder: Path) -> Sandbox:
    """Kill a sandbox and start one on its directory and its port."""
    sandbox.kill()
    return Sandbox(folder, urlsplit(sandbox.url).port or 0)


@pytest.mark.long
@pytest.mark.xdist_group("kcl")
def test_the_kcl_goes_on_at_its_leases(tmp_path: Path, kcl: Path) -> None:
    """No record is lost, and none is processed twice."""
    sandbox = Sandbox(tmp_path)
    sandbox.client("kinesis").create_stream(StreamName=STREAM, ShardCount=SHARDS)
    sandbox.client("kinesis").get_waiter("stream_exists").wait(StreamName=STREAM)
    put(sandbox, "first")
    with closing(Application("POLLING", tmp_path, sandbox, kcl)) as application:
        wait_until(
            lambda: len(application.processed) == RECORDS, seconds=BOUND_SECONDS, shown=application.tail
        )
        wait_until(lambda: leases_are_at(sandbox, application), seconds=BOUND_SECONDS, shown=application.tail)
        application.process.terminate()
        application.process.wait(BOUND_SECONDS)
    before = leases(sandbox)
    sandbox = start_again(sandbox, tmp_path)
    with closing(sandbox):
        assert leases(sandbox) == before
        put(sandbox, "second")
        with closing(Application("POLLING", tmp_path, sandbox, kcl)) as application:
            wait_until(
                lambda: len(application.processed) >= 2 * RECORDS,
                seconds=BOUND_SECONDS,
                shown=application.tail,
            )
        given = [data for note in application.notes for data in note.get("data", ())]
    assert sorted(given) == sorted(
        f"{word} {number}" for word in ("first", "second") for number in range(RECORDS)
    )


def put(sandbox: Sandbox, word: str) -> None:
    records = [
        {"Data": f"{word} {number}".encode(), "PartitionKey": str(number)} for number in range(RECORDS)
    ]
    assert sandbox.client("kinesis").put_records(StreamName=STREAM, Records=records)["FailedRecordCount"] == 0


def leases(sandbox: Sandbox) -> dict[str, Any]:
    items = sandbox.client("dynamodb").scan(TableName="application-polling")["Items"]
    return {item["leaseKey"]["S"]: item for item in items}


def leases_are_at(sandbox: Sandbox, application: Application) -> bool:
    """Whether the lease of each shard of which records were processed is at the last of them."""
    busy = {note["shard"] for note in application.notes if note.get("data")}
    found = leases(sandbox)
    return all(found[shard]["checkpoint"]["S"].isdecimal() for shard in busy)


def test_a_consumer_of_sqs_goes_on(tmp_path: Path) -> None:
    """What it deleted does not come back, what it had received comes again, and nothing is lost."""
    sandbox = Sandbox(tmp_path)
    sqs = sandbox.client("sqs")
    url = sqs.create_queue(QueueName="jobs", Attributes={"VisibilityTimeout": "3600"})["QueueUrl"]
    for number in range(RECORDS):
        sqs.send_message(QueueUrl=url, MessageBody=str(number))
    done = consume(sqs, url, RECORDS // 2)
    held = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
    sandbox = start_again(sandbox, tmp_path)
    with closing(sandbox):
        rest = consume(sandbox.client("sqs"), url, RECORDS)
    assert {each["Body"] for each in held} <= set(rest)
    assert sorted(map(int, done + rest)) == list(range(RECORDS))


def consume(sqs: Any, url: str, most: int) -> list[str]:
    """Receive and delete messages, one at a time, until there are none or ``most`` are done."""
    done: list[str] = []
    while len(done) < most and (found := sqs.receive_message(QueueUrl=url).get("Messages")):
        sqs.delete_message(QueueUrl=url, ReceiptHandle=found[0]["ReceiptHandle"])
        done.append(found[0]["Body"])
    return done


def test_sync_has_nothing_to_copy_after_a_death(tmp_path: Path, aws_cli: Path) -> None:
    """`aws s3 sync` compares sizes and dates: both are as they were."""
    files, back = tmp_path / "files", tmp_path / "back"
    for number in range(RECORDS):
        path = files / f"{number % 3}" / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"file {number}\n" * number)
    sandbox = Sandbox(tmp_path)
    run(sandbox, aws_cli, "s3", "mb", "s3://mine")
    assert run(sandbox, aws_cli, "s3", "sync", str(files), "s3://mine").count("upload:") == RECORDS
    sandbox = start_again(sandbox, tmp_path)
    with closing(sandbox):
        assert run(sandbox, aws_cli, "s3", "sync", str(files), "s3://mine") == ""
        (files / "0" / "0.txt").write_text("changed")
        assert run(sandbox, aws_cli, "s3", "sync", str(files), "s3://mine").count("upload:") == 1
        run(sandbox, aws_cli, "s3", "sync", "s3://mine", str(back))
    for path in files.rglob("*.txt"):
        assert (back / path.relative_to(files)).read_bytes() == path.read_bytes()


def run(sandbox: Sandbox, aws_cli: Path, *arguments: str) -> str:
    command = [aws_cli, *arguments, "--no-progress"] if "sync" in arguments else [aws_cli, *arguments]
    ran = subprocess.run(
        command, env=sandbox.environment, check=False, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
