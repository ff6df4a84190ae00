"""The page of the pipeline's tables, made of their schemas.

``python -m tests.docs.tables_page`` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox.pipeline.storage.schema import TABLES, Column, Table

PAGE: Final = Path(__file__).parents[2] / "docs/tables.md"

QUESTIONS: Final = {
    "Which error codes are there, and what did the first message of each say?": """\
SELECT code, count(*) AS rejects, min_by(message_id, arrived) AS first, min_by(description, arrived) AS why
FROM rejects GROUP BY code ORDER BY rejects DESC""",
    "How long do messages take from published to arrived, by type?": """\
SELECT message_type, count(*) AS messages,
       quantile_disc(epoch_ms(arrived) - epoch_ms(published), [0.5, 0.95, 0.99]) AS p50_p95_p99_ms
FROM messages GROUP BY message_type ORDER BY messages DESC""",
    "Which messages arrived most often, and when did the copies come?": """\
SELECT message_id, count(*) AS copies, min(arrived) AS first_copy, max(arrived) AS last_copy
FROM duplicates GROUP BY message_id ORDER BY copies DESC LIMIT 10""",
    "Which sequences wait for parts, and for which?": """\
SELECT stream, sequence, max(total) AS total, min(arrived) AS since,
       list_filter(range(1, max(total) + 1), lambda n: NOT list_contains(list(position), n)) AS lacking
FROM parts ANTI JOIN sequences USING (stream, sequence)
GROUP BY stream, sequence ORDER BY since""",
    "What does each tenant send in a minute, and how slow is it?": """\
SELECT tenant, minute, sum(messages) AS messages, sum(bytes) AS bytes,
       sum(latency_sum) / sum(latency_count) AS mean_ms, max(latency_max) AS longest_ms
FROM figures WHERE outcome IN ('messages', 'parts')
GROUP BY tenant, minute ORDER BY minute, messages DESC""",
}
"""Questions that people ask, and the SQL of DuckDB that answers them."""

_TEXT: Final = """\
# Tables of the pipeline

Nine [Delta Lake](https://delta.io) tables, each a folder of the place that `sandbox pipeline run --to` names.
An AsyncAPI document has a [table for each message](asyncapi.md#what-the-sandbox-makes-of-it) besides.
All are there from the first run on, empty ones too. What reads Delta reads them: DuckDB, delta-rs, polars,
pandas, Spark with Delta's jar. [The pipeline](pipeline.md) says how they come about.

<!-- made of the schemas: python -m tests.docs.tables_page -->

Times are UTC, with microseconds. A column may be null unless it is part of the key. A release may add
columns, and the next run adds them to tables that are there; none is removed, renamed or given another
type. `batch` is the number of the batch that wrote a row.

{summary}

## Questions

<!-- slow: Spark -->
<!-- given:
sandbox up
sandbox message sample --count 20 | sandbox send -
sandbox pipeline run
-->
```sh
{questions}
```

In Python, without a server and without Java:

<!-- not run: it needs tables; the notebook has the same, and tests/docs/test_tables_page.py runs that -->
```python
from rdss_sandbox.tables import read_table

messages = read_table("runs/pipeline", "messages", columns=["message_type", "arrived"])  # Arrow
frame = messages.to_pandas()  # or polars.from_arrow(messages)
```

A [notebook](tables.ipynb) goes through the tables of a run.

{tables}"""


def page() -> str:
    """The page as it should be."""
    return _TEXT.format(
        summary="\n".join(_summary()), questions="\n\n".join(_questions()), tables="\n".join(_tables())
    )


def _summary() -> Iterator[str]:
    yield "| table | a row is | key |\n|---|---|---|"
    for name, table in TABLES.items():
        yield f"| [`{name}`](#{name}) | {table.row} | {_key(table)} |"


def _key(table: Table) -> str:
    return ", ".join(f"`{column}`" for column in table.key)


def _questions() -> Iterator[str]:
    for question, sql in QUESTIONS.items():
        yield f'# {question}\nsandbox pipeline query "\n{sql}"'


def _tables() -> Iterator[str]:
    for name, table in TABLES.items():
        yield f"## {name}\n\nA row is {table.row}. Key: {_key(table)}.\n"
        yield "| column | type | unit | meaning |\n|---|---|---|---|"
        yield from map(_row, table.stored)
        yield ""


def _row(column: Column) -> str:
    return f"| `{column.name}` | {column.type} | {column.unit} | {column.meaning} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
