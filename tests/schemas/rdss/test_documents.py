"""What is found in files: whole messages, one a line, headers and bodies alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.json_texts import documents
from schemas.rdss.contract import RDSS
from schemas.rdss.documents import kind_of
from schemas.rdss.samples import Samples


def found(data: bytes) -> list[tuple[int | None, bytes]]:
    return [(each.line, each.raw) for each in documents("file", data.splitlines(keepends=True))]


def test_a_whole_file_is_one_document() -> None:
    """Written over many lines or in one, with or without an end of line."""
    assert found(b'{\n "a": 1\n}\n') == [(None, b'{\n "a": 1\n}')]
    assert found(b'{"a": 1}') == [(None, b'{"a": 1}')]
    assert found(b'\n\n{"a": 1}\n\n') == [(None, b'{"a": 1}')]


def test_lines_of_json_are_a_document_each() -> None:
    """Numbered as an editor numbers them; empty lines count but are none, bad lines are documents too."""
    assert found(b'{"a": 1}\n\nbad\n{"b": 2}\n') == [(1, b'{"a": 1}'), (3, b"bad"), (4, b'{"b": 2}')]


def test_a_bad_first_line_does_not_hide_the_others() -> None:
    """One line of JSON is enough to read the file line by line."""
    assert found(b'bad\n{"b": 2}\n') == [(1, b"bad"), (2, b'{"b": 2}')]


def test_what_is_no_json_at_all_is_one_malformed_document() -> None:
    """And an empty file is one that is empty."""
    assert found(b"neither\nnor\n") == [(None, b"neither\nnor")]
    assert found(b"") == [(None, b"")]


def test_lines_are_given_out_as_they_come() -> None:
    """A stream that never ends is judged line by line, not gathered."""

    def endless() -> Iterator[bytes]:
        while True:
            yield b'{"a": 1}\n'

    taken = documents("-", endless())
    assert [next(taken).line for _ in range(3)] == [1, 2, 3]


@given(st.binary(max_size=200))
def test_any_bytes_are_judged(data: bytes) -> None:
    """Whatever a file holds, there is a verdict and no error."""
    for each in documents("file", data.splitlines(keepends=True)):
        verdict = RDSS.documents.judge(each.raw)
        assert verdict.valid == (verdict.code is None)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"messageHeader": {}, "messageBody": {}}, "message"),
        ({"messageBody": {}}, "message"),
        ({"messageId": "x"}, "header"),
        ({"objectUUID": "x"}, "body"),
        ({"packageUUID": "x"}, "body"),
        ({}, "message"),
        ([], "message"),
        (None, "message"),
    ],
)
def test_a_document_tells_what_it_is(value: Any, kind: str) -> None:
    """By the fields that only it has."""
    assert kind_of(value) == kind


def test_a_part_alone_is_judged_by_its_own_rules() -> None:
    """A header with its sequence, a body with its type; the other half is not held against it."""
    for message in Samples(3).stream(60):
        for part in ("messageHeader", "messageBody"):
            assert RDSS.documents.judge(json.dumps(message[part]).encode()).valid


def test_violations_of_a_part_have_paths_in_that_part() -> None:
    """The path is in the file that was given."""
    message = Samples(3).message("MetadataCreate", "dataset")
    header = message["messageHeader"] | {"messageId": "no uuid"}
    body = message["messageBody"] | {"objectTitle": 5}

    in_header = RDSS.documents.judge(json.dumps(header).encode())
    in_body = RDSS.documents.judge(json.dumps(body).encode())
    assert (in_header.code, [v.path for v in in_header.violations]) == ("GENERR010", ["/messageId"])
    assert (in_body.code, [v.path for v in in_body.violations]) == ("GENERR001", ["/objectTitle"])


def test_a_header_of_a_sequence_and_one_of_an_unknown_type() -> None:
    """A part's header is valid without its body; an unknown messageType is GENERR002."""
    header = Samples(3).message("MetadataCreate")["messageHeader"]
    part = header | {"messageSequence": {**header["messageSequence"], "total": 3}}

    assert RDSS.documents.judge(json.dumps(part).encode()).valid
    assert RDSS.documents.judge(json.dumps(header | {"messageType": "Letter"}).encode()).code == "GENERR002"
