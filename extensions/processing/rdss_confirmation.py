"""Confirmation by a message: an answer to the RDSS message that was processed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec

from emulator.channels.channel import Channel
from emulator.clock import Clock
from extensions.processing.confirmation import Confirmation
from extensions.processing.processing_errors import ValidationError
from sandbox.gateway import Machine
from sandbox.gateway.authorship import Author
from schemas.bound import CONTRACT
from schemas.contract import LONGEST_WHY
from schemas.rdss.peek import peek
from schemas.rdss.sequence import SequenceError, split

_ID_NAMESPACE: Final = UUID("2b4f1f0c-7a4e-5f0b-8a55-3d0f2f6f9a10")


class RdssConfirmation:
    """Answers an RDSS message with another of the same type and body; its messageId is the correlationId.

    An end other than OK has the headers errorCode and errorDescription. A repeated confirmation has the
    messageId of the first. Raises ValidationError for a body that is not an RDSS message, and what the
    channel raises.
    """

    def __init__(self, channel: Channel, clock: Clock, *, generator: str, machine: Machine) -> None:
        self._channel = channel
        self._clock = clock
        self._generator = generator
        self._machine = machine

    def __call__(self, confirmation: Confirmation, /) -> None:
        numbers = itertools.count()

        def new_id() -> str:
            end = (confirmation.source, confirmation.correlation, str(confirmation.step), str(next(numbers)))
            return str(uuid5(_ID_NAMESPACE, "\x1f".join(end)))

        try:
            parts = split(self._build_reply(confirmation, new_id), new_id=new_id)
        except (msgspec.MsgspecError, SequenceError, LookupError, TypeError, UnicodeDecodeError) as error:
            why = f"the message is no RDSS message that could be answered: {error}"
            raise ValidationError(why) from error
        for outcome in self._channel.publish_many([(part, peek(part).message_id or "-") for part in parts]):
            if isinstance(outcome, Exception):
                raise outcome

    def _build_reply(self, confirmation: Confirmation, new_id: Callable[[], str]) -> dict[str, Any]:
        received = msgspec.json.decode(confirmation.body)
        header, error = received["messageHeader"], None
        if confirmation.result != "OK":
            why = f"{confirmation.result}: {confirmation.additional_info or 'no reason was given'}"
            error = (CONTRACT.failures.unknown, why[:LONGEST_WHY])
        return Author(self._generator, self._clock, new_id, self._machine).message(
            header["messageType"],
            received["messageBody"],
            tenant=header["tenantJiscID"],
            message_class="Document",
            correlation_id=header["messageId"],
            error=error,
        )
