"""Messages to a file and back, and sent again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdss_sandbox.files.ndjson import as_line, from_lines
from rdss_sandbox.shapes.messages import MessageDetail
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.tui.canned import NOON, Canned, row
from tui.state import transfer
from tui.text.difference import difference, lines_of
from tui.text.message_trace import trace_of


def detail(data: bytes, **changes: Any) -> MessageDetail:
    """A message of these bytes as the control API shows it."""
    try:
        message = json.loads(data)
        header, body, code = (
            message["messageHeader"],
            message["messageBody"],
            message["messageHeader"].get("errorCode"),
        )
    except (ValueError, TypeError, KeyError):
        header = body = code = None
    shown = row(1)
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__} | {"code": code, "time": NOON}
    return MessageDetail(**(fields | changes), header=header, body=body, raw=data.decode(errors="replace"))


@given(
    st.binary(max_size=200)
    | st.text().map(str.encode)
    | st.recursive(st.integers(), st.lists).map(lambda x: json.dumps(x, indent=1).encode())
)
def test_any_message_survives_a_line(data: bytes) -> None:
    """What is exported is imported as the same bytes; JSON over several lines as the same JSON on one."""
    line = as_line(data)
    assert "\n" not in line
    (back,) = from_lines(line)
    try:
        meant = json.loads(data)
    except ValueError:
        assert back == data
    else:
        assert json.loads(back) == meant


def test_a_file_with_a_bad_line_is_refused_whole() -> None:
    """The line is named and nothing is sent, so that a file is never half imported."""
    with pytest.raises(ValueError, match="line 2 is not a message"):
        list(from_lines('{"a": 1}\n{broken\n{"b": 2}\n'))


async def test_an_export_holds_every_match(tmp_path: Path, canned: Canned) -> None:
    """More messages than a page, filtered as the list is, and nothing but whole lines."""
    canned.arrive(700)
    said = await transfer.export(canned, "stream:input", tmp_path / "out.ndjson")  # type: ignore[arg-type]
    lines = (tmp_path / "out.ndjson").read_text().splitlines()
    assert len(lines) == sum(each.stream == "input" for each in canned.rows)
    assert f"{len(lines):,} messages" in said
    assert not (tmp_path / f"out.ndjson.{os.getpid()}.draft").exists()


def test_the_way_is_in_the_order_of_time() -> None:
    """Published, machines on the way, streams and events, oldest first, whatever the header holds."""
    header = {
        "generator": "g",
        "messageTimings": {"publishedTimestamp": "2026-05-28T20:26:39Z", "expirationTimestamp": "not a time"},
        "messageHistory": [
            {"machineId": "m", "machineAddress": "a", "timestamp": "2026-05-28T20:26:39.5Z"},
            7,
        ],
    }
    data = json.dumps({"messageHeader": header, "messageBody": {}}).encode()
    events = ({"id": 1, "time": NOON + 1, "kind": "fault.injected", "fault": "latency"},)
    hops = trace_of(detail(data, events=events))
    assert [hop.place for hop in hops] == ["published", "m", row(1).stream, "fault injected"]
    assert hops == sorted(hops, key=lambda hop: hop.at)


def test_a_difference_shows_the_lines_that_changed() -> None:
    """A field with another value is one line less and one more; equal messages differ in nothing."""
    first, second = Samples(1).message(), Samples(1).message()
    second["messageHeader"]["generator"] = "another"
    found = difference(lines_of(detail(serialise(first))), lines_of(detail(serialise(second))))
    assert [line for line in found if line[0] == "+"] == ['+     "generator": "another",']
    assert sum(line[0] == "-" for line in found) == 1
    same = lines_of(detail(serialise(first)))
    assert difference(same, same) == []
