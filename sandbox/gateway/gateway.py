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

from emulator.back_off import back_off
from emulator.channels import Channel, PublishRefusedError
from emulator.clock import Clock
from emulator.rng import new_uuid
from rdss_sandbox.timestamps import timestamp
from sandbox.repository import Repository, Unsent
from schemas.rdss.contract import RDSS
from schemas.rdss.sequence import split

RETRY_SECONDS = tuple(islice(back_off(0.2), 10))
"""The wait before each of ten retries, 2^n x 100 ms (specification, Network Failure Behaviour)."""

_LOG = logging.getLogger(__name__)
_AT_ONCE = 100
_FINAL = frozenset({"InvalidArgumentException", "PRECONDITION_FAILED", "ValidationException"})
"""The codes of refusals that a retry cannot change."""


class SendFailedError(Exception):
    """A message and its ten retries failed. It stays TO_SEND and is sent first next time."""

    code = RDSS.failures.unsent

    def __init__(self, channel: str, why: Exception) -> None:
        super().__init__(
            f"{self.code}: to send to {channel} failed, and so did {len(RETRY_SECONDS)} retries; "
            f"the last: {why}"
        )


class SendStoppedError(Exception):
    """The retries were stopped before the broker took the message. It stays TO_SEND."""


class SendRefusedError(Exception):
    """The broker refuses a message for good. It stays in the repository."""

    code = RDSS.failures.system

    def __init__(self, channel: str, key: str, why: Exception) -> None:
        super().__init__(f"{self.code}: {channel} does not take message {key}: {why}")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that messages pass: the ``machineId`` and ``machineAddress`` of a history entry."""

    id: str
    address: str

    def entry(self, seconds: float) -> dict[str, str]:
        """The history entry for a message that passed at ``seconds`` since the epoch."""
        return {"machineId": self.id, "machineAddress": self.address, "timestamp": timestamp(seconds)}


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
        machine: Machine | None = None,
        new_id: Callable[[], str] = new_uuid,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.channel = channel
        self._repository = repository
        self._clock = clock
        self._machine = machine
        self._new_id = new_id
        self._stopped = stopped

    def send(self, message: dict[str, Any]) -> list[bytes]:
        """Send a message, an oversize one as a sequence, and return the serialised messages.

        Raises ``SendFailedError`` when the broker cannot be reached, ``SendRefusedError`` when it refuses a
        message for good.
        """
        parts = split(self._with_history(message), new_id=self._new_id)
        self.send_serialised(*parts)
        return parts

    def send_serialised(self, *messages: bytes) -> None:
        """Send any bytes unchanged. Raises as ``send``."""
        self.keep(messages)
        self.flush()

    def keep(self, messages: Iterable[bytes]) -> None:
        """Record serialised messages as TO_SEND; ``flush`` sends them."""
        self._repository.record_to_send(self.channel.name, messages)

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
            _LOG.info("%s: trying to send to %s again in %g s: %s", RDSS.failures.system, name, seconds, why)
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

    def _with_history(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._machine is None:
            return message
        header = message["messageHeader"]
        entry = self._machine.entry(self._clock.time())
        return {
            **message,
            "messageHeader": {**header, "messageHistory": [*header.get("messageHistory", ()), entry]},
        }
