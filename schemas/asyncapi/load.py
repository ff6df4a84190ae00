"""A contract from an AsyncAPI document of version 3."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final

from schemas.asyncapi.channels import CHANNEL_FIELDS, read_amqp, read_stream
from schemas.asyncapi.codes import DeclaredCode, read_codes
from schemas.asyncapi.contract import AsyncApiContract
from schemas.asyncapi.declarations import Channel, Declared, Location, Locations, Message
from schemas.asyncapi.documents import Documents, Node
from schemas.asyncapi.json_schemas import list_constants, list_properties, list_required
from schemas.asyncapi.messages import SANDBOX_FIELDS, read_locations, read_message
from schemas.asyncapi.object_reader import ObjectReader
from schemas.asyncapi.problems import Place

_ROOT_FIELDS: Final = (
    "asyncapi",
    "id",
    "info",
    "servers",
    "defaultContentType",
    "channels",
    "operations",
    "components",
)
_OPERATION_FIELDS: Final = (
    "action", "channel", "title", "summary", "description", "security", "tags", "externalDocs", "bindings",
    "traits", "messages", "reply",
)  # fmt: skip
_LARGEST: Final = 10_240 << 10
_USUAL_LARGEST: Final = 1 << 20
_CONVERT: Final = "asyncapi convert FILE -o NEW -t 3.0.0"


def load_contract(path: str | os.PathLike[str]) -> AsyncApiContract:
    """Read a document, in YAML or JSON, and the files beside it that it refers to.

    Raises BadDocumentError with all that is wrong with it or not supported.
    """
    documents = Documents(Path(path))
    reader = _DocumentReader(documents)
    contract = reader.read()
    documents.problems.end()
    assert contract is not None
    return contract


@cache
def load_once(document: Path) -> AsyncApiContract:
    """The same contract each time: a start asks three times, and Spark's workers with each task."""
    return load_contract(document)


class _DocumentReader:
    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._problems = documents.problems
        self._messages: dict[Place, list[Message]] = {}
        self._locations: dict[str, Locations] = {}
        self._default_content = ""

    def read(self) -> AsyncApiContract | None:
        root = self._documents.read_root()
        if root is None or not self._is_known_version(root):
            return None
        reader = ObjectReader(self._documents, root, _ROOT_FIELDS)
        info = reader.within("info")
        if info is None:
            reader.problem("info is required and missing")
            info = Node({"title": "", "version": ""}, root.place)
        about = ObjectReader(self._documents, info)
        self._default_content = reader.text("defaultContentType")
        settings = ObjectReader(
            self._documents, root.get("x-sandbox") or Node({}, root.place), SANDBOX_FIELDS
        )
        channels = [self._read_channel(name, node) for name, node in reader.items("channels")]
        if not channels:
            reader.problem("a contract has channels, and this document has none", "channels")
        self._check_operations(reader)
        reject = self._check_reject(settings.node, settings.text("reject") or None, channels)
        codes = read_codes(self._documents, root.get("x-sandbox"), reject)
        self._check_queues(settings.node, codes.values(), channels)
        labels = {channel.name: channel.label for channel in channels}
        for code in codes.values():
            code.queue = labels.get(code.queue, code.queue)
        everything = read_locations(self._documents, root, Locations())
        messages = [message for each in self._messages.values() for message in each]
        if channels and not messages:
            reader.problem("no channel has messages", "channels")
        largest = max(
            (each.stream.max_record_kib << 10 for each in channels if each.stream), default=_USUAL_LARGEST
        )
        declared = Declared(
            document=self._documents.path,
            files=self._documents.list_files(),
            name=about.text("title", required=True) or self._documents.path.stem,
            release=about.text("version", required=True),
            channels=tuple(channels),
            messages=tuple(messages),
            locations={name: _prefer(everything, own) for name, own in self._locations.items()},
            type=None,
            codes=codes,
            reject=reject,
            max_bytes=settings.number("maxBytes", largest, most=_LARGEST),
        )
        declared = _tell_apart(declared, everything)
        return None if self._problems.found else AsyncApiContract(declared, load_once)

    def _is_known_version(self, root: Node) -> bool:
        version = root.get("asyncapi")
        text = version.value if version else None
        if not isinstance(text, str | float):
            self._problems.add(root.place, "this is no AsyncAPI document: asyncapi names no version")
        elif str(text).startswith("2."):
            self._problems.add(
                root.place.below("asyncapi"),
                f"version {text} is not read: make version 3 of it with npm's @asyncapi/cli: {_CONVERT}",
            )
        elif not str(text).startswith(("3.0", "3.1")):
            self._problems.add(
                root.place.below("asyncapi"), f"version {str(text)[:20]} is not known: 3.0 and 3.1 are"
            )
        else:
            return True
        return False

    def _read_channel(self, name: str, node: Node) -> Channel:
        reader = ObjectReader(self._documents, node, CHANNEL_FIELDS)
        address = reader.node.get("address")
        bindings = reader.within("bindings")
        messages = [
            message
            for key, each in reader.items("messages")
            for message in self._read_messages(name, key, each)
        ]
        own = ObjectReader(self._documents, node.get("x-sandbox") or Node({}, node.place), ("reject",))
        return Channel(
            name,
            None if address is None or address.value is None else reader.text("address"),
            read_stream(self._documents, node, bindings),
            read_amqp(self._documents, bindings),
            tuple(message.name for message in messages),
            own.text("reject") or None,
        )

    def _read_messages(self, channel: str, key: str, node: Node) -> list[Message]:
        """The messages at a place, read once, each under a name that no other one has."""
        if node.place not in self._messages:
            found = []
            for message, locations in read_message(self._documents, node, key, self._default_content):
                name = message.name if message.name not in self._locations else f"{channel}.{message.name}"
                self._locations[name] = locations
                found.append(replace(message, name=name))
            self._messages[node.place] = found
        return self._messages[node.place]

    def _check_operations(self, reader: ObjectReader) -> None:
        for _, node in reader.items("operations"):
            operation = ObjectReader(self._documents, node, _OPERATION_FIELDS)
            operation.choice("action", ("send", "receive"), "send")
            if operation.within("channel") is None:
                operation.problem("an operation names its channel by $ref")
            list(operation.elements("messages"))

    def _check_reject(self, node: Node, reject: str | None, channels: list[Channel]) -> str | None:
        names = {channel.name for channel in channels}
        for name in (reject, *(channel.reject for channel in channels)):
            if name is not None and name not in names:
                self._problems.add(node.place.below("reject"), f"the document has no channel {name[:80]}")
        return reject

    def _check_queues(self, node: Node, codes: Iterable[DeclaredCode], channels: list[Channel]) -> None:
        names = {channel.name for channel in channels} | {"invalid", "error"}
        for code in codes:
            if code.queue not in names:
                place = node.place.below("codes", code.reason, "channel")
                self._problems.add(place, f"the document has no channel {code.queue[:80]}")


def _prefer(everything: Locations, own: Locations) -> Locations:
    """The places that a message has of its own, else those that the document has for all."""
    names = Locations.__dataclass_fields__
    return Locations(**{name: getattr(own, name) or getattr(everything, name) for name in names})


def _tell_apart(declared: Declared, everything: Locations) -> Declared:
    """Decide where the type of a message is, and which values each message has there.

    The first of these that tells them apart: what ``x-sandbox`` says, the type of CloudEvents or a
    discriminator, a field of which each message has values of its own. Else each is known by its schema.
    """
    sentence = (
        {everything.type}
        if everything.type
        else {declared.locations[each.name].type for each in declared.messages}
    )
    location = sentence.pop() if len(sentence) == 1 else None
    found = _values(declared, location) if location else None
    if location is not None and found is None and (everything.type or len(declared.messages) == 1):
        names = len(declared.messages) > 1
        found = {each.name: each.values or ((each.name,) if names else ()) for each in declared.messages}
    if found is None and len(declared.messages) > 1:
        location, found = next(
            ((place, values) for place in _list_candidates(declared) if (values := _values(declared, place))),
            (None, None),
        )
    if location is None or found is None:
        return replace(declared, messages=tuple(replace(each, values=()) for each in declared.messages))
    return replace(
        declared,
        type=location,
        messages=tuple(replace(each, values=found[each.name]) for each in declared.messages),
    )


def _values(declared: Declared, location: Location) -> dict[str, tuple[str, ...]] | None:
    """What each message has at a place; None unless every one has values that no other has."""
    found = {each.name: each.values or _constants(each, location) for each in declared.messages}
    listed = [value for values in found.values() for value in values]
    return found if all(found.values()) and len(set(listed)) == len(listed) else None


def _constants(message: Message, location: Location) -> tuple[str, ...]:
    schema = message.payload if location.part == "payload" else message.headers
    return (
        list_constants(schema, location.steps)
        if isinstance(schema, dict) and message.content != "avro"
        else ()
    )


def _list_candidates(declared: Declared) -> Iterable[Location]:
    """The fields at the top of all payloads, or of all headers, that every message must have."""
    for part in ("payload", "header"):
        shared: set[str] | None = None
        first: list[str] = []
        for message in declared.messages:
            schema = message.payload if part == "payload" else message.headers
            if part == "payload" and message.content != "json":
                schema = None
            names = list_properties(schema, schema) if isinstance(schema, dict) else {}
            first = first or list(names)
            required = list_required(schema, schema) & names.keys() if isinstance(schema, dict) else set()
            shared = required if shared is None else shared & required
        for name in first:
            if name in (shared or ()):
                yield Location("payload" if part == "payload" else "header", (name,))
