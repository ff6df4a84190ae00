"""A message as the fault engine sees it: its bytes, and its header fields, parsed at most once."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b

from schemas.rdss.peek import Peek, peek


class Message:
    """One message in transit. ``arrived`` is when the broker took it, in seconds since the epoch, or None."""

    def __init__(self, data: bytes, key: str = "", arrived: float | None = None) -> None:
        self.data = data
        self.key = key
        self.arrived = arrived

    @cached_property
    def peek(self) -> Peek:
        return peek(self.data)

    @cached_property
    def message_id(self) -> str | None:
        """The ``messageId`` in the bytes; None when they are not an RDSS message."""
        return None if self.peek.damaged else self.peek.message_id

    @cached_property
    def digest(self) -> str:
        """A hash of the bytes, which identifies a payload that has no ``messageId``."""
        return blake2b(self.data, digest_size=12).hexdigest()

    def header(self, name: str) -> object:
        """A header field by its name in the specification; None where the message lacks it."""
        value: object = getattr(self.peek, FIELDS[name])
        return value


FIELDS = {
    "messageId": "message_id",
    "correlationId": "correlation_id",
    "messageClass": "message_class",
    "messageType": "message_type",
    "sequence": "sequence",
    "position": "position",
    "total": "total",
    "version": "version",
    "errorCode": "error_code",
    "tenantJiscID": "tenant",
}
"""The header fields that ``when.match`` may name, and the names of the same fields in ``Peek``."""
