"""Messages of AMQP as RabbitMQ's management API writes them: properties, tables and payloads in JSON."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64Error
from contextlib import suppress
from typing import Any

from emulator.amqp.administration import Taken
from emulator.amqp.management import Document
from emulator.amqp.message import Message
from emulator.amqp.wire.field_tables import LONGEST_NAME, TEXT, BadTableError, Table, make_table, plain_table
from emulator.amqp.wire.properties import NAMES, NUMBERS, Properties


class BadRequestError(ValueError):
    """The body of a request is none of what it has to be. ``reason`` is RabbitMQ's, a text or a list."""

    def __init__(self, reason: str | list[str]) -> None:
        super().__init__(str(reason))
        self.reason = reason


def read_name(given: Any, what: str) -> str:
    """A name or a key, which AMQP has as a short string. Raises BadRequestError."""
    if not isinstance(given, str) or len(given.encode(*TEXT)) > LONGEST_NAME:
        raise BadRequestError(["not_string", what])
    return given


def table_of_json(given: Any) -> Table:
    """The field table of a JSON object. Raises BadRequestError."""
    try:
        return make_table(given)
    except BadTableError as error:
        reason = str(error)
        raise BadRequestError([reason, "key"] if reason == "not_string" else reason) from None


def properties_of_json(given: Any) -> bytes:
    """The encoded properties of a JSON object; names that are none are left out. Raises BadRequestError."""
    properties = Properties()
    for name, value in (given or {}).items() if isinstance(given or {}, dict) else ():
        if name == "headers":
            properties.set_headers(table_of_json(value))
        elif name in NUMBERS:
            if type(value) is not int or not 0 <= value < 1 << 8 * NUMBERS[name]:
                raise BadRequestError(["not_int", name])
            properties.set_number(name, value)
        elif name in NAMES:
            properties.set_text(name, read_name(value, name))
    return properties.encode()


def read_payload(payload: Any, encoding: Any) -> bytes:
    """The body of a message. Raises BadRequestError."""
    if not isinstance(payload, str):
        raise BadRequestError(["payload_not_string", "payload"])
    if encoding == "string":
        return payload.encode(*TEXT)
    if encoding != "base64":
        raise BadRequestError(["unsupported_encoding", str(encoding)])
    try:
        return b64decode(payload, validate=True)
    except (NotBase64Error, ValueError):
        raise BadRequestError(["not_base64", payload]) from None


def describe_message(taken: Taken, encoding: str, most: int | None) -> Document:
    """Describe a message that was taken from a queue, with ``most`` bytes of its body at most."""
    message = taken.message
    body = message.body if most is None else message.body[:most]
    payload, written = b64encode(body).decode(), "base64"
    if encoding == "auto":
        with suppress(UnicodeDecodeError):
            payload, written = body.decode(), "string"
    return {
        "payload_bytes": len(message.body),
        "redelivered": taken.redelivered,
        "exchange": message.exchange,
        "routing_key": message.routing_key,
        "message_count": taken.left,
        "properties": _describe_properties(message),
        "payload": payload,
        "payload_encoding": written,
    }


def _describe_properties(message: Message) -> Document | list[Any]:
    """The properties that are there; without any a list, as Erlang writes what is empty."""
    properties = Properties(message.properties)
    found: Document = {}
    for name in NAMES:
        value: Any = properties.number(name) if name in NUMBERS else None
        if name == "headers":
            value = plain_table(properties.headers()) or None
        elif name not in NUMBERS:
            value = properties.text(name)
        if value is not None:
            found[name] = value
    return found or []
