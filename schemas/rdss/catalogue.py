"""The JSON Schema definitions of the data model and the messages, found by name.

A definition's full name is ``file.Definition``, such as ``parties.PersonRole``. The
last part is enough where only one file has it.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

Schema = dict[str, Any]

_FILES: Final = (
    "primitives",
    "vocabulary",
    "parties",
    "characteristics",
    "files",
    "objects",
    "projects",
    "packages",
    "header",
    "messages",
)


@cache
def load_schemas() -> dict[str, Schema]:
    """Every schema document by its ``$id``."""
    folder = files("schemas.rdss") / "definitions"
    loaded = [json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in _FILES]
    return {document["$id"]: document for document in loaded}


@cache
def names() -> tuple[str, ...]:
    """The full name of every definition."""
    return tuple(_full_names())


def reference(name: str) -> str:
    """The ``$ref`` of a definition. Raises ``KeyError`` for an unknown or ambiguous name."""
    full = [known for known in _full_names() if name in (known, known.partition(".")[2])]
    if len(full) != 1:
        raise KeyError(
            f"{name} names {' and '.join(full) or 'no definition'}; see schemas.rdss.catalogue.names()"
        )
    return _full_names()[full[0]]


def definition(ref: str, base: str = "") -> Schema:
    """The definition that a ``$ref`` in the document ``base`` points to."""
    document, _, pointer = ref.partition("#/$defs/")
    schema: Schema = load_schemas()[document or base]["$defs"][pointer]
    return schema


@cache
def terms(vocabulary: str) -> tuple[str, ...]:
    """The terms of an enumeration of the data model, such as ``ResourceType``."""
    return tuple(definition(reference(f"vocabulary.{vocabulary}"))["enum"])


@cache
def uuid_fields() -> frozenset[str]:
    """The names of all fields that hold a UUID. Each of them holds a UUID in every entity that has it."""
    uuid = reference("primitives.UUID")
    return frozenset(
        field
        for document in load_schemas().values()
        for schema in document["$defs"].values()
        for field, value in schema.get("properties", {}).items()
        if value.get("$ref") == uuid
    )


@cache
def _full_names() -> dict[str, str]:
    return {
        f"{urn.rpartition(':')[2]}.{name}": f"{urn}#/$defs/{name}"
        for urn, document in load_schemas().items()
        for name in document["$defs"]
    }
