"""JSON Schemas of a document, each made whole: what it refers to is in its own ``$defs``."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

import jsonschema
import jsonschema_rs
import msgspec

from schemas.asyncapi.documents import Documents, Node, is_reference
from schemas.asyncapi.problems import Place
from schemas.personal import MARK

Schema = dict[str, Any] | bool

_DRAFTS: Final = {
    "draft-04": jsonschema.Draft4Validator,
    "draft-06": jsonschema.Draft6Validator,
    "draft-07": jsonschema.Draft7Validator,
    "2019-09": jsonschema.Draft201909Validator,
    "2020-12": jsonschema.Draft202012Validator,
}
_UUID: Final = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
MASK: Final = "\N{REPLACEMENT CHARACTER}"
"""What stands for the value in the sentences of a validator."""
USUAL_DRAFT: Final = "draft-07"
"""What AsyncAPI's own Schema Object extends."""
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLES: Final = frozenset(
    {
        "items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains",
        "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema",
    }
)  # fmt: skip
_LEFT_OUT: Final = frozenset({"definitions", "$defs", "$id", "id", "$schema", "$anchor"})


def name_draft(schema: Any, named: str | None) -> str | None:
    """The draft of a schema, by its ``$schema``, else as it is named; None for an unknown one."""
    dialect = schema.get("$schema") if isinstance(schema, dict) else None
    if not isinstance(dialect, str) and (named is None or "aai.asyncapi" in named or "version" not in named):
        return USUAL_DRAFT
    text = dialect if isinstance(dialect, str) else named or ""
    return next((draft for draft in _DRAFTS if draft in text), None)


def compile_schema(schema: Schema) -> jsonschema_rs.Validator:
    """The validator of a schema that ``bundle`` made; formats count, patterns are bounded."""
    return jsonschema_rs.validator_for(
        schema, validate_formats=True, offline=True, mask=MASK, formats=_formats(schema)
    )


def _formats(schema: Schema) -> dict[str, Any]:
    """The formats of later drafts that people use in the earlier ones too.

    A validator to which formats are given takes twice the time for every value.
    """
    draft = schema.get("$schema", "") if isinstance(schema, dict) else ""
    if "20" in draft or b'"uuid"' not in msgspec.json.encode(schema):
        return {}
    return {"uuid": lambda text: _UUID.fullmatch(text) is not None}


def bundle(documents: Documents, node: Node, named: str | None = None) -> Schema | None:
    """A schema with all that it refers to, of the draft that it names; None where it has problems."""
    draft = name_draft(node.value, named)
    if draft is None:
        documents.problems.add(node.place, f"the draft of JSON Schema is not known: {', '.join(_DRAFTS)} are")
        return None
    before = len(documents.problems.found)
    whole = _Bundle(documents, draft).make(node)
    if len(documents.problems.found) == before:
        _check_whole(documents, node, whole)
    return whole if len(documents.problems.found) == before else None


def _check_whole(documents: Documents, node: Node, whole: Schema) -> None:
    """Hold a schema to what validators can make of it, and to that some value meets it."""
    try:
        compile_schema(whole)
        if "" in jsonschema_rs.canonical.find_unsatisfiable(whole, validate_formats=True, offline=True):
            documents.problems.add(node.place, "no value can meet this schema")
    except ValueError as error:
        documents.problems.add(
            node.place, f"validators refuse this schema: {str(error).partition(chr(10))[0]}"[:300]
        )


class _Bundle:
    def __init__(self, documents: Documents, draft: str) -> None:
        self._documents = documents
        self._draft = draft
        self._names: dict[Place, str] = {}
        self._waiting: list[tuple[str, Node]] = []

    def make(self, node: Node) -> Schema:
        self._check(node)
        whole = self._copy(node)
        definitions = {}
        while self._waiting:
            name, target = self._waiting.pop()
            self._check(target)
            definitions[name] = self._copy(target)
        if not isinstance(whole, dict):
            return whole is True
        dialect = str(_DRAFTS[self._draft].META_SCHEMA["$schema" if self._draft != "draft-04" else "id"])
        return {"$schema": dialect, **whole, **({"$defs": definitions} if definitions else {})}

    def _check(self, node: Node) -> None:
        """Hold a schema, as written, to its draft."""
        for error in _meta_validator(self._draft).iter_errors(node.value):
            self._documents.problems.add(node.place.below(*error.instance_path), error.message[:300])

    def _copy(self, node: Node) -> Any:
        value, place = node
        if not isinstance(value, dict):
            return value
        made: dict[str, Any] = {}
        for keyword, below in value.items():
            at = place.below(keyword)
            if keyword == "$ref" and isinstance(below, str):
                made[keyword] = self._refer(below, at)
            elif keyword in _MAPS and isinstance(below, dict):
                made[keyword] = {name: self._copy(Node(each, at.below(name))) for name, each in below.items()}
            elif isinstance(below, list) and (keyword in _LISTS or keyword == "items"):
                made[keyword] = [self._copy(Node(each, at.below(index))) for index, each in enumerate(below)]
            elif keyword in _SINGLES:
                made[keyword] = self._copy(Node(below, at))
            elif keyword not in _LEFT_OUT:
                made[keyword] = below
        if MARK in made and not (
            isinstance(made[MARK], dict)
            and list(made[MARK]) == ["personal"]
            and isinstance(made[MARK]["personal"], bool)
        ):
            self._documents.problems.add(
                place.below(MARK), "in a schema this is {personal: true}, or left out"
            )
        return made

    def _refer(self, reference: str, place: Place) -> str:
        target = self._documents.find(reference, place)
        if target is None:
            return "#"
        inner = target.get("schema")
        if inner is not None and target.get("schemaFormat") is not None:
            target = inner
        if is_reference(target.value) and set(target.value) == {"$ref"} and target.place not in self._names:
            followed = self._documents.follow(target)
            target = followed or target
        if target.place not in self._names:
            title = target.place.pointer.rpartition("/")[2] or target.place.file.stem
            plain = "".join(letter if letter.isalnum() else "_" for letter in title)
            taken = set(self._names.values())
            names = (plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 3)))
            self._names[target.place] = next(name for name in names if name not in taken)
            self._waiting.append((self._names[target.place], target))
        return f"#/$defs/{self._names[target.place]}"


@cache
def _meta_validator(draft: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(_DRAFTS[draft].META_SCHEMA, validate_formats=True, offline=True)


def list_bases(schema: Any, whole: Schema) -> list[dict[str, Any]]:
    """The schemas that hold where this one does: itself, what it refers to, and those of its ``allOf``."""
    found: list[dict[str, Any]] = []
    waiting = [schema]
    while waiting:
        each = waiting.pop(0)
        if not isinstance(each, dict) or any(each is known for known in found):
            continue
        found.append(each)
        if "$ref" in each:
            waiting.append(resolve(each["$ref"], whole))
        waiting += each.get("allOf", ())
    return found


def resolve(reference: str, whole: Schema) -> Any:
    """What a reference in a schema that ``bundle`` made refers to."""
    definitions = whole.get("$defs", {}) if isinstance(whole, dict) else {}
    return definitions.get(reference.removeprefix("#/$defs/"), whole)


def list_properties(schema: Any, whole: Schema) -> dict[str, list[Any]]:
    """The schemas of each property of an object, in the order in which they are declared."""
    found: dict[str, list[Any]] = {}
    for base in list_bases(schema, whole):
        for name, below in base.get("properties", {}).items():
            found.setdefault(name, []).append(below)
    return found


def list_required(schema: Any, whole: Schema) -> set[str]:
    """The properties that an object must have."""
    return {name for base in list_bases(schema, whole) for name in base.get("required", ())}


def list_constants(whole: Any, steps: tuple[str, ...]) -> tuple[str, ...]:
    """The texts that a value under these names may only be; empty where it may be others."""
    schemas: list[Any] = [whole]
    for step in steps:
        schemas = [below for schema in schemas for below in list_properties(schema, whole).get(step, ())]
    bases = [base for schema in schemas for base in list_bases(schema, whole)]
    for base in bases:
        values = [base["const"]] if "const" in base else base.get("enum", ())
        if values and all(isinstance(value, str) for value in values):
            return tuple(values)
    return ()


def hold_both(whole: Schema, other: Schema) -> Schema:
    """A schema that ``bundle`` made, and what else a value has to meet."""
    if isinstance(whole, bool):
        return other if whole else False
    apart: dict[str, Any] = {name: whole[name] for name in ("$schema", "$defs") if name in whole}
    own = {name: value for name, value in whole.items() if name not in apart}
    return {**apart, "allOf": [own, other]}
