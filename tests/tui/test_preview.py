"""Objects of buckets: folders and what is in them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdss_sandbox.shapes.buckets import ObjectRow
from tui.text.folders import above, level
from tui.text.preview import preview


def test_keys_are_shown_as_folders() -> None:
    """One level at a time, with how many objects and bytes are below; folders before objects."""
    objects = [ObjectRow(key, 10, 5.0) for key in ("a/b/1", "a/b/2", "a/3", "z")]
    assert [(e.name, e.objects, e.size) for e in level(objects, "")] == [("a", 3, 30), ("z", 0, 10)]
    assert [(e.name, e.key) for e in level(objects, "a/")] == [("b", "a/b/"), ("3", "a/3")]
    assert [above(prefix) for prefix in ("a/b/", "a/", "")] == ["a/", "", ""]


@pytest.mark.parametrize(
    ("key", "data", "kind", "line"),
    [
        ("x.json", b'{"a": [1]}', "JSON", "{"),
        ("x.ndjson", b'{"a": 1}\n{"a": 2}\n', "NDJSON, 2 rows", '{"a": 1}'),
        ("x.txt", "zwölf\n".encode(), "text", "zwölf"),
        ("x.bin", b"\xff\x00\x10", "bytes", "00000000  ff 00 10"),
        ("x.parquet", b"PAR1 but not really", "Parquet", "not readable as Parquet"),
    ],
)
def test_a_preview_knows_the_kind(key: str, data: bytes, kind: str, line: str) -> None:
    """JSON is laid out, NDJSON stays a row a line, bytes are shown in hex, damage is said."""
    shown = preview(key, data)
    assert shown.kind == kind
    assert shown.lines[0].startswith(line)


def test_parquet_shows_its_schema_and_rows() -> None:
    """How many rows, the columns with their types, then the first rows."""
    pyarrow = pytest.importorskip("pyarrow", reason="the pipeline extra is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="the pipeline extra is not installed")
    target = io.BytesIO()
    parquet.write_table(pyarrow.table({"n": [1, 2], "s": ["a", None]}), target)
    lines = preview("t.parquet", target.getvalue()).lines
    assert lines == ["2 rows", "", "n: int64", "s: string", "", '{"n": 1, "s": "a"}', '{"n": 2, "s": null}']


@given(st.sampled_from(["a.json", "a.ndjson", "a.parquet", "a"]), st.binary(max_size=300))
def test_no_object_is_too_broken_to_look_at(key: str, data: bytes) -> None:
    """Any bytes under any name give some lines."""
    assert preview(key, data).lines
