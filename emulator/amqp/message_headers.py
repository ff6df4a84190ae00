"""A message of AMQP and its headers as the one text that a contract judges, and back."""

from __future__ import annotations

from collections.abc import Mapping
from struct import error
from typing import Any, Final

from msgspec.json import encode

from emulator.amqp.wire.field_tables import LONGEST_NAME, BadTableError, Field, make_field
from emulator.amqp.wire.properties import NAMES, NUMBERS, Properties
from schemas.contract import Contract
from schemas.headers import Headers
from schemas.message_timestamps import timestamp

KEY_HEADER: Final = "partition-key"
_OF_BROKERS: Final = (KEY_HEADER, "x-death", "x-first-death-", "x-last-death-", "x-delivery-count")
"""How headers begin that no publisher gives a message."""
_PROPERTIES: Final = frozenset(NAMES) - {"headers"}
_WRITTEN: Final = ("content_type", "content_encoding", "correlation_id", "reply_to", "type", "app_id")
"""The properties in which a message's headers of these names are sent."""
_LATEST: Final = 250_000_000_000


def write_text(contract: Contract, body: bytes, properties: bytes) -> bytes:
    """The text of a body and its encoded properties; the body where the contract asks for no headers."""
    if contract.headers is None:
        return body
    try:
        found = Properties(properties)
    except (BadTableError, IndexError, error):
        return contract.headers.write(body, {})
    return contract.headers.write(body, _read_headers(contract.headers.names, found))


def read_text(contract: Contract, text: bytes) -> tuple[bytes, dict[str, str], Mapping[str, Any]]:
    """The body of such a text, its properties, and its table of headers."""
    if contract.headers is None:
        return text, {}, {}
    body, headers = contract.headers.read(text)
    headers = headers or {}
    properties = {
        name: value
        for name in _WRITTEN
        if isinstance(value := headers.get(name), str) and len(value.encode()) <= LONGEST_NAME
    }
    return body, properties, {name: value for name, value in headers.items() if name not in properties}


def change_content(contract: Contract, text: bytes, properties: bytes) -> tuple[bytes, bytes]:
    """The body of a text that was changed since ``write_text`` made it, and the encoded properties.

    Headers that the change left alone are the same, byte for byte; so are all where they cannot be read, or
    where what they should be has no form in AMQP.
    """
    body, short, _ = read_text(contract, text)
    if contract.headers is None or contract.headers.read(text).headers is None:
        return body, properties
    try:
        return body, _change_headers(contract.headers, text, short, Properties(properties))
    except (BadTableError, IndexError, error):
        return body, properties


def _change_headers(headers: Headers, text: bytes, short: Mapping[str, str], found: Properties) -> bytes:
    """The encoded properties with the headers of a text; those of ``short`` go into properties of AMQP."""
    after = headers.read(text).headers or {}
    table, before = found.headers(), _read_headers(headers.names, found)
    for name in {**before, **after}:
        if name in before and name in after and encode(before[name]) == encode(after[name]):
            continue
        in_table = table.pop(name, None) is not None
        if name in headers.names & _PROPERTIES:
            found.remove(name)
        if name in short and not in_table:
            found.set_text(name, after[name])
        elif name in after:
            table[name] = make_field(after[name])
    if table != found.headers():
        found.set_headers(table)
    return found.encode()


def _read_headers(names: frozenset[str], found: Properties) -> dict[str, Any]:
    """The headers in the properties of a content, as JSON has them."""
    own = {
        _clean(name): _read(field)
        for name, field in found.headers().items()
        if name in names or not name.startswith(_OF_BROKERS)
    }
    of_properties = {
        name: _clean(value) if isinstance(value, str) else value
        for name in names.intersection(_PROPERTIES)
        if (value := found.number(name) if name in NUMBERS else found.text(name)) is not None
    }
    return {**of_properties, **own}


def _clean(text: str) -> str:
    """A text without the halves of surrogate pairs that stand for bytes which are not UTF-8."""
    return text.encode(errors="replace").decode()


def _read(field: Field) -> Any:
    """A value of a table as JSON has it."""
    match field.tag:
        case "S" | "x":
            return field.value.decode(errors="replace")
        case "F":
            return {_clean(name): _read(each) for name, each in field.value.items()}
        case "A":
            return [_read(each) for each in field.value]
        case "T":
            return timestamp(field.value) if field.value < _LATEST else field.value
        case "D":
            scale, digits = field.value
            return digits / 10**scale
    return field.value
