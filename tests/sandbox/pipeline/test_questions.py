"""``sandbox pipeline query``, ``report`` and ``optimize``: without Spark, and without a Java to be found."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from pyarrow import parquet

from sandbox.cli import main
from sandbox.pipeline.reports.charts import duration, round_up
from sandbox.pipeline.spark import java
from sandbox.pipeline.storage.files import BatchAttempt, write_here
from sandbox.pipeline.storage.schema import arrow_schema
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import Commit, Tables

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def _row(number: int, second: float, latency: float = 0.25, **more: Any) -> dict[str, Any]:
    arrived = NOW + timedelta(seconds=second)
    return {
        "stream": "input", "shard": "s", "sequence_number": str(number), "arrived": arrived, "size": 100,
        "identity": f"message {number}", "message_id": f"m{number}", "tenant": 7, "data": b"caf\xc3\xa9",
        "published": arrived - timedelta(seconds=latency), "message_type": "MetadataCreate",
    } | more  # fmt: skip


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables of one batch: messages, a duplicate, rejects, a sequence, and parts of another."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(java, "find", lambda *_: None)
    tables = Tables(TableStorage.at("runs/pipeline"))
    tables.prepare()
    rejects = [_row(n, n, code="GENERR007", description=f"bad {n}") for n in (9, 10)]
    refused = _row(20, 20, sequence="waits", position=1, total=3, code="GENERR003", description="late")
    messages = [_row(n, n, latency=n / 10) for n in range(1, 6)] + [_row(12, 5, published=None)]
    parts = [_row(n, 20, sequence="waits", position=n - 19, total=3) for n in (20, 21)]
    sequence = {"stream": "input", "sequence": "done", "status": "joined", "parts": 2, "total": 2,
                "first_arrived": NOW, "last_arrived": NOW + timedelta(seconds=3)}  # fmt: skip
    rows = {
        "messages": messages, "duplicates": [_row(6, 6, message_id="m1")], "parts": parts,
        "rejects": [*rejects, refused], "sequences": [sequence],
        "arrivals": [*messages, _row(6, 6, message_id="m1"), *rejects, *parts],
    }  # fmt: skip
    files = []
    for table, some in rows.items():
        rows_of = pa.Table.from_pylist(some, schema=arrow_schema(table))
        files += write_here(rows_of, table, BatchAttempt(tables.place, 0, "t"))
    tables.commit(Commit(0, "run", None, tuple(files)))
    return tmp_path


@pytest.fixture
def pipeline(
    written: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """Runs a command of the pipeline in this process; ``said`` is what comes on standard input."""

    def run(*arguments: str, said: str = "") -> Ran:
        monkeypatch.setattr("sys.stdin", io.StringIO(said))
        code = main(["pipeline", *arguments])
        out, err = capfdbinary.readouterr()
        return Ran(code, out.decode("latin-1"), err.decode())

    return run


def test_rows_come_as_a_table_csv_json_or_parquet(pipeline: Callable[..., Ran]) -> None:
    """Each form has every row, times as RFC 3339 and bytes as text."""
    sql = "SELECT message_id, arrived, data FROM rejects WHERE total IS NULL ORDER BY message_id DESC"
    table = pipeline("query", sql)
    assert (table.code, table.err) == (0, "")
    assert [line.split()[0] for line in table.out.splitlines()] == ["message_id", "m9", "m10"]
    rows = [json.loads(line.encode("latin-1")) for line in pipeline("query", sql, "--json").out.splitlines()]
    assert rows[0] == {"message_id": "m9", "arrived": "2026-11-21T08:00:09.000Z", "data": "café"}
    csv = pipeline("query", sql, "--format", "csv").out.encode("latin-1").decode()
    assert csv.splitlines()[:2] == ["message_id,arrived,data", "m9,2026-11-21T08:00:09.000Z,café"]
    raw = pipeline("query", sql, "--format", "parquet").out.encode("latin-1")
    assert parquet.read_table(pa.BufferReader(raw))["message_id"].to_pylist() == ["m9", "m10"]
    assert len(pipeline("query", sql, "--format", "csv", "--limit", "1").out.splitlines()) == 2


def test_a_prompt_answers_statement_after_statement(pipeline: Callable[..., Ran]) -> None:
    """Statements end with a semicolon, an empty line or the input; one that is wrong does not end it."""
    said = "SELECT count(*) AS n\nFROM messages;\nSELEKT;\nSELECT 1 AS one\n\nSELECT 2 AS two"
    ran = pipeline("query", "--json", said=said)
    assert [json.loads(line) for line in ran.out.splitlines()] == [{"n": 6}, {"one": 1}, {"two": 2}]
    assert re.fullmatch(r'sandbox: .*"SELEKT".*\n', ran.err)


def test_sql_sees_tables_and_nothing_of_the_program(pipeline: Callable[..., Ran]) -> None:
    """A name that is no table is an error of one line, also where a variable of ours has that name."""
    ran = pipeline("query", "SELECT * FROM found")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert "found" in ran.err


def test_spark_is_asked_only_where_it_is_wanted(pipeline: Callable[..., Ran]) -> None:
    """Without a Java DuckDB answers, and --engine spark says what it lacks."""
    assert pipeline("query", "SELECT 1").code == 0
    ran = pipeline("query", "SELECT 1", "--engine", "spark")
    assert ran.code == 3
    assert "needs Java 17+" in ran.err


def test_the_report_counts_every_arrival_once_and_shows_the_first_reject_of_a_code(
    pipeline: Callable[..., Ran], written: Path
) -> None:
    """Latency is exact, intervals have no gaps, an open sequence is one, and the page has it all."""
    struck = {"id": 1, "time": NOW.timestamp() + 2, "kind": "fault.injected", "type": "latency"}
    (written / "events.ndjson").write_text(json.dumps(struck | {"message_id": "m5"}))
    ran = pipeline("report", "--json", "--html", "page.html", "--events", "events.ndjson")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found["streams"] == {"input": {"duplicates": 1, "messages": 6, "parts": 2, "rejects": 2}}
    assert found["sequences"] == {"joined": 1, "open": 1}
    assert [(span["sequence"], span["status"], span["parts"]) for span in found["spans"]] == [
        ("done", "joined", 2),
        ("waits", "open", 2),
    ]
    assert [(r["code"], r["message_id"], r["description"]) for r in found["examples"]] == [
        ("GENERR003", "m20", "late"),
        ("GENERR007", "m9", "bad 9"),
    ]
    assert found["interval_seconds"] == 1
    assert [i["start"][17:19] for i in found["intervals"]] == [f"{second:02}" for second in range(1, 21)]
    assert [(i["messages"], i["p50"]) for i in found["intervals"][:5]] == [
        (1, 100), (1, 200), (1, 300), (1, 400), (2, 500),
    ], "a message that does not say when it was published has no latency"  # fmt: skip
    assert found["intervals"][6] == {
        "start": "2026-11-21T08:00:07.000Z", "messages": 0, "duplicates": 0, "rejects": 0, "bytes": 0,
        "p50": None, "p95": None, "faults": {},
    }  # fmt: skip
    (impact,) = found["impact"]
    assert (impact["type"], impact["injected"], impact["arrivals"], impact["p50"]) == ("latency", 1, 1, 500)
    assert impact["p50_others"] == 250
    page = (written / "page.html").read_text()
    for shown in ("Throughput", "Latency by fault: p50", "bad 9", "08:00:01", "500 ms", "2 of 3 parts"):
        assert shown in page


def test_an_axis_ends_at_a_round_number_above_what_it_shows() -> None:
    """No chart is clipped, whatever the largest value is, and a latency is told in a unit that suits."""
    for number in (0, 0.3, 1, 7, 12, 99, 100, 101, 252_000_000_000):
        top = round_up(number)
        assert top >= number
        assert str(int(top)).rstrip("0") in {"1", "2", "5"}
        assert top < 2.5 * max(number, 1)
    assert [duration(ms) for ms in (0, 250, 1500, 90_000, 10_800_000, 388_800_000)] == [
        "0 ms", "250 ms", "1.5 s", "1.5 min", "3 h", "4.5 d",
    ]  # fmt: skip


def test_optimize_says_what_it_did(pipeline: Callable[..., Ran]) -> None:
    """Nothing to join in tables of one batch; nothing is lost."""
    done = json.loads(pipeline("optimize", "--json").out)
    assert done["messages"] == {"before": 1, "now": 1, "removed": 0}
    assert pipeline("optimize").out.splitlines()[0].split() == [
        "table",
        "files",
        "before",
        "files",
        "now",
        "removed",
    ]
    assert json.loads(pipeline("query", "SELECT count(*) AS n FROM arrivals", "--json").out) == {"n": 11}
