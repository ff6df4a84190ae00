"""The compose profile ``pipeline``: the job on a cluster of containers, and the same job on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.topology import Topology
from rdss_sandbox.tables import read_table
from tests.compose.stack import Stack
from tests.compose.test_compose import configured
from tests.sandbox.pipeline.workload import Load, load

pytestmark = [pytest.mark.xdist_group("compose"), pytest.mark.timeout(900)]

STREAM = "for-the-cluster"
COPIES = 3
KEYS = {
    "messages": "identity", "parts": "identity", "duplicates": "identity", "rejects": "identity",
    "sequences": "body_sha256", "objects": "object_uuid", "arrivals": "sequence_number",
}  # fmt: skip
_PAGE = "exec 3<>/dev/tcp/127.0.0.1/8081 && printf 'GET /json/ HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3"


@pytest.mark.compose
def test_a_cluster_is_one_image_locked_down() -> None:
    """Master, two workers, driver: one image, no root, no capabilities, no writing but to /data and /tmp."""
    services = configured("pipeline")["services"]
    spark = {name: services[name] for name in ("spark-master", "spark-worker", "pipeline")}
    assert len({service["image"] for service in spark.values()}) == 1
    assert spark["spark-worker"]["deploy"]["replicas"] == 2
    for service in spark.values():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert service["healthcheck"]["test"]
        written = [volume["target"] for volume in service["volumes"] if not volume.get("read_only")]
        assert written == ["/data"]
        assert "user" not in service, "the image's own, which is not root"


@pytest.fixture
def sent(control: Client, aws: Callable[[str], Any]) -> Load:
    """Messages, sequences and bad ones through the emulator, whose fault has put some of them twice."""
    control.populate(Topology(streams={STREAM: 2}))
    control.add_fault(NewFault("duplicate", name="copies", channel=STREAM, direction="publish", limit=COPIES))
    made, kinesis = load(seed=5, messages=60, sequences=2), aws("kinesis")
    for number, record in enumerate(made.records):
        kinesis.put_record(StreamName=STREAM, Data=record, PartitionKey=str(number))
    assert control.fault("copies").injected == COPIES
    control.remove_fault("copies")
    return made


@pytest.fixture
def cluster(stack: Stack) -> Iterator[Callable[..., str]]:
    """Master and two workers beside the stack: gives what Compose says to a command, with their profile."""

    def compose(*words: str) -> str:
        ran = stack.compose("--profile", "pipeline", *words)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    try:
        yield compose
    finally:
        stack.compose("--profile", "pipeline", "rm", "--stop", "--force", "spark-master", "spark-worker")


@pytest.mark.compose
def test_the_job_on_a_cluster_of_containers_writes_the_same_tables(
    stack: Stack, sent: Load, cluster: Callable[..., str], tmp_path: Path
) -> None:
    """What was put comes out, each once; the job with two threads of this machine makes the same tables."""
    job = ("run", "--once", "--streams", STREAM, "--json")
    here = ("--master", "local[2]", "--to", str(tmp_path / "here"), "--endpoint", stack.said["aws"])
    # The image takes a while where nothing of it is there yet.
    with ThreadPoolExecutor(1) as beside:
        alone = beside.submit(stack.command, "pipeline", *job, *here)
        cluster("build", "pipeline")
        cluster("up", "--detach", "--wait", "spark-worker")
        endpoint = f"http://emulator:{stack.said['aws'].rpartition(':')[2]}"
        rows = json.loads(
            cluster("run", "--rm", "--no-deps", "--no-TTY", "pipeline", *job, "--endpoint", endpoint)
        )
    assert alone.result().returncode == 0, alone.result().stderr
    expected = {
        "arrivals": len(sent.records) + COPIES, "messages": 60, "parts": sent.parts, "queued": 0,
        "duplicates": sent.duplicates + COPIES, "rejects": sent.bad.total(), "sequences": len(sent.joined),
    }  # fmt: skip
    assert {table: rows[table] for table in expected} == expected
    assert rows == json.loads(alone.result().stdout)
    cluster("cp", "spark-worker:/data/runs/pipeline", str(tmp_path / "cluster"))
    assert content(tmp_path / "cluster") == content(tmp_path / "here")
    for worker in ("1", "2"):
        page = cluster("exec", "-T", "--index", worker, "spark-worker", "bash", "-c", _PAGE)
        told = json.loads(page[page.index("{") :])
        assert told["executors"] + told["finishedexecutors"], f"worker {worker} did nothing"


def content(folder: Path) -> dict[str, list[str]]:
    """What tells the rows of each table apart, in order, of the files that belong to the tables."""
    return {
        table: sorted(read_table(folder, table, columns=[key])[key].to_pylist())
        for table, key in KEYS.items()
    }
