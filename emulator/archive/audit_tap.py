"""The audit log: every dispatched message goes to the audit stream, and from there into a bucket."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from emulator.archive.lambda_loader import Loader, s3_of
from emulator.channels import (
    Channel,
    ChannelUnavailableError,
    Delivery,
    Outcome,
    PublishRefusedError,
    Receipt,
)
from emulator.channels.checkpoint_file import CheckpointFile
from emulator.events import Events
from rdss_sandbox.record_lines import RecordAddress, place_in_key

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_BATCH: Final = 2_000
_NEVER_TAKEN: Final = frozenset({"ValidationException", "InvalidArgumentException"})


class AuditIncompleteError(RuntimeError):
    """The audit stream did not take a message; it stays where it is until it does."""


class Tap:
    """Copies what arrives in the tapped streams to the audit stream, each message once.

    A copy's partition key is the place it was copied from, so that after a
    crash the audit stream itself says which message was copied last.
    ``positions`` are the checkpoints of the tapped streams, and those of the
    audit stream up to which they are known to be right: ``sources`` and
    ``audit`` are opened with them.
    """

    def __init__(
        self,
        sources: Mapping[str, Channel],
        stream: str,
        audit: Channel,
        positions: CheckpointFile,
        events: Events,
    ) -> None:
        self._sources = sources
        self._stream = stream
        self._audit = audit
        self._positions = positions
        self._events = events
        self._recovered = False

    def run_once(self) -> int:
        """Copy one batch of each stream; how many messages that were.

        AuditIncompleteError when a copy failed.
        """
        if not self._recovered:
            self._recover()
            self._recovered = True
        return sum(self._copy(name, source) for name, source in self._sources.items())

    def _copy(self, name: str, source: Channel) -> int:
        try:
            deliveries = source.read(limit=_BATCH)
        except ChannelUnavailableError:
            # One stream that was deleted, or does not answer, must not hold up the others.
            return 0
        entries = [(d.data, RecordAddress(name, d.shard, d.sequence_number).key) for d in deliveries]
        done: dict[str, Delivery] = {}
        copies: dict[str, str] = {}
        try:
            for delivery, outcome in zip(deliveries, self._put(entries), strict=True):
                if isinstance(outcome, Receipt):
                    copies[outcome.shard] = outcome.sequence_number
                else:
                    self._pass_over(name, delivery, outcome)
                done[delivery.shard] = delivery
        finally:
            for shard, sequence_number in copies.items():
                self._positions.put(self._stream, shard, sequence_number)
            for delivery in done.values():
                source.commit(delivery)
        return len(deliveries)

    def _put(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        """A message that can never be taken spoils the call it is in: then each goes alone."""
        outcomes = self._audit.publish_many(entries)
        if not any(_never_taken(outcome) for outcome in outcomes):
            return outcomes
        return [
            self._audit.publish_many([entry])[0] if _never_taken(outcome) else outcome
            for entry, outcome in zip(entries, outcomes, strict=True)
        ]

    def _pass_over(self, name: str, delivery: Delivery, outcome: Outcome) -> None:
        """What can never be copied is told of. AuditIncompleteError for anything that may pass."""
        if not _never_taken(outcome):
            raise AuditIncompleteError(f"a message of {name} could not be copied: {outcome}")
        place = f"{name}/{delivery.shard}/{delivery.sequence_number}"
        self._events.emit("audit.refused", place=place, size=len(delivery.data), why=str(outcome))

    def _recover(self) -> None:
        """Learn from the audit stream what was copied after the positions were last kept."""
        while copies := self._audit.read(limit=_BATCH):
            for copy in copies:
                place = place_in_key(copy.key)
                if place is not None and place.stream in self._sources:
                    self._positions.put(place.stream, place.shard_id, place.sequence_number)
                self._audit.commit(copy)


def _never_taken(outcome: Outcome) -> bool:
    return isinstance(outcome, PublishRefusedError) and outcome.code in _NEVER_TAKEN


def loader(stream: str, bucket: str, s3: Callable[[], S3Client], prefix: str = "") -> Loader:
    """What loads the audit stream into its bucket."""
    return Loader({stream: bucket}, s3, prefix=prefix, sources=True)


@cache
def _deployed() -> Loader:
    environment = os.environ
    stream, bucket = environment.get("AUDIT_STREAM", "audit"), environment["AUDIT_BUCKET"]
    return loader(stream, bucket, s3_of(environment), environment.get("AUDIT_PREFIX", ""))


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """The entry point on AWS Lambda; AUDIT_BUCKET, AUDIT_STREAM and AUDIT_PREFIX are its settings."""
    return _deployed()(event, context)
