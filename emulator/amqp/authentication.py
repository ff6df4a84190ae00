"""Logins: the mechanisms PLAIN and AMQPLAIN (section 4.6 of the specification, and RabbitMQ's own)."""

from __future__ import annotations

import hmac
from struct import Struct
from typing import Final

from emulator.amqp.wire.field_tables import BadTableError, decode_table

MECHANISMS: Final = b"PLAIN AMQPLAIN"
_LENGTH: Final = Struct(">I")


class MalformedLoginError(ValueError):
    """The response is not what its mechanism says, or there is no such mechanism."""


def read_login(mechanism: str, response: bytes) -> tuple[bytes, bytes]:
    """Read the user and the password of a login. Raises MalformedLoginError."""
    if mechanism == "PLAIN":
        parts = response.split(b"\0")
        if len(parts) != 3:
            raise MalformedLoginError
        # The first part says who to act as (RFC 4616): here that is always the one who logs in.
        return parts[1], parts[2]
    if mechanism != "AMQPLAIN":
        raise MalformedLoginError
    try:
        given = decode_table(_LENGTH.pack(len(response)) + response)[0]
        user, password = given["LOGIN"], given["PASSWORD"]
    except (BadTableError, KeyError, IndexError) as error:
        raise MalformedLoginError from error
    if user.tag != "S" or password.tag != "S":
        raise MalformedLoginError
    return user.value, password.value


def is_password(given: bytes, right: str) -> bool:
    """Compare in a time that tells nothing of the password."""
    return hmac.compare_digest(given, right.encode())
