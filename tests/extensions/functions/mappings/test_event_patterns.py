"""Filter patterns: the comparisons that Lambda documents, and what is no pattern."""

from __future__ import annotations

import json

import pytest

from extensions.functions.engine.errors import BadValueError
from extensions.functions.mappings.event_patterns import matches, read_pattern

EVENT = {
    "data": {"kind": "reading", "n": 7, "tags": ["x", "y"], "none": None, "empty": ""},
    "partitionKey": "k",
}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"data": {"kind": ["reading"]}}, True),
        ({"data": {"kind": ["other", "reading"]}}, True),
        ({"data": {"kind": ["other"]}}, False),
        ({"partitionKey": ["k"], "data": {"n": [7]}}, True),
        ({"partitionKey": ["l"], "data": {"n": [7]}}, False),
        ({"data": {"n": [7.0]}}, True),
        ({"data": {"n": ["7"]}}, False),
        ({"data": {"n": [{"numeric": [">", 5, "<=", 7]}]}}, True),
        ({"data": {"n": [{"numeric": ["<", 7]}]}}, False),
        ({"data": {"kind": [{"prefix": "read"}]}}, True),
        ({"data": {"kind": [{"suffix": "ing"}]}}, True),
        ({"data": {"kind": [{"equals-ignore-case": "READING"}]}}, True),
        ({"data": {"kind": [{"anything-but": ["reading"]}]}}, False),
        ({"data": {"kind": [{"anything-but": ["other"]}]}}, True),
        ({"data": {"kind": [{"anything-but": {"prefix": "oth"}}]}}, True),
        ({"data": {"missing": [{"exists": False}]}}, True),
        ({"data": {"kind": [{"exists": True}]}}, True),
        ({"data": {"missing": [{"exists": True}]}}, False),
        ({"data": {"missing": [{"anything-but": ["x"]}]}}, False),
        ({"data": {"none": [None]}}, True),
        ({"data": {"empty": [""]}}, True),
        ({"data": {"tags": ["y"]}}, True),
        ({"$or": [{"partitionKey": ["l"]}, {"data": {"n": [7]}}]}, True),
        ({"kind": {"deep": ["x"]}}, False),
    ],
)
def test_a_pattern_is_met_as_documented(pattern: dict[str, object], expected: bool) -> None:
    """AWS Lambda's guide, "Filter rule syntax"."""
    assert matches(read_pattern(json.dumps(pattern)), EVENT) is expected


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"a": "b"}', '{"a": []}', '{"a": [{"numeric": [">"]}]}', '{"a": [{"what": 1}]}',
     '{"a": [{"exists": "yes"}]}', '{"$or": [{"a": ["b"]}]}', '{"a": [["b"]]}'],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(text: str) -> None:
    """When the mapping is made, and not by its first record."""
    with pytest.raises(BadValueError, match="Invalid filter pattern"):
        read_pattern(text)
