"""Sending: a message is recorded as TO_SEND first, and as SENT after the broker's answer.

    application -> repository (TO_SEND) -> channel -> broker
                        ^                              |
                        +---- SENT, or retry ----------+

Retries have growing delays. What a crash leaves as TO_SEND is sent by the next ``flush``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from emulator.back_off import back_off
from emulator.channels.channel import Channel, PublishRefusedError
from emulator.clock import Clock
from emulator.rng import new_uuid
from sandbox.repository import Repository, Unsent
from schemas.bound import CONTRACT
from schemas.contract import Contract

RETRY_SECONDS = tuple(islice(back_off(0.2), 10))
"""The wait before each of ten retries, 2^n x 100 ms (specification, Network Failure Behaviour)."""

_LOG = logging.getLogger(__name__)
_AT_ONCE = 100
_FINAL = frozenset({"InvalidArgumentException", "PRECONDITION_FAILED", "ValidationException"})
"""The codes of refusals that a retry cannot change."""


class SendFailedError(Exception):
    """A message and its ten retries failed. It stays TO_SEND and is sent first next time."""

    code = CONTRACT.failures.unsent

    def __init__(self, channel: str, why: Exception) -> None:
        super().__init__(
            f"{self.code}: to send to {channel} failed, and so did {len(RETRY_SECONDS)} retries; "
            f"the last: {why}"
        )


class SendStoppedError(Exception):
    """The retries were stopped before the broker took the message. It stays TO_SEND."""


class SendRefusedError(Exception):
    """The broker refuses a message for good. It stays in the repository."""

    code = CONTRACT.failures.system

    def __init__(self, channel: str, key: str, why: Exception) -> None:
        super().__init__(f"{self.code}: {channel} does not take message {key}: {why}")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that messages pass, as they name it in their history."""

    id: str
    address: str


class Gateway:
    """Sends the messages of one application to one channel; calls block until the broker has answered.

    ``machine`` adds its entry to each message's history. ``new_id`` makes the ids of further parts.
    No retry comes after ``stopped`` is true: a pause ends then when the clock is nudged.
    """

    def __init__(
        self,
        channel: Channel,
        repository: Repository,
        clock: Clock,
        *,
        contract: Contract = CONTRACT,
        machine: Machine | None = None,
        new_id: Callable[[], str] = new_uuid,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.channel = channel
        self._repository = repository
        self._clock = clock
        self._contract = contract
        self._machine = machine
        self._new_id = new_id
        self._stopped = stopped

    def send(self, message: dict[str, Any]) -> list[bytes]:
        """Send a message, an oversize one as a sequence, and return the serialised messages.

        Raises ``SendFailedError`` when the broker cannot be reached, ``SendRefusedError`` when it refuses a
        message for good, and ValueError when it cannot be split.
        """
        contract, raw = self._contract, msgspec.json.encode(message)
        if self._machine and contract.stamp:
            raw = contract.stamp(raw, self._machine.id, self._machine.address, now=self._clock.time())
        parts = contract.sequences.split(raw, new_id=self._new_id) if contract.sequences else [raw]
        self.send_serialised(*parts)
        return parts

    def send_serialised(self, *messages: bytes) -> None:
        """Send any bytes unchanged. Raises as ``send``."""
        self.keep(messages)
        self.flush()

    def keep(self, messages: Iterable[bytes], key: str = "") -> None:
        """Record serialised messages as TO_SEND; ``flush`` sends them.

        ``key`` is what their transport is to know them by, where their bytes do not say it.
        """
        self._repository.record_to_send(self.channel.name, messages, key)

    def flush(self) -> int:
        """Send every message with the status TO_SEND, oldest first, those of earlier processes included.

        Returns the number of messages sent. Raises as ``send``, a refusal only after all others are sent, and
        ``SendStoppedError``.
        """
        sent, refusals = 0, list[SendRefusedError]()
        while unsent := self._repository.unsent(self.channel.name, _AT_ONCE):
            refused = self._publish(unsent)
            refusals += refused
            sent += len(unsent) - len(refused)
        if refusals:
            raise refusals[0]
        return sent

    def _publish(self, messages: list[Unsent]) -> list[SendRefusedError]:
        """Send messages with retries and return those that the broker refused for good."""
        refused: list[SendRefusedError] = []
        failed = self._try(messages, refused)
        for seconds in RETRY_SECONDS:
            if not failed:
                return refused
            name, why = self.channel.name, failed[-1][1]
            _LOG.info("%s: trying to send to %s again in %g s: %s", SendRefusedError.code, name, seconds, why)
            if not self._clock.wait(seconds, self._stopped):
                raise SendStoppedError(f"sending to {name} was stopped; it failed before: {why}")
            failed = self._try([message for message, _ in failed], refused)
        if not failed:
            return refused
        failure = SendFailedError(self.channel.name, failed[-1][1])
        _LOG.error("%s", failure)
        raise failure from failed[-1][1]

    def _try(self, messages: list[Unsent], refused: list[SendRefusedError]) -> list[tuple[Unsent, Exception]]:
        """Publish once and record the outcomes; return the messages to retry, each with its error."""
        outcomes = self.channel.publish_many([(message.data, message.key) for message in messages])
        sent: list[Unsent] = []
        failed: list[tuple[Unsent, Exception]] = []
        for message, outcome in zip(messages, outcomes, strict=True):
            if not isinstance(outcome, Exception):
                sent.append(message)
            elif isinstance(outcome, PublishRefusedError) and outcome.code in _FINAL:
                self._repository.record_refused(message, SendRefusedError.code)
                refused.append(SendRefusedError(self.channel.name, message.key, outcome))
                _LOG.error("%s", refused[-1])
            else:
                failed.append((message, outcome))
        self._repository.record_sent(sent)
        return failed
