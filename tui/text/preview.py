"""The content of an object as lines: indented JSON, rows of NDJSON, schema and first rows of Parquet."""

from __future__ import annotations

import io
import json
from importlib.util import find_spec
from typing import NamedTuple

from rdss_sandbox.machine.installation import how_to_add
from rdss_sandbox.text.figures import counted
from tui.text.pretty import pretty, wrap

_WIDTH = 400
_ROWS = 100
_HEX_BYTES = 4096


class Preview(NamedTuple):
    """The ``kind`` of content, the ``lines`` to show, and whether these are ``json``."""

    kind: str
    lines: list[str]
    json: bool


def preview(key: str, data: bytes) -> Preview:
    """The preview of an object. It never raises for bad content; other bytes are shown in hex."""
    if key.endswith(".parquet") or data[:4] == b"PAR1":
        return Preview("Parquet", _parquet(data), json=False)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Preview("bytes", _hex(data[:_HEX_BYTES]), json=False)
    try:
        return Preview("JSON", pretty(json.loads(text)), json=True)
    except ValueError:
        pass
    rows = text.rstrip("\n").split("\n")
    if rows and all(_is_json(row) for row in rows[:_ROWS]):
        return Preview(f"NDJSON, {counted(len(rows), 'row')}", rows, json=True)
    return Preview("text", wrap(text, _WIDTH), json=False)


def _is_json(row: str) -> bool:
    try:
        json.loads(row)
    except ValueError:
        return False
    return True


def _parquet(data: bytes) -> list[str]:
    if find_spec("pyarrow") is None:
        return [f"reading Parquet needs pyarrow; get it with: {how_to_add('pipeline')}"]
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(data))
        first = next(file.iter_batches(batch_size=_ROWS), None)
    except (pa.ArrowException, OSError) as error:
        return [f"not readable as Parquet: {error}"]
    schema = [f"{field.name}: {field.type}" for field in file.schema_arrow]
    rows = [json.dumps(row, default=str, ensure_ascii=False) for row in first.to_pylist()] if first else []
    return [counted(file.metadata.num_rows, "row"), "", *schema, "", *rows]


def _hex(data: bytes) -> list[str]:
    return [f"{place:08x}  {data[place : place + 16].hex(' ')}" for place in range(0, len(data), 16)]
