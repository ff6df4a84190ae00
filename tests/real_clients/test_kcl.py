"""The Java KCL 3 with its own settings: h2c and CBOR, leases in DynamoDB on the same port, under faults."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from rdss_sandbox.client import Client
from rdss_sandbox.shapes.diagnosis import Diagnosis
from rdss_sandbox.shapes.faults import NewFault
from tests.real_clients.sandbox_process import REGION, Sandbox

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(420), pytest.mark.xdist_group("kcl")]

STREAM = "kcl"
MODES = ("POLLING", "FANOUT")
SHARDS = 8
ROUNDS = 60
BOUND_SECONDS = 330
PATIENCE_SECONDS = 400
"""More than any rule of the diagnosis waits."""
FAULTS = {"expire_iterator": 16, "throttle": 16, "error": 4, "disconnect": 2}
"""How many reads each fault strikes: those of the eight subscriptions too, before others have their share."""
PROCESSOR = Path(__file__).with_name("kcl_processor.py")


class Application:
    """A MultiLangDaemon with one retrieval mode; ``notes`` is what its record processors wrote.

    ``key`` is the id of its access key, by which the sandbox tells it from the others.
    """

    def __init__(self, mode: str, folder: Path, sandbox: Sandbox, kcl: Path) -> None:
        self.key = f"kcl-{mode.lower()}"
        self._notes = folder / f"{mode}.ndjson"
        self._log = (folder / f"{mode}.log").open("wb")
        properties = folder / f"{mode}.properties"
        properties.write_text(
            f"executableName = {kcl / 'python'} {PROCESSOR} {self._notes}\n"
            f"streamName = {STREAM}\n"
            f"applicationName = application-{mode.lower()}\n"
            "AwsCredentialsProvider = DefaultCredentialsProvider\n"
            "initialPositionInStream = TRIM_HORIZON\n"
            f"regionName = {REGION}\n"
            f"retrievalMode = {mode}\n"
        )
        (jars,) = kcl.parent.glob("lib/python3*/site-packages/amazon_kclpy/jars")
        daemon = ["-cp", f"{jars}/*", "software.amazon.kinesis.multilang.MultiLangDaemon"]
        self.process = subprocess.Popen(
            [java(), "-Xmx256m", *daemon, "--properties-file", properties],
            env={**sandbox.environment, "AWS_ACCESS_KEY_ID": self.key},
            cwd=folder,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    @property
    def notes(self) -> list[dict[str, Any]]:
        if not self._notes.exists():
            return []
        return [json.loads(line) for line in self._notes.read_text().splitlines()]

    @property
    def ended(self) -> set[str]:
        return {note["shard"] for note in self.notes if note["event"] == "end"}

    @property
    def processed(self) -> set[str]:
        return {data for note in self.notes for data in note.get("data", ())}

    def close(self) -> None:
        self.process.kill()
        self.process.wait(60)
        self._log.close()

    def tail(self) -> str:
        return Path(self._log.name).read_text(errors="replace")[-4000:]


class Run(NamedTuple):
    """What was sent, which shard came from which, who read it, and what the diagnosis says.

    ``struck`` counts the reads that each fault struck.
    """

    sent: set[str]
    parents: dict[str, set[str]]
    applications: dict[str, Application]
    diagnosis: Diagnosis
    struck: dict[str, int]


def java() -> str:
    found = shutil.which("java")
    if found is None:
        pytest.skip("java is not installed: the KCL needs one (make setup gets one)")
    return found


def put_round(kinesis: KinesisClient, number: int) -> set[str]:
    """Forty records with keys all over the hash range; what they hold."""
    data = {f"{number}-{i}" for i in range(40)}
    answer = kinesis.put_records(
        StreamName=STREAM, Records=[{"Data": one.encode(), "PartitionKey": one} for one in data]
    )
    assert answer["FailedRecordCount"] == 0
    return data


def middle(shard: dict[str, Any]) -> str:
    hashes = shard["HashKeyRange"]
    return str((int(hashes["StartingHashKey"]) + int(hashes["EndingHashKey"])) // 2)


def reshard(kinesis: KinesisClient) -> None:
    """Two splits and a merge."""
    first, second, third, fourth, *_ = kinesis.list_shards(StreamName=STREAM)["Shards"]
    for shard in (first, second):
        kinesis.split_shard(
            StreamName=STREAM, ShardToSplit=shard["ShardId"], NewStartingHashKey=middle(shard)
        )
    kinesis.merge_shards(
        StreamName=STREAM, ShardToMerge=third["ShardId"], AdjacentShardToMerge=fourth["ShardId"]
    )


class Watch:
    """Waits for processes outside, which have no event to wait for: looks once a second, within one bound."""

    def __init__(self, applications: Iterable[Application]) -> None:
        self._applications = list(applications)
        self._pause = threading.Event()
        self._left = BOUND_SECONDS

    def until_processed(self, wanted: set[str]) -> None:
        """Return when every application has processed what is wanted, has died, or the bound is reached."""
        while self._left and any(app.processed != wanted for app in self._applications):
            if any(app.process.poll() is not None for app in self._applications):
                return
            self._pause.wait(1)
            self._left -= 1


@pytest.fixture(scope="module")
def run(
    sandbox: Sandbox, kinesis: KinesisClient, kcl: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Run]:
    """Both applications at once over one stream that is written to, resharded and struck while they read."""
    folder = tmp_path_factory.mktemp("kcl")
    kinesis.create_stream(StreamName=STREAM, ShardCount=SHARDS)
    sent = put_round(kinesis, 0)
    with ExitStack() as stack:
        control = stack.enter_context(Client(sandbox.control))
        applications = {
            mode: stack.enter_context(closing(Application(mode, folder, sandbox, kcl))) for mode in MODES
        }
        watch = Watch(applications.values())
        watch.until_processed(sent)
        for type_, limit in FAULTS.items():
            control.add_fault(NewFault(type_, name=type_, channel=STREAM, direction="deliver", limit=limit))
        for number in range(1, ROUNDS):
            sent |= put_round(kinesis, number)
            if number == ROUNDS // 2:
                reshard(kinesis)
        shards = kinesis.list_shards(StreamName=STREAM)["Shards"]
        watch.until_processed(sent)
        while not (diagnosis := control.diagnosis(stream=STREAM, later=PATIENCE_SECONDS)).complete:
            pass
        struck = {each.name: each.injected for each in control.faults()}
        come_from = {shard["ShardId"]: parents(shard) for shard in shards}
        yield Run(sent, come_from, applications, diagnosis, struck)


def parents(shard: dict[str, Any]) -> set[str]:
    return {shard[name] for name in ("ParentShardId", "AdjacentParentShardId") if name in shard}


@pytest.mark.parametrize("mode", MODES)
def test_every_record_is_processed_parents_before_children(run: Run, mode: str) -> None:
    """Eight leases, two splits and a merge: nothing missing, no child begins before its parents end."""
    application = run.applications[mode]
    assert application.processed == run.sent, application.tail()
    assert len(run.parents) == SHARDS + 5
    ended: set[str] = set()
    for note in application.notes:
        if note["event"] == "end":
            ended.add(note["shard"])
        elif note["event"] == "begin":
            assert run.parents[note["shard"]] <= ended, f"{note['shard']} began before its parents ended"
    assert len(ended) == 4


def test_the_diagnosis_finds_nothing_wrong(run: Run) -> None:
    """Faults, splits and a merge are no mistakes of the KCL's, whose worker is one client."""
    assert run.struck == FAULTS
    polling = run.applications["POLLING"].key
    assert len([each for each in run.diagnosis.clients if each.access_key == polling]) == 1
    looked = {each.rule for each in run.diagnosis.rules if each.looked}
    assert {"unread-child", "child-before-parent"} <= looked
    assert [each.said for each in run.diagnosis.findings] == []
