"""A message as the fault stage sees it: bytes, and what can be read of them at most once."""

from __future__ import annotations

from functools import cached_property
from hashlib import blake2b

from schemas.peek import Peek, peek


class Message:
    """One message on its way. ``arrived``: when the broker took it, seconds since the epoch; None before."""

    def __init__(self, data: bytes, key: str = "", arrived: float | None = None) -> None:
        self.data = data
        self.key = key
        self.arrived = arrived

    @cached_property
    def peek(self) -> Peek:
        return peek(self.data)

    @cached_property
    def message_id(self) -> str | None:
        """The ``messageId`` in the bytes; None when they are no RDSS message."""
        return None if self.peek.damaged else self.peek.message_id

    @cached_property
    def digest(self) -> str:
        """What tells these bytes from others."""
        return blake2b(self.data, digest_size=12).hexdigest()

    def header(self, name: str) -> object:
        """A header field by its name in the specification; None where the message has none."""
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
"""The header fields that a fault can be matched on, and what ``schemas.envelope.peek`` calls them."""
