"""What an application answers or tells others: written down with its own changes, in one transaction.

A message kept here is sent exactly if the transaction that it was kept in is committed; ``flush`` sends it,
also after a crash in between, under the messageId that it was given first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.clock import Clock
from emulator.rng import new_uuid
from sandbox.authorship import Author, MessageClass
from sandbox.gateway import Gateway, Machine
from schemas.sequence import split

JSON = dict[str, Any]


class Outbox:
    """One application's messages to one channel; ``generator`` is the application's name in them."""

    def __init__(
        self,
        gateway: Gateway,
        clock: Clock,
        *,
        generator: str,
        machine: Machine,
        new_id: Callable[[], str] = new_uuid,
    ) -> None:
        self._gateway = gateway
        self._author = Author(generator, clock, new_id)
        self._machine = machine

    def keep(
        self,
        message_type: str,
        body: JSON,
        *,
        tenant: int,
        message_class: MessageClass = "Command",
        correlation_id: str | None = None,
    ) -> str:
        """Write a message down as TO_SEND, in parts where it is large; its messageId.

        Raises ``schemas.sequence.SequenceError`` for one that cannot be split.
        """
        message = self.message(
            message_type, body, tenant=tenant, message_class=message_class, correlation_id=correlation_id
        )
        self.keep_message(message)
        return str(message["messageHeader"]["messageId"])

    def keep_message(self, message: JSON) -> None:
        """Write a whole message down as TO_SEND, in parts where it is large."""
        self._gateway.keep(split(message, new_id=self._author.new_id))

    def message(
        self,
        message_type: str,
        body: JSON,
        *,
        tenant: int,
        message_class: MessageClass = "Command",
        correlation_id: str | None = None,
    ) -> JSON:
        """The message that ``keep`` would write down."""
        message = self._author.message(
            message_type, body, tenant=tenant, message_class=message_class, correlation_id=correlation_id
        )
        message["messageHeader"]["messageHistory"] = [self._machine.entry(self._author.clock.time())]
        return message

    def flush(self) -> int:
        """Send what was kept; how many messages went. Raises as ``Gateway.flush``."""
        return self._gateway.flush()
