"""A transactional outbox: an application's messages are recorded in the transaction of its own changes.

A message is sent if and only if that transaction is committed. ``flush`` sends it, also after a crash, under
its first messageId.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import msgspec

from emulator.clock import Clock
from emulator.rng import new_uuid
from sandbox.gateway import Gateway, Machine
from sandbox.gateway.addresses import Addresses, UnknownAddressError
from sandbox.gateway.authorship import Author, MessageFields
from schemas.bound import CONTRACT

JSON = dict[str, Any]


class Outbox:
    """The outbox of one application; ``generator`` is its name in the messages.

    Messages go to the channel of ``gateway``, or to a named address of ``addresses``.
    """

    def __init__(
        self,
        gateway: Gateway,
        clock: Clock,
        *,
        generator: str,
        machine: Machine,
        addresses: Addresses | None = None,
        new_id: Callable[[], str] = new_uuid,
    ) -> None:
        self._gateway = gateway
        self._addresses = addresses
        self._author = Author(generator, clock, new_id, machine)

    def keep(
        self, message_type: str, body: JSON, *, to: str | None = None, **fields: Unpack[MessageFields]
    ) -> str:
        """Record a message as TO_SEND, an oversize one in parts, and return its messageId.

        ``to`` is its address. Raises ``UnknownAddressError``, and ValueError for a message that cannot be
        split.
        """
        return self.keep_message(self.message(message_type, body, **fields), to=to)

    def keep_message(self, message: JSON, *, to: str | None = None) -> str:
        """Record a whole message as TO_SEND, an oversize one in parts. Returns and raises as ``keep``."""
        raw, sequences = msgspec.json.encode(message), CONTRACT.sequences
        self._gateway_to(to).keep(sequences.split(raw, new_id=self._author.new_id) if sequences else [raw])
        return str(CONTRACT.peek(raw).message_id)

    def _gateway_to(self, to: str | None) -> Gateway:
        own = self._gateway.channel.name
        if to is None or to == own:
            return self._gateway
        if self._addresses is None:
            raise UnknownAddressError(to, (own,))
        return self._addresses.gateway(to)

    def message(self, message_type: str, body: JSON, **fields: Unpack[MessageFields]) -> JSON:
        """Build the message that ``keep`` would record."""
        return self._author.message(message_type, body, **fields)

    def flush(self) -> int:
        """Send the recorded messages and return their number. Raises as ``Gateway.flush``."""
        return self._gateway.flush() + (self._addresses.flush() if self._addresses else 0)
