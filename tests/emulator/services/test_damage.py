"""Whatever a power cut or a bad disk does to a file of moto's services: it is named, and the others go on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from emulator.assembly import damage as told
from emulator.assembly.repair import repair
from emulator.buckets.objects.kept_bodies import KeptBodies
from emulator.machine.private_files import UMASK
from emulator.services import service_log
from emulator.services.service_log import OtherVersionError
from tests.emulator.assembly.test_damage import DAMAGES, cut_off, emptied, flipped, missing, zeroed
from tests.emulator.services.conftest import Running, run
from tests.emulator.services.test_surviving import make_table

FILES = ("bodies-1.log", "cloudwatch.log", "dynamodb.log", "s3.log", "sns.log", "sqs.log", "ssm.log")


def fill(running: Running) -> None:
    make_table(running.client("dynamodb"), "t")
    sqs, s3, ssm = (running.client(name) for name in ("sqs", "s3", "ssm"))
    queue = sqs.create_queue(QueueName="q")["QueueUrl"]
    s3.create_bucket(Bucket="mine")
    for number in range(9):
        running.client("dynamodb").put_item(TableName="t", Item={"key": {"S": f"item {number}"}})
        sqs.send_message(QueueUrl=queue, MessageBody=f"message {number}")
        s3.put_object(Bucket="mine", Key=str(number), Body=b"body %d" % number * 9)
        running.client("sns").create_topic(Name=f"topic-{number}")
        ssm.put_parameter(Name=f"p{number}", Value=str(number), Type="String")
        running.client("cloudwatch").put_metric_alarm(
            AlarmName=f"alarm {number}",
            Namespace="n",
            MetricName="m",
            ComparisonOperator="GreaterThanThreshold",
            EvaluationPeriods=1,
            Period=60,
            Statistic="Maximum",
            Threshold=1.0,
        )


def found(running: Running) -> tuple[dict[str, set[str]], list[str]]:
    """What each service has, and what it said instead."""
    has: dict[str, set[str]] = {}
    said: list[str] = []
    for name, read in READERS.items():
        try:
            has[name] = read(running)
        except ClientError as error:
            said.append(str(error))
            has[name] = set()
    return has, said


def read_items(running: Running) -> set[str]:
    return {each["key"]["S"] for each in running.client("dynamodb").scan(TableName="t")["Items"]}


def read_messages(running: Running) -> set[str]:
    sqs = running.client("sqs")
    url = sqs.get_queue_url(QueueName="q")["QueueUrl"]
    return {
        each["Body"]
        for _ in range(2)
        for each in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
    }


def read_objects(running: Running) -> set[str]:
    listed = running.client("s3").list_objects_v2(Bucket="mine").get("Contents", [])
    return {each["Key"] for each in listed}


def read_bodies(running: Running) -> set[str]:
    s3 = running.client("s3")
    return {
        s3.get_object(Bucket="mine", Key=name)["Body"].read().decode()
        for name in sorted(read_objects(running))
    }


def read_alarms(running: Running) -> set[str]:
    return {each["AlarmName"] for each in running.client("cloudwatch").describe_alarms()["MetricAlarms"]}


READERS: dict[str, Callable[[Running], set[str]]] = {
    "dynamodb.log": read_items,
    "sqs.log": read_messages,
    "s3.log": read_objects,
    "bodies-1.log": read_bodies,
    "sns.log": lambda running: {each["TopicArn"] for each in running.client("sns").list_topics()["Topics"]},
    "ssm.log": lambda running: {
        each["Name"] for each in running.client("ssm").describe_parameters()["Parameters"]
    },
    "cloudwatch.log": read_alarms,
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with something of every service, as a killed process leaves it."""
    folder = tmp_path_factory.mktemp("services") / "data"
    left = folder.parent / "left"
    with run(folder) as running:
        fill(running)
        shutil.copytree(folder, left)
    assert tuple(sorted(path.name for path in (left / "services").iterdir())) == FILES
    return left


def test_every_file_is_private(original: Path) -> None:
    for path in (original / "services", *(original / "services").iterdir()):
        assert not path.stat().st_mode & UMASK, path


def copied(original: Path, to: Path) -> Path:
    shutil.copytree(original, to)
    return to


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_file_is_lost_in_silence(name: str, original: Path, tmp_path: Path) -> None:
    """All is there, or a request or the start says what is not. Other files have all of theirs."""
    for damage in DAMAGES:
        folder = copied(original, tmp_path / damage.__name__)
        damage(folder / "services" / name)
        with run(folder) as running:
            has, said = found(running)
            recent = running.emulator.components.events.since(0, 10_000)
        lines = said + [line for event in recent if (line := told.describe_damage(event))]
        for other, values in has.items():
            touched = other == name or (other == "bodies-1.log" and name == "s3.log")
            complete = len(values) == 9
            assert complete or touched, f"{damage.__name__} of {name} took from {other}"
            assert complete or any(name in line for line in lines), f"{damage.__name__} of {name}: {lines}"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "harm",
    [flipped, missing, *(pytest.param(each, marks=pytest.mark.slow) for each in (cut_off, zeroed, emptied))],
)
def test_after_a_repair_everything_answers(
    name: str, harm: Callable[[Path], None], original: Path, tmp_path: Path
) -> None:
    folder = copied(original, tmp_path / "data")
    harm(folder / "services" / name)
    for each in list(repair(folder)):
        assert each.file == str(folder / "services" / name)
        assert each.put_aside is not None
    with run(folder) as running:
        has, _ = found(running)
    for other, values in has.items():
        touched = other == name or (other == "bodies-1.log" and name == "s3.log")
        assert len(values) == 9 or touched
        if harm is flipped and other == name != "bodies-1.log":
            assert len(values) >= 8 or not values


def test_another_version_is_refused_in_a_line_that_says_what_to_do(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is read or changed."""
    folder = copied(original, tmp_path / "data")
    path = folder / "services" / "sqs.log"
    with monkeypatch.context() as patched:
        patched.setattr(service_log, "version", lambda _: "4.0.1")
        with closing(service_log.open_log(path, fsync=False)) as log:
            log.replace([])
    before = path.read_bytes()
    with pytest.raises(OtherVersionError) as caught, run(folder):
        pass
    assert "sqs.log was written with moto 4.0.1" in str(caught.value)
    assert "pip install moto==4.0.1" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_full_disk_is_an_error_and_what_was_refused_is_stored_later(tmp_path: Path) -> None:
    """Whoever gets an answer without an error finds it after a restart."""
    from emulator.journal import frames

    with run(tmp_path / "data") as running:
        dynamodb = running.client("dynamodb")
        make_table(dynamodb, "t")
        write = frames.write_all

        def full(*_: Any) -> int:
            raise OSError(28, "No space left on device")

        frames.write_all = full
        try:
            with pytest.raises(ClientError, match="No space left"):
                dynamodb.put_item(TableName="t", Item={"key": {"S": "refused"}})
        finally:
            frames.write_all = write
        dynamodb.put_item(TableName="t", Item={"key": {"S": "acknowledged"}})
        before = read_items(running)
    with run(tmp_path / "data") as running:
        assert read_items(running) == before == {"refused", "acknowledged"}


def test_the_log_stays_small_under_updates_of_the_same_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As KCL updates its leases: the log is rewritten when it is much larger than what it holds."""
    monkeypatch.setattr("emulator.journal.log.OVERGROWN_BYTES", 1 << 15)
    monkeypatch.setitem(KeptBodies.__init__.__kwdefaults__ or {}, "file_bytes", 1 << 15)
    with run(tmp_path / "data") as running:
        dynamodb, s3 = running.client("dynamodb"), running.client("s3")
        make_table(dynamodb, "t")
        s3.create_bucket(Bucket="mine")
        for number in range(250):
            item = {"key": {"S": str(number % 2)}, "checkpoint": {"S": str(number) * 50}}
            dynamodb.put_item(TableName="t", Item=item)
            s3.put_object(Bucket="mine", Key=str(number % 2), Body=json.dumps([number] * 200).encode())
        sizes = {path.name: path.stat().st_size for path in (tmp_path / "data" / "services").iterdir()}
        assert max(sizes.values()) < 2 << 15, sizes
        assert sum(sizes.values()) < 8 << 15, sizes
    with run(tmp_path / "data") as running:
        found = {
            each["key"]["S"]: each["checkpoint"]["S"]
            for each in running.client("dynamodb").scan(TableName="t")["Items"]
        }
        assert found == {"0": "248" * 50, "1": "249" * 50}
        body = running.client("s3").get_object(Bucket="mine", Key="1")["Body"].read()
        assert json.loads(body) == [249] * 200
