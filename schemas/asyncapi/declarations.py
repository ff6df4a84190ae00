"""What a document declares: channels with their bindings, messages, and where in a message its fields are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from schemas.asyncapi.codes import DeclaredCode
from schemas.asyncapi.problems import write_pointer

_LONGEST_NAME: Final = 128
_STREAM: Final = re.compile(r"[a-zA-Z0-9_.-]{1,128}")
_NO_LETTER: Final = re.compile(r"[^a-zA-Z0-9_.-]")
Content = Literal["json", "text", "avro", "avro-json", "opaque"]
Part = Literal["payload", "header", "key", "bytes"]


class Location(NamedTuple):
    """Where a value is: in the payload or a header under these names; the key of the record itself.

    Of ``bytes`` it is the SHA-256 of the whole message, in hexadecimal digits.
    """

    part: Part
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"$message.{self.part}{'#' if self.steps else ''}{write_pointer(self.steps)}"


@dataclass(frozen=True, slots=True)
class Locations:
    """Where the fields of a message are; None for what is not declared."""

    id: Location | None = None
    source: Location | None = None
    type: Location | None = None
    order_key: Location | None = None
    published: Location | None = None
    expires: Location | None = None
    sequence: Location | None = None
    position: Location | None = None
    total: Location | None = None

    def list_places(self) -> list[Location | None]:
        return [getattr(self, name) for name in self.__dataclass_fields__]


@dataclass(frozen=True, slots=True)
class Stream:
    """A channel as a stream. ``mode`` is PROVISIONED or ON_DEMAND."""

    shards: int = 1
    mode: str = "PROVISIONED"
    max_record_kib: int = 1024


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange of the AMQP binding."""

    name: str = ""
    type: str = "topic"
    durable: bool = True
    auto_delete: bool = False
    vhost: str = "/"


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of the AMQP binding."""

    name: str = ""
    durable: bool = True
    exclusive: bool = False
    auto_delete: bool = False
    vhost: str = "/"


@dataclass(frozen=True, slots=True)
class Amqp:
    """A channel in AMQP: a routing key, the channel's address, of an exchange; or a queue."""

    exchange: Exchange | None = None
    queue: Queue | None = None


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel: ``messages`` are kinds, ``reject`` is the name of the channel for what is refused."""

    name: str
    address: str | None
    stream: Stream | None
    amqp: Amqp | None
    messages: tuple[str, ...]
    reject: str | None

    @property
    def label(self) -> str:
        """What its stream is called: the address where a stream can have it as its name, else the name."""
        address = self.address or ""
        return address if _STREAM.fullmatch(address) else _NO_LETTER.sub("-", self.name)[:_LONGEST_NAME]


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a document.

    ``values`` are what it has as its type, empty where any will do. ``payload`` is a whole schema, JSON's
    or Avro's by ``content``; None for what is not judged. ``cloud_event`` is how its attributes are carried.
    """

    name: str
    title: str
    content: Content
    content_type: str
    payload: Any
    headers: Any
    examples: tuple[Any, ...]
    values: tuple[str, ...] = ()
    cloud_event: Literal["structured", "binary"] | None = None


@dataclass(frozen=True, slots=True)
class Declared:
    """All that the ``document`` at a path declares; ``files`` are the document, and those that it refers to.

    ``locations`` are by the name of the message, ``codes`` by the reason.

    ``type`` is where a message names its type; None where its schema alone tells it from others.
    """

    document: Path
    files: tuple[Path, ...]
    name: str
    release: str
    channels: tuple[Channel, ...]
    messages: tuple[Message, ...]
    locations: Mapping[str, Locations]
    type: Location | None
    codes: Mapping[str, DeclaredCode]
    reject: str | None
    max_bytes: int

    def list_places(self) -> set[Location]:
        """The places of the fields that have a meaning, in any message."""
        found = {self.type, *(place for each in self.locations.values() for place in each.list_places())}
        return {place for place in found if place}
