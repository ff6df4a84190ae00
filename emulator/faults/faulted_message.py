"""A message as the fault engine sees it: its bytes, and its header fields, parsed at most once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b

from schemas.bound import CONTRACT
from schemas.contract import Contract, Peek
from schemas.fields import Field


def list_fields(contract: Contract) -> dict[str, Field]:
    """The fields that ``when.match`` may name, by their names in a message of this contract."""
    return {field.spelling: field for field in contract.fields if field.kind != "time"}


class Message:
    """One message in transit. ``arrived`` is when the broker took it, in seconds since the epoch, or None.

    ``key`` is what its transport knows it by, such as the partition key of a record. ``contract`` is that of
    the fault engine that it meets. ``write_text`` adds the headers that its transport carries beside it: what
    it gives is the message as the contract judges it, and as faults change it.

    Where it carries several messages, ``parts`` has the data and the key of each. It is known by the first,
    and a condition is met where one of them meets it.
    """

    contract: Contract = CONTRACT

    def __init__(
        self,
        data: bytes,
        key: str = "",
        arrived: float | None = None,
        write_text: Callable[[Contract, bytes], bytes] = lambda _contract, data: data,
        parts: Sequence[tuple[bytes, str]] = (),
    ) -> None:
        self.data = data
        self.key = key
        self.arrived = arrived
        self._write_text = write_text
        self._parts = parts

    @cached_property
    def text(self) -> bytes:
        """The message with its headers, as the contract judges it."""
        return self._write_text(self.contract, self.data)

    @cached_property
    def peek(self) -> Peek:
        return self.contract.peek(self.text, self.key)

    @cached_property
    def peeks(self) -> tuple[Peek, ...]:
        """The header fields of each of its parts; its own where it has none."""
        return tuple(self.contract.peek(data, key) for data, key in self._parts) or (self.peek,)

    @cached_property
    def message_id(self) -> str | None:
        """The message's id; None when its bytes have not the form of the contract."""
        first = self.peeks[0]
        return None if first.damaged else first.message_id

    @cached_property
    def digest(self) -> str:
        """A hash of the bytes, which identifies a payload that has no id."""
        return blake2b(self._parts[0][0] if self._parts else self.data, digest_size=12).hexdigest()
