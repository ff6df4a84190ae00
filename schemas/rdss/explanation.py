"""The flaws of an instance under a definition: every wrong field with its rule and its value.

``jsonschema`` walks the definition. The keywords below replace its own where these
do not name the field, or read a pattern differently from ECMA-262.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jsonschema
import jsonschema.validators
from jsonschema.exceptions import ValidationError

from schemas.brief import SHOWN, show
from schemas.contract import MOST_FOUND
from schemas.rdss.catalogue import definition, reference
from schemas.rdss.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from schemas.rdss.catalogue import Schema

Path = tuple[str | int, ...]


class Flaw(NamedTuple):
    """One wrong field: its path, the broken rule, the reason, and whether it should be a UUID."""

    path: Path
    rule: str
    message: str
    is_uuid: bool


def flaws(name: str, instance: object, *, formats: bool = True) -> list[Flaw]:
    """List the first ``MOST_FOUND`` flaws of an instance in the definition's order; empty for a valid one.

    Without ``formats``, any text is a time, an email address, a URI and a network address.
    """
    errors = _validator(name, formats=formats).iter_errors(instance)
    return [_flaw(error) for error in islice(errors, MOST_FOUND)]


def _flaw(error: ValidationError) -> Flaw:
    schema = error.schema if isinstance(error.schema, dict) else {}
    title = schema.get("title", "")
    rule = str(error.validator)
    if rule in _EXPLANATIONS:
        message = _EXPLANATIONS[rule](error)
    elif title in _EXPECTED:
        message = f"{show(error.instance)} is not {_EXPECTED[title]}"
        rule = "format" if rule == "anyOf" else rule
    else:
        message = error.message
    rule = "additionalProperties" if rule == "unevaluatedProperties" else rule
    return Flaw(tuple(error.absolute_path), rule, message, is_uuid=title == "UUID")


_EXPECTED: Final = {
    "UUID": "a UUID in lower case of version 1 to 5",
    "SemVer": "a semantic version such as 4.0.0",
    "Timestamp": "an RFC 3339 time with seconds and zone such as 2018-12-11T09:30:00Z",
    "EmailAddress": "an RFC 5322 email address",
    "URI": "an RFC 3986 URI with a scheme",
    "NetworkAddress": "a host name, an IP address or another address of a network",
}
_TYPES: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "an array",
}
_FEW_TERMS: Final = 8


def _explain_type(error: ValidationError) -> str:
    schema = error.schema if isinstance(error.schema, dict) else {}
    expected = _EXPECTED.get(schema.get("title", ""), _TYPES.get(str(error.validator_value), "of the type"))
    return f"{show(error.instance)} is not {expected}"


def _explain_enum(error: ValidationError) -> str:
    schema = error.schema if isinstance(error.schema, dict) else {}
    known = [str(term) for term in schema.get("enum", [])]
    if len(known) <= _FEW_TERMS:
        return f"{show(error.instance)} is not one of {', '.join(known)}"
    near = get_close_matches(str(error.instance)[:SHOWN], known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{show(error.instance)} is none of the {len(known)} terms of {schema.get('title')}{hint}"


_EXPLANATIONS: Final[Mapping[str, Callable[[ValidationError], str]]] = {
    "type": _explain_type,
    "enum": _explain_enum,
    "const": lambda error: f"{show(error.instance)} is not {error.validator_value}",
    "minLength": lambda _: "must not be empty",
    "minItems": lambda _: "needs at least one item",
    "minimum": lambda error: f"{show(error.instance)} is less than {error.validator_value}",
}


def _type(validator: Any, kind: str, instance: Any, _schema: Schema) -> Iterator[ValidationError]:
    """Check ``type`` without the instance in the message: it may be a megabyte, or too deep to print."""
    if not validator.is_type(instance, kind):
        yield ValidationError("is of another type")


def _enum(_validator: Any, known: list[str], instance: Any, _schema: Schema) -> Iterator[ValidationError]:
    if not isinstance(instance, str) or instance not in known:
        yield ValidationError("is not in the list")


def _const(_validator: Any, only: str, instance: Any, _schema: Schema) -> Iterator[ValidationError]:
    if not isinstance(instance, str) or instance != only:
        yield ValidationError("is another value")


def _required(_validator: Any, names: list[str], instance: Any, _schema: Schema) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield ValidationError("is required and missing", path=(name,))


def _closed(_validator: Any, _value: object, instance: Any, schema: Schema) -> Iterator[ValidationError]:
    """Check ``additionalProperties`` and ``unevaluatedProperties``, which are always false here."""
    if isinstance(instance, dict):
        allowed = _fields(schema)
        for name in instance:
            if name not in allowed:
                yield ValidationError("is not a field of this object", path=(name,))


def _fields(schema: Schema) -> set[str]:
    return set(schema.get("properties", ())).union(*(_fields(base) for base in schema.get("allOf", ())))


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Schema) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _ecma(pattern).search(instance):
        yield ValidationError("does not match")


@cache
def _ecma(pattern: str) -> re.Pattern[str]:
    """Compile an ECMA-262 pattern: its ``$`` is only the end; Python's also matches before a line feed."""
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))


def _unique(_validator: Any, _unique: bool, instance: Any, _schema: Schema) -> Iterator[ValidationError]:
    """Check ``uniqueItems`` in linear time: a large message may list thousands of files."""
    if isinstance(instance, list):
        counts: dict[str, int] = {}
        for index, item in enumerate(instance):
            first = counts.setdefault(_canonical(item), index)
            if first != index:
                yield ValidationError(f"repeats item {first}", path=(index,))


def _canonical(value: Any) -> str:
    """A text that is the same for values that JSON Schema calls equal: 1 is 1.0, but true is not 1."""
    try:
        return json.dumps(_integral(value), sort_keys=True)
    except RecursionError:
        return f"nested too deep to compare: {id(value)}"


def _integral(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _integral(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_integral(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _contains(validator: Any, contained: Schema, instance: Any, schema: Schema) -> Iterator[ValidationError]:
    if isinstance(instance, list) and not any(
        validator.evolve(schema=contained).is_valid(item) for item in instance
    ):
        yield ValidationError(f"needs {schema.get('title')}")


@cache
def _validator(name: str, *, formats: bool) -> Any:
    keywords = {
        "type": _type,
        "enum": _enum,
        "const": _const,
        "required": _required,
        "additionalProperties": _closed,
        "unevaluatedProperties": _closed,
        "pattern": _pattern,
        "uniqueItems": _unique,
        "contains": _contains,
    }
    extend: Any = jsonschema.validators.extend
    kind = extend(jsonschema.Draft202012Validator, keywords)
    checker = jsonschema.FormatChecker(formats=())
    for form, check in FORMATS.items() if formats else ():
        checker.checks(form)(lambda value, check=check: not isinstance(value, str) or check(value))
    ref = reference(name)
    return kind(_inline(definition(ref), ref.partition("#")[0]), format_checker=checker)


def _inline(schema: Schema, urn: str) -> Schema:
    """Replace each reference in a schema by its target; resolving them took most of the time."""
    inlined: Schema = {}
    for keyword, value in schema.items():
        if keyword == "properties":
            inlined[keyword] = {field: _inline(below, urn) for field, below in value.items()}
        elif keyword in ("items", "contains"):
            inlined[keyword] = _inline(value, urn)
        elif keyword == "anyOf":
            inlined[keyword] = [_inline(below, urn) for below in value]
        elif keyword != "$ref":
            inlined[keyword] = value
    if "$ref" not in schema:
        return inlined
    base = _inline(definition(schema["$ref"], urn), schema["$ref"].partition("#")[0] or urn)
    return inlined | {"allOf": [base]} if inlined.keys() - {"description"} else base
