"""``sandbox pipeline`` as a person types it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from emulator.assembly.embedded import embedded
from emulator.clock import Clock, stopwatch
from emulator.settings.settings import Settings
from sandbox.cli import main
from sandbox.pipeline.spark import java
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import Tables
from tests.sandbox.pipeline.workload import Endpoint, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]


class Ran(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def pipeline(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Ran]:
    """Runs a command of the pipeline in this process, in a directory of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ran:
        code = main(["pipeline", *arguments])
        return Ran(code, *capfd.readouterr())

    return run


def test_from_the_audit_log_to_answers(
    spark: SparkSession, pipeline: Callable[..., Ran], tmp_path: Path
) -> None:
    """Tables of the audit log, SQL over them, a page, and a reconciliation with the streams that is exact."""
    sent = load(seed=11, messages=40, sequences=1)
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        Endpoint(emulator).put("input", sent.records)
        asyncio.run(emulator.components.archives.drain())
        here = ("--control", emulator.control)
        run = pipeline("run", "--from", "audit", "--to", "tables", "--json", *here)
        assert run.code == 0, run.err
        rows = json.loads(run.out)
        assert (rows["arrivals"], rows["messages"], rows["rejects"]) == (len(sent.records), 40, len(sent.bad))
        exact = pipeline("reconcile", "--at", "tables", "--json", *here)
        assert exact.code == 0, exact.out
        assert json.loads(exact.out)["dispatched"] == len(sent.records)
        Endpoint(emulator).put("input", [b"one more"])
        lacking = pipeline("reconcile", "--at", "tables", *here)
        assert lacking.code == 1
        assert "not in" in lacking.out
    asked = pipeline("query", "SELECT count(*) AS n FROM messages", "--at", "tables", "--json")
    assert json.loads(asked.out) == {"n": 40}
    told = '{"id":1,"time":1.5,"kind":"fault.injected","type":"reshard","message_id":null}'
    (tmp_path / "events.ndjson").write_text(f"{told}\n")
    reported = pipeline("report", "--at", "tables", "--html", "page.html", "--events", "events.ndjson")
    assert reported.code == 0
    assert re.search(r"^reshard +1 +0 ", reported.out, re.MULTILINE)
    assert "What the faults did" in (tmp_path / "page.html").read_text()
    assert "GENERR007" in reported.out
    assert "<svg" in (tmp_path / "page.html").read_text()
    wrong = pipeline("query", "SELEKT 1", "--at", "tables")
    assert wrong.code == 2
    assert "SELEKT" in wrong.err
    assert "Traceback" not in wrong.err


def test_following_takes_in_what_comes_until_interrupted(
    spark: SparkSession, pipeline: Callable[..., Ran], endpoint: Endpoint, tmp_path: Path
) -> None:
    """``--follow`` goes on while records come, also behind a split; Ctrl-C ends it with all of them in."""
    stream, sent = endpoint.stream(), load(seed=12, messages=20, sequences=1)
    half = len(sent.records) // 2
    endpoint.put(stream, sent.records[:half])

    def arrived(place: TableStorage) -> int:
        log = Tables(place).log("arrivals")
        return sum(file.rows for file in log.files()) if log.exists else 0

    def person() -> None:
        clock, place = Clock(), TableStorage.at(tmp_path / "tables")
        while (there := arrived(place)) < len(sent.records):
            if there == half and len(endpoint.shards(stream)) == 1:
                endpoint.client("kinesis").split_shard(
                    StreamName=stream, ShardToSplit="shardId-000000000000", NewStartingHashKey=str(2**127)
                )
                endpoint.put(stream, sent.records[half:])
            clock.wait(0.2)
        os.kill(os.getpid(), signal.SIGINT)

    at_the_keyboard = threading.Thread(target=person, daemon=True)
    at_the_keyboard.start()
    before = signal.getsignal(signal.SIGINT)
    ran = pipeline(
        "run", "--follow", "--streams", stream, "--to", "tables", "--endpoint", endpoint.url, "--json"
    )
    at_the_keyboard.join()
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)
    assert (rows["arrivals"], rows["messages"], rows["sequences"]) == (len(sent.records), 20, 1)
    assert rows["objects"] > 0
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("how", ["--once", "--follow"])
def test_ctrl_c_while_spark_starts_ends_the_run(how: str, endpoint: Endpoint, tmp_path: Path) -> None:
    """Whoever thinks better of it at once waits for no table, and sees no traceback."""
    # A stream that is there: without one the run may end by itself before it is told to.
    of = ["--streams", endpoint.stream(), "--endpoint", endpoint.url]
    command = [sys.executable, "-m", "sandbox", "pipeline", "run", how, *of]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr
        while "incubator" not in (line := run.stderr.readline()):  # the first word of the JVM
            assert line, "Spark's JVM said nothing"
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
    assert (run.returncode, said.rstrip().splitlines()[-1]) == (130, "sandbox: stopped")
    assert "Traceback" not in said
    assert not (tmp_path / "runs").exists()


def test_without_tables_one_line_says_how_to_get_some(pipeline: Callable[..., Ran]) -> None:
    """A place without tables is a mistake of usage, not a crash."""
    ran = pipeline("query", "SELECT 1", "--at", "nowhere")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.strip() == (
        "sandbox: there are no tables in nowhere; write some with: sandbox pipeline run --to nowhere"
    )


def test_without_java_one_line_and_exit_code_3(
    pipeline: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no Java the environment is at fault, and the line says what to do."""
    monkeypatch.setattr(java, "find", lambda *_: None)
    ran = pipeline("run", "--endpoint", "http://127.0.0.1:1")
    assert ran.code == 3
    assert ran.err.count("\n") == 1
    assert "needs Java 17+" in ran.err


def test_an_endpoint_where_nobody_listens_is_one_line_within_seconds(pipeline: Callable[..., Ran]) -> None:
    """Spark is not started for an endpoint that does not answer: exit code 3, and the address is named."""
    began = stopwatch()
    ran = pipeline("run", "--endpoint", "http://127.0.0.1:1", "--json")
    assert stopwatch() - began < 5
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.count("\n") == 1
    assert "nothing answers at http://127.0.0.1:1" in ran.err
    wrong = pipeline("run", "--endpoint", "nowhere")
    assert (wrong.code, wrong.err.count("\n")) == (3, 1)
    assert "nowhere is not an endpoint" in wrong.err
