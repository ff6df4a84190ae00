"""What an answer means for a batch, and what is tried again: retries, bisection, partial failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from emulator.channels.channel import Delivery
from extensions.functions.mappings.mapping import FOREVER, PARTIAL, Mapping
from extensions.functions.runtime.environment import Outcome


class Batch(NamedTuple):
    """Records of one shard. ``failures`` counts the invocations that failed and were no reason to split."""

    records: Sequence[Delivery]
    failures: int = 0


class Next(NamedTuple):
    """What follows a failure: what is tried again, in order, and what is given up."""

    again: tuple[Batch, ...] = ()
    given_up: Sequence[Delivery] = ()


OLD: Final = "RecordAgeExceeded"
EXHAUSTED: Final = "RetryAttemptsExhausted"


class GivenUp(NamedTuple):
    """Records that are not tried again: why, after how many invocations, and what came of the last one."""

    records: Sequence[Delivery]
    condition: str
    calls: int
    outcome: Outcome | None


class _ItemFailure(msgspec.Struct):
    identifier: str | None = msgspec.field(default=None, name="itemIdentifier")


class _FailedItems(msgspec.Struct):
    failures: list[_ItemFailure] | None = msgspec.field(default=None, name="batchItemFailures")


_decode: Final = msgspec.json.Decoder(_FailedItems | None).decode


def failed_items(payload: bytes, identifiers: Sequence[str]) -> frozenset[str]:
    """The items that an answer with partial failures names.

    None for an answer without failures; all where an identifier is missing, or of no item (Lambda, "Success
    and failure conditions").
    """
    try:
        answer = _decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return frozenset()
    named = {each.identifier for each in answer.failures or ()} if answer else set()
    known = frozenset(identifiers)
    return frozenset(each for each in named if each) if named <= known else known


def count_done(payload: bytes, identifiers: Sequence[str]) -> int:
    """How many of the items, from the first on, come before the first that an answer names as failed."""
    failed = failed_items(payload, identifiers)
    places = (place for place, identifier in enumerate(identifiers) if identifier in failed)
    return next(places, len(identifiers))


def follow_failure(batch: Batch, done: int, mapping: Mapping) -> Next:
    """What follows when the records behind the first ``done`` ones have failed.

    A batch is split at the record that was reported, or in two, without counting as a retry
    (Lambda, "Error handling" and "Bisecting a batch").
    """
    rest = batch.records[done:]
    if mapping.bisect and done:
        return Next((Batch(rest, batch.failures),))
    if mapping.bisect and len(rest) > 1:
        half = len(rest) // 2
        return Next((Batch(rest[:half], batch.failures), Batch(rest[half:], batch.failures)))
    failures = 1 if done else batch.failures + 1
    if mapping.retries != FOREVER and failures > mapping.retries:
        return Next(given_up=rest)
    return Next((Batch(rest, failures),))


def reports_failures(mapping: Mapping) -> bool:
    """Whether an answer may say which records have failed."""
    return PARTIAL in mapping.response_types


def split_old(records: Sequence[Delivery], mapping: Mapping, now: float) -> int:
    """How many records, from the first on, are older than the mapping allows."""
    if mapping.record_age == FOREVER:
        return 0
    old = (place for place, each in enumerate(records) if now - each.arrived <= mapping.record_age)
    return next(old, len(records))
