"""What is written about the pipeline's tables is what their schemas say."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from sandbox.pipeline.reports.database import open_database
from sandbox.pipeline.storage.files import BatchAttempt, write_here
from sandbox.pipeline.storage.schema import TABLES, arrow_schema
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import Commit, Tables
from tests.docs.tables_page import PAGE, QUESTIONS, page


def test_the_page_is_made_of_the_schemas() -> None:
    """When this fails: python -m tests.docs.tables_page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_column_has_a_meaning_and_every_key_is_of_columns() -> None:
    for table in TABLES.values():
        names = [column.name for column in table.stored]
        assert {*table.key} <= {*names}
        assert len({*names}) == len(names)
        assert all(column.meaning for column in table.stored)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_of_the_page_is_answered(tmp_path: Path, question: str) -> None:
    """Also over tables without rows."""
    tables = Tables(TableStorage.at(tmp_path))
    tables.prepare()
    with open_database(tables) as database:
        found = database.sql(QUESTIONS[question])
        assert isinstance(found, duckdb.DuckDBPyRelation)
        assert found.fetchall() == []


def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells, in order, over tables of a batch with two messages and a reject."""
    monkeypatch.chdir(tmp_path)
    tables = Tables(TableStorage.at("runs/pipeline"))
    tables.prepare()
    attempt, files, now = BatchAttempt(tables.place, 0, "t"), [], datetime(2026, 11, 21, 8, tzinfo=UTC)
    for table, numbers in {"arrivals": (1, 2, 3), "messages": (1, 2), "rejects": (3,)}.items():
        record = {
            "stream": "input",
            "shard": "s",
            "message_type": "MetadataCreate",
            "arrived": now,
            "published": now,
        }
        rows = [
            record
            | {
                "sequence_number": str(n),
                "message_id": f"m{n}",
                "size": n,
                "data": b"{}",
                "code": "GENERR007",
            }
            for n in numbers
        ]
        files += write_here(pa.Table.from_pylist(rows, schema=arrow_schema(table)), table, attempt)
    tables.commit(Commit(0, "run", None, tuple(files)))
    cells = json.loads(PAGE.with_name("tables.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "tables.ipynb", "exec"), names)
    assert len(names["frame"]) == 2
    assert dict(names["codes"].itertuples(index=False)) == {"GENERR007": 1}
    assert names["largest"].message_id.tolist() == ["m2", "m1"]
    assert names["arrivals"].version() == 1
