"""Every keyword of draft-07 is drawn, and so is every pattern that a validator takes."""

from __future__ import annotations

from itertools import islice
from random import Random  # noqa: TID251 -- what the maker is handed
from typing import Any, Final

import jsonschema
import pytest

from schemas.asyncapi.json_schemas import compile_schema
from schemas.asyncapi.mutations import list_mutations
from schemas.asyncapi.sample_values import ValueMaker

_SAY_NOTHING: Final = {
    "$id", "$schema", "$comment", "title", "description", "default", "readOnly", "writeOnly", "examples",
    "contentMediaType", "contentEncoding", "definitions",
}  # fmt: skip
"""What no validator asks of a value."""
_TREE: Final = {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/$defs/tree"}}}
KEYWORDS: Final[dict[str, Any]] = {
    "$ref": {"$ref": "#/$defs/named", "$defs": {"named": {"type": "integer"}}},
    "type": {"type": ["boolean", "null"]},
    "enum": {"enum": ["a", 1, None, {"b": [2]}]},
    "const": {"const": {"a": 1}},
    "multipleOf": {"type": "number", "multipleOf": 0.25, "maximum": 9},
    "maximum": {"type": "integer", "maximum": -5},
    "exclusiveMaximum": {"type": "number", "minimum": 1, "exclusiveMaximum": 1.5},
    "minimum": {"type": "integer", "minimum": 7, "maximum": 7},
    "exclusiveMinimum": {"type": "integer", "exclusiveMinimum": 3},
    "maxLength": {"type": "string", "maxLength": 2},
    "minLength": {"type": "string", "minLength": 70},
    "pattern": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"},
    "format": {"type": "string", "format": "date-time"},
    "items": {"type": "array", "minItems": 2, "items": [{"type": "string"}, {"type": "integer"}]},
    "additionalItems": {"type": "array", "minItems": 3, "items": [True], "additionalItems": {"type": "null"}},
    "maxItems": {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
    "minItems": {"type": "array", "items": {"type": "integer"}, "minItems": 4},
    "uniqueItems": {"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": True},
    "contains": {"type": "array", "contains": {"const": "this"}},
    "maxProperties": {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "maxProperties": 1},
    "minProperties": {"type": "object", "minProperties": 3},
    "required": {"type": "object", "required": ["a", "b"]},
    "properties": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
    "patternProperties": {
        "type": "object", "minProperties": 2, "patternProperties": {"^x-": {"type": "integer"}},
        "additionalProperties": False,
    },
    "additionalProperties": {
        "type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"},
    },
    "dependencies": {
        "type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}},
        "dependencies": {"a": ["b"], "b": {"required": ["c"]}},
    },
    "propertyNames": {"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^[a-f]{4}$"}},
    "if": {"type": "integer", "if": {"minimum": 10}, "then": {"multipleOf": 10}},
    "then": {"type": "object", "required": ["k"], "properties": {"k": {"const": 1}},
             "if": {"properties": {"k": {"const": 1}}}, "then": {"required": ["l"]}},
    "else": {"type": "string", "if": {"maxLength": 3}, "then": False, "else": {"maxLength": 9}},
    "allOf": {"allOf": [{"type": "integer", "minimum": 5}, {"maximum": 6}]},
    "anyOf": {"anyOf": [{"type": "integer", "minimum": 5}, {"type": "string", "maxLength": 3}]},
    "oneOf": {"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "multipleOf": 5}]},
    "not": {"type": "integer", "minimum": 0, "maximum": 5, "not": {"multipleOf": 2}},
}  # fmt: skip
"""A schema for each keyword, with what it needs beside it: hard to meet by chance."""


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_a_value_is_drawn_that_meets_a_keyword(keyword: str) -> None:
    """From every seed, as another validator judges it; and a broken one is judged as that does."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", **KEYWORDS[keyword]}
    ours, other = compile_schema(schema), jsonschema.Draft7Validator(schema)
    maker = ValueMaker(schema)
    for seed in range(40):
        value = maker.draw(Random(seed))
        assert ours.is_valid(value)
        assert other.is_valid(value)
        for mutation in islice(list_mutations(value, schema), 20):
            broken = mutation.apply(value)
            assert mutation.rule == "format" or ours.is_valid(broken) == other.is_valid(broken)


def test_no_keyword_of_draft_7_is_left_out() -> None:
    """By the draft's own list of them."""
    listed = set(jsonschema.Draft7Validator.META_SCHEMA["properties"])
    assert set(KEYWORDS) == listed - _SAY_NOTHING


_PATTERNS: Final = (
    r"^[A-Z]{3}-\d{4}$", r"^(foo|ba[rz])+$", r"^[^a-z]{2,5}$", r"^a*?b+?$", r"\bword\b", r"^(?:ab){2,}$",
    r"^[\d\-_.]+$", r"^\S\s\w\W\D$", r"^.{3,5}$", r"^\x41\u0042$", r"^[\u00e9\u00e8]+$", r"^\/api\/v\d+$",
    r"^$", r"^[a-z]{0}$", r"^\d{1,3}(,\d{3})*$", r"^#([a-f0-9]{6}|[a-f0-9]{3})$", r"^[^\W_]+$",
    r"^(a|b(c|d(e|f)))$", r"^\p{L}+$", r"^\p{Lu}\p{Ll}*$", r"^[\p{L}\p{N} ]+$", r"^\P{L}+$", r"^[^\p{L}]+$",
    r"^\p{Script=Greek}+$", r"^\p{Sc}?\d+$", r"^[\[\]\p{P}]+$",
)  # fmt: skip


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_a_text_is_drawn_that_matches_a_pattern(pattern: str) -> None:
    """All that RE2 has, as JSON Schema writes it: classes, repetitions, groups, properties of Unicode."""
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "string", "pattern": pattern}
    judge, maker = compile_schema(schema), ValueMaker(schema)
    assert all(judge.is_valid(maker.draw(Random(seed))) for seed in range(20))


def test_a_schema_that_refers_to_itself_ends() -> None:
    """Where it may; where it has to go on for ever, that is said."""
    may = {**_TREE, "required": [], "$defs": {"tree": {**_TREE, "required": []}}}
    assert isinstance(ValueMaker(may).draw(Random(1)), dict)
    with pytest.raises(ValueError, match=r"without an end|accepts nothing"):
        ValueMaker({**_TREE, "$defs": {"tree": _TREE}}).draw(Random(1))
