"""The objects that the sandbox puts around a message: what is inside comes out byte for byte.

``{"x-sandbox-headers": {...}, "message": ...}`` is a message with the headers that a transport carries beside
it, as one text; ``decoration.py`` has the object around what is refused. The message is embedded as it is
where it is JSON, else as ``text``, or as ``base64`` where it is not UTF-8.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from schemas.asyncapi.declarations import Declared
from schemas.asyncapi.json_schemas import list_properties, list_required
from schemas.headers import WithHeaders
from schemas.json_texts import is_json

_REJECTED: Final = "x-sandbox-rejected"
_HEADERS: Final = "x-sandbox-headers"
is_around: Final = re.compile(rf'\s*\{{\s*"(?:{_REJECTED}|{_HEADERS})"'.encode()).match
"""Whether bytes begin as such an object does."""


class Around(msgspec.Struct, omit_defaults=True):
    """What is around a message, and the message; of an oversize one that is refused, its address alone."""

    rejected: dict[str, Any] | None = msgspec.field(name=_REJECTED, default=None)
    headers: dict[str, Any] | None = msgspec.field(name=_HEADERS, default=None)
    message: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    text: str | None = None
    base64: str | None = None
    original: str | None = None
    bytes: int | None = None
    sha256: str | None = None


AROUND: Final = frozenset(Around.__struct_encode_fields__)
"""The names in such an object."""
_decode: Final = msgspec.json.Decoder(Around).decode


def embed(around: Around, raw: bytes) -> None:
    """Put a message inside."""
    if is_json(raw) and raw == raw.strip():
        around.message = msgspec.Raw(raw)
        return
    try:
        around.text = raw.decode()
    except UnicodeDecodeError:
        around.base64 = base64.b64encode(raw).decode("ascii")


def read_around(raw: bytes) -> tuple[Around, bytes | None] | None:
    """What is around a message, and the message, None where it is not inside; None for bytes without."""
    if not is_around(raw):
        return None
    try:
        around = _decode(raw)
        if around.message is not msgspec.UNSET:
            return around, bytes(around.message)
        if around.text is not None:
            return around, around.text.encode()
        inside = None if around.base64 is None else base64.b64decode(around.base64, validate=True)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return around, inside


def read_headers(raw: bytes, /) -> WithHeaders:
    """The message in a text that ``write_headers`` made, with its headers; other bytes have none."""
    found = read_around(raw)
    if found is None or found[0].headers is None or found[1] is None:
        return WithHeaders(raw, None)
    return WithHeaders(found[1], found[0].headers)


def write_headers(raw: bytes, headers: Mapping[str, Any] | None, /) -> bytes:
    """A message and its headers as one text; what is refused has the headers inside, and stays as it is."""
    if headers is None or is_around(raw):
        return raw
    around = Around(headers=dict(headers))
    embed(around, raw)
    return msgspec.json.encode(around)


class DeclaredHeaders:
    """See ``schemas.contract.Headers``."""

    read = staticmethod(read_headers)
    write = staticmethod(write_headers)

    def __init__(self, names: frozenset[str]) -> None:
        self.names: Final = names


def find_header_names(declared: Declared) -> frozenset[str] | None:
    """The headers that a document names, in a schema or in a location.

    None where it asks nothing of headers, or no channel carries any.
    """
    schemas = [each.headers for each in declared.messages if each.headers not in (None, True)]
    located = {place.steps[0] for place in declared.list_places() if place.part == "header"}
    if not any(each.amqp for each in declared.channels) or not (schemas or located):
        return None
    named = (names for each in schemas for names in (list_properties(each, each), list_required(each, each)))
    return frozenset(located.union(*named))
