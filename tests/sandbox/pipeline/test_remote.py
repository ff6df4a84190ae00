"""``sandbox pipeline --remote``: the same tables, made by PySpark's own Spark Connect server."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from sandbox.pipeline.pipeline_run import Job, ServedBatches
from sandbox.pipeline.spark import java
from sandbox.pipeline.spark.failures import UsageError, describe_failure
from sandbox.pipeline.storage.table_storage import TableStorage
from tests.real_clients.install import SPARK_CONNECT, python_environment
from tests.sandbox.pipeline.workload import INTERPRETED, Endpoint, load
from tests.waiting import wait_until

pytestmark = [
    *(pytest.mark.spark, pytest.mark.real_client, pytest.mark.timeout(400)),
    pytest.mark.xdist_group("spark-connect"),
]

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def variables(credentials: None) -> Mapping[str, str]:
    """What both sides need: Java, this Python, and gRPC from an environment of its own."""
    (packages,) = python_environment("spark-connect", *SPARK_CONNECT).parent.glob("lib/python*/site-packages")
    return {
        **os.environ,
        "JAVA_HOME": str(java.require().home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(packages),
    }


@pytest.fixture
def server(variables: Mapping[str, str], tmp_path: Path) -> Iterator[str]:
    """The URL of a server, which ends with the test."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    settings = {"spark.ui.enabled": "false", "spark.connect.grpc.binding.address": "127.0.0.1"}
    settings |= {"spark.connect.grpc.binding.port": str(port), "spark.driver.memory": "1g"}
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    submit = Path(found.origin).parent / "bin" / "spark-submit"
    command = [submit, "--class", _SERVER, "--master", "local[2]", *options, "spark-internal"]
    with (tmp_path / "server.log").open("wb") as said:
        process = subprocess.Popen(command, env=variables, cwd=tmp_path, stdout=said, stderr=said)

    def listens() -> bool:
        assert process.poll() is None, (tmp_path / "server.log").read_text()
        with socket.socket() as trying:
            return trying.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(listens)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture
def endpoint(credentials: None) -> Iterator[Endpoint]:
    """A sandbox with the streams of RDSS."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        yield Endpoint(emulator)


@pytest.fixture
def pipeline(variables: Mapping[str, str], tmp_path: Path) -> Run:
    """Runs a command of the pipeline in a process that has no Java."""
    own = {name: value for name, value in variables.items() if name != "JAVA_HOME"}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "sandbox", "pipeline", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=own, capture_output=True, text=True, check=False, timeout=300
        )

    return run


def test_a_server_makes_the_tables(server: str, pipeline: Run, endpoint: Endpoint, tmp_path: Path) -> None:
    """Exactly once over two runs, with duplicates and sequences; another checkpoint is refused in a line."""
    sent = load(seed=11, messages=40, sequences=1)
    quick = [word for name, value in INTERPRETED.items() for word in ("--conf", f"{name}={value}")]
    there = ("--remote", server, "--endpoint", endpoint.url, *quick)
    endpoint.put("input", sent.records[:30])
    first = pipeline("run", "--to", "tables", "--json", *there)
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout)["arrivals"] == 30
    endpoint.put("input", sent.records[30:])
    second = pipeline("run", "--to", "tables", "--json", *there)
    assert second.returncode == 0, second.stderr
    rows = json.loads(second.stdout)
    assert (rows["arrivals"], rows["messages"]) == (len(sent.records), 40)
    assert (rows["rejects"], rows["duplicates"]) == (len(sent.bad), sent.duplicates)
    assert rows["sequences"] == len(sent.joined)
    asked = ("query", "SELECT count(DISTINCT message_id) AS n FROM messages", "--engine", "spark", "--json")
    assert json.loads(pipeline(*asked, "--at", "tables", *there).stdout) == {"n": 40}
    other = pipeline("run", "--to", "tables", "--checkpoint", str(tmp_path / "other"), *there)
    assert other.returncode == 2, other.stderr
    assert "were written with another checkpoint" in other.stderr


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("sc://127.0.0.1:1", 3, "no Spark Connect server answers at sc://127.0.0.1:1: Connection refused"),
        ("127.0.0.1:15002", 2, "127.0.0.1:15002 is no Spark Connect server"),
        ("sc://127.0.0.1:port", 2, "sc://127.0.0.1:port is no Spark Connect server"),
    ],
)
def test_what_is_no_server_is_told_in_seconds(
    pipeline: Run, endpoint: Endpoint, url: str, code: int, said: str
) -> None:
    """PySpark by itself would try for ten minutes."""
    ran = pipeline("run", "--to", "tables", "--remote", url, "--endpoint", endpoint.url)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_server_that_does_not_see_the_tables_says_so(tmp_path: Path) -> None:
    """A folder of this machine is none of another's; what the server raises there is told as it is."""
    served = ServedBatches(Job(TableStorage.at(tmp_path / "here")), "token", lambda batches: batches)
    with pytest.raises(UsageError, match=r"the Spark Connect server does not see .*/here") as raised:
        served(None, 0)  # type: ignore[arg-type]
    told = describe_failure(
        RuntimeError(f"[PYTHON_EXCEPTION] sandbox.failures.UsageError: {raised.value}\n at")
    )
    assert isinstance(told, UsageError)
    assert str(told) == str(raised.value)
