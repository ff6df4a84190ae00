"""The operations and shapes of a service, from botocore's own model of it, read when first needed."""

from __future__ import annotations

import gzip
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import msgspec


class Shape(msgspec.Struct, frozen=True):
    """A shape; ``kind`` is botocore's type: structure, list, map, string, integer, timestamp, blob, ..."""

    name: str
    kind: str
    members: dict[str, str] = {}
    required: tuple[str, ...] = ()
    member: str = ""
    key: str = ""
    value: str = ""
    minimum: int | None = None
    maximum: int | None = None
    pattern: str | None = None
    values: tuple[str, ...] = ()
    places: dict[str, tuple[str, str]] = {}
    """Where in a request a member is that is not in its body, and by what name it is there."""
    payload: str = ""
    """The member that is the whole body."""


class Operation(NamedTuple):
    """The names of an operation's shapes; "" where it has no request or response members.

    ``method``, ``path``, a template, and ``status`` are HTTP's, of a service that speaks REST.
    """

    request: str
    response: str
    method: str = "POST"
    path: str = "/"
    status: int = 200


class ServiceModel(NamedTuple):
    """Every operation and every shape by name."""

    operations: dict[str, Operation]
    shapes: dict[str, Shape]


@lru_cache(maxsize=1)
def kinesis_model() -> ServiceModel:
    """The Kinesis model of the installed botocore."""
    return read_model("kinesis/2013-12-02")


def read_model(folder: str) -> ServiceModel:
    """The model of a service, by its name and version in the installed botocore."""
    # The file is read without importing botocore, which takes longer than the rest of a start.
    package = find_spec("botocore")
    assert package is not None
    assert package.submodule_search_locations
    plain = Path(package.submodule_search_locations[0]) / "data" / folder / "service-2.json"
    packed = plain.with_name(plain.name + ".gz")
    raw = msgspec.json.decode(gzip.decompress(packed.read_bytes()) if packed.exists() else plain.read_bytes())
    operations = {
        name: Operation(
            _shape_of(operation, "input"),
            _shape_of(operation, "output"),
            operation["http"]["method"],
            operation["http"]["requestUri"],
            operation["http"].get("responseCode", 200),
        )
        for name, operation in raw["operations"].items()
    }
    return ServiceModel(operations, {name: _shape(name, shape) for name, shape in raw["shapes"].items()})


def _shape_of(operation: dict[str, Any], side: str) -> str:
    shape: str = operation.get(side, {}).get("shape", "")
    return shape


def _shape(name: str, raw: dict[str, Any]) -> Shape:
    return Shape(
        name=name,
        kind=raw["type"],
        members={member: reference["shape"] for member, reference in raw.get("members", {}).items()},
        required=tuple(raw.get("required", ())),
        member=_reference(raw, "member"),
        key=_reference(raw, "key"),
        value=_reference(raw, "value"),
        minimum=raw.get("min"),
        maximum=raw.get("max"),
        pattern=raw.get("pattern"),
        values=tuple(raw.get("enum", ())),
        places={
            member: (reference["location"], reference.get("locationName", member))
            for member, reference in raw.get("members", {}).items()
            if "location" in reference
        },
        payload=raw.get("payload", ""),
    )


def _reference(raw: dict[str, Any], side: str) -> str:
    shape: str = raw.get(side, {}).get("shape", "")
    return shape
