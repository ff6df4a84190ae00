"""Copies every dispatched message to the audit stream, from where it is loaded into a bucket."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from emulator.channels.channel import (
    Channel,
    ChannelUnavailableError,
    Delivery,
    Outcome,
    PublishRefusedError,
    Receipt,
)
from emulator.channels.checkpoints.checkpoint_file import CheckpointFile
from emulator.events import Events
from rdss_sandbox.files.record_lines import RecordAddress, place_in_key

_BATCH: Final = 1_000
_NEVER_TAKEN: Final = frozenset({"ValidationException", "InvalidArgumentException"})


class AuditIncompleteError(RuntimeError):
    """The audit stream refused a message for now. The message is copied at a later try."""


class Tap:
    """Copies what arrives in the tapped streams to the audit stream, each message once.

    A copy's partition key is the address of its original, so that after a crash the
    audit stream itself says which message was copied last. ``checkpoints`` has the
    checkpoints of the tapped streams, and how far the audit stream confirms them.
    ``sources`` and ``audit`` are opened with it.
    """

    def __init__(
        self,
        sources: Mapping[str, Channel],
        stream: str,
        audit: Channel,
        checkpoints: CheckpointFile,
        events: Events,
    ) -> None:
        self._sources = sources
        self._stream = stream
        self._audit = audit
        self._checkpoints = checkpoints
        self._events = events
        self._recovered = False

    def run_once(self) -> int:
        """Copy one batch of each stream, and return the number of messages.

        Raises AuditIncompleteError when a copy failed.
        """
        if not self._recovered:
            self._recover()
            self._recovered = True
        return sum(self._copy(name, source) for name, source in self._sources.items())

    def _copy(self, name: str, source: Channel) -> int:
        try:
            deliveries = source.read(limit=_BATCH)
        except ChannelUnavailableError:
            # A stream that was deleted, or does not answer, must not stop the others.
            return 0
        entries = [(d.data, RecordAddress(name, d.shard, d.sequence_number).key) for d in deliveries]
        done: dict[str, Delivery] = {}
        copies: dict[str, str] = {}
        try:
            for delivery, outcome in zip(deliveries, self._put(entries), strict=True):
                if isinstance(outcome, Receipt):
                    copies[outcome.shard] = outcome.sequence_number
                else:
                    self._report_refusal(name, delivery, outcome)
                done[delivery.shard] = delivery
        finally:
            for shard, sequence_number in copies.items():
                self._checkpoints.put(self._stream, shard, sequence_number)
            for delivery in done.values():
                source.commit(delivery)
        return len(deliveries)

    def _put(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        """Put copies. An invalid message fails the whole call, so then each is put alone."""
        outcomes = self._audit.publish_many(entries)
        if not any(_never_taken(outcome) for outcome in outcomes):
            return outcomes
        return [
            self._audit.publish_many([entry])[0] if _never_taken(outcome) else outcome
            for entry, outcome in zip(entries, outcomes, strict=True)
        ]

    def _report_refusal(self, name: str, delivery: Delivery, outcome: Outcome) -> None:
        """Report a message that can never be copied. Raises AuditIncompleteError for any other failure."""
        if not _never_taken(outcome):
            raise AuditIncompleteError(f"a message of {name} could not be copied: {outcome}")
        address = f"{name}/{delivery.shard}/{delivery.sequence_number}"
        self._events.emit("audit.refused", place=address, size=len(delivery.data), why=str(outcome))

    def _recover(self) -> None:
        """Read from the audit stream what was copied after the checkpoints were last saved."""
        while copies := self._audit.read(limit=_BATCH):
            for copy in copies:
                place = place_in_key(copy.key)
                if place is not None and place.stream in self._sources:
                    self._checkpoints.put(place.stream, place.shard_id, place.sequence_number)
                self._audit.commit(copy)


def _never_taken(outcome: Outcome) -> bool:
    return isinstance(outcome, PublishRefusedError) and outcome.code in _NEVER_TAKEN
