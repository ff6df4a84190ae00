"""Values from a seed that an Avro schema has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Final
from uuid import UUID

from schemas.asyncapi.sample_texts import CannotDrawError, draw_words

_DEEP: Final = 4
_DEEPEST: Final = 24
_FIRST: Final = datetime(2020, 1, 1, tzinfo=UTC)


def draw_avro(draws: Random, schema: Any) -> Any:
    """Draw a value of a schema that fastavro parsed. Raises CannotDrawError for one that has no end."""
    names: dict[str, Any] = {}
    _note_names(schema, names)
    return _draw(draws, schema, names, 0)


def _note_names(schema: Any, names: dict[str, Any]) -> None:
    if isinstance(schema, list):
        for each in schema:
            _note_names(each, names)
    elif isinstance(schema, dict):
        if "name" in schema:
            names[schema["name"]] = schema
        for each in schema.get("fields", ()):
            _note_names(each["type"], names)
        for below in ("items", "values"):
            _note_names(schema.get(below), names)
        if isinstance(schema.get("type"), dict | list):
            _note_names(schema["type"], names)


def _draw(draws: Random, schema: Any, names: Mapping[str, Any], depth: int) -> Any:
    if depth > _DEEPEST:
        raise CannotDrawError("the schema demands values in each other without an end")
    if isinstance(schema, list):
        kinds = ["null"] if depth >= _DEEP and "null" in schema else schema
        return _draw(draws, draws.choice(kinds), names, depth + 1)
    if isinstance(schema, str):
        return _draw(draws, names[schema], names, depth + 1) if schema in names else _PLAIN[schema](draws)
    logical = _LOGICAL.get(schema.get("logicalType"))
    return logical(draws, schema) if logical else _draw_complex(draws, schema, names, depth)


def _draw_complex(draws: Random, schema: Any, names: Mapping[str, Any], depth: int) -> Any:
    kind, count = schema["type"], 0 if depth >= _DEEP else draws.randint(0, 3)
    if kind in ("record", "error"):
        return {each["name"]: _draw(draws, each["type"], names, depth + 1) for each in schema["fields"]}
    if kind == "enum":
        return draws.choice(schema["symbols"])
    if kind == "fixed":
        return draws.randbytes(schema["size"])
    if kind == "array":
        return [_draw(draws, schema["items"], names, depth + 1) for _ in range(count)]
    if kind == "map":
        keys = [f"{draw_words(draws, 1, 9)}{at}" for at in range(count)]
        return {key: _draw(draws, schema["values"], names, depth + 1) for key in keys}
    return _draw(draws, kind, names, depth + 1)


_PLAIN: Final[Mapping[str, Callable[[Random], Any]]] = {
    "null": lambda _draws: None,
    "boolean": lambda draws: draws.random() < 0.5,
    "int": lambda draws: draws.randint(0, 1_000),
    "long": lambda draws: draws.randint(0, 1_000_000),
    "float": lambda draws: draws.randint(0, 1_000) / 4,
    "double": lambda draws: draws.randint(0, 100_000) / 100,
    "bytes": lambda draws: draws.randbytes(draws.randint(0, 8)),
    "string": lambda draws: draw_words(draws, 1, None),
}


def _draw_moment(draws: Random, _schema: Any) -> datetime:
    return _FIRST + timedelta(milliseconds=draws.randrange(300_000_000_000))


def _draw_decimal(draws: Random, schema: Any) -> Decimal:
    digits = min(int(schema["precision"]), 6)
    return Decimal(draws.randrange(10**digits)).scaleb(-int(schema.get("scale", 0)))


_LOGICAL: Final[Mapping[str, Callable[[Random, Any], Any]]] = {
    "uuid": lambda draws, _schema: UUID(int=draws.getrandbits(128), version=4),
    "date": lambda draws, schema: _draw_moment(draws, schema).date(),
    "time-millis": lambda draws, _schema: time(draws.randrange(24), draws.randrange(60)),
    "time-micros": lambda draws, _schema: time(draws.randrange(24), draws.randrange(60)),
    "timestamp-millis": _draw_moment,
    "timestamp-micros": _draw_moment,
    "local-timestamp-millis": lambda draws, schema: _draw_moment(draws, schema).replace(tzinfo=None),
    "local-timestamp-micros": lambda draws, schema: _draw_moment(draws, schema).replace(tzinfo=None),
    "decimal": _draw_decimal,
}
