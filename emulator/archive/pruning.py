"""Removes old or excess objects and events, on request and by ``retention``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from emulator.archive.lambda_loader import OBJECT_NAME
from emulator.clock import Clock
from emulator.events import Events
from emulator.scheduler import Scheduler
from rdss_sandbox.shapes.pruning import Prune, Pruned, PrunedPart
from rdss_sandbox.shapes.topology import Topology

if TYPE_CHECKING:
    from emulator.buckets.service import BucketService

_DELETED_PER_CALL: Final = 1000
"""The most objects that S3 deletes in one call."""
_LOOKS: Final = 20
"""How many times retention is applied within its length, at least a second and at most an hour apart."""
_SHORTEST_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 3600.0


class NoSuchBucketError(Exception):
    """A named bucket does not exist."""


class _Stored(NamedTuple):
    modified: float
    key: str
    size: int


class Pruning:
    """Removes what a ``Prune`` selects. After ``start`` it also applies ``retention`` (clock seconds)."""

    def __init__(
        self,
        buckets: BucketService,
        events: Events,
        clock: Clock,
        topology: Topology,
        retention: float | None = None,
    ) -> None:
        self._buckets = buckets
        self._events = events
        self._clock = clock
        self._filled = {*topology.archives.values()} | ({topology.audit.bucket} if topology.audit else set())
        self._retention = retention
        self._pruning = threading.Lock()
        self._scheduler = Scheduler(clock, "retention", self._emit_failure)

    def start(self) -> None:
        if (age := self._retention) is not None:
            pause = min(max(age / _LOOKS, _SHORTEST_SECONDS), _LONGEST_SECONDS)
            self._scheduler.every(pause, lambda: self.prune(Prune(older_than=age)))

    def close(self) -> None:
        self._scheduler.close()

    def prune(self, limits: Prune) -> Pruned:
        """Remove what ``limits`` selects. Raises ``NoSuchBucketError``, OSError, and what boto3 raises."""
        with self._pruning:
            buckets = limits.buckets or self._list_filled_buckets()
            parts = [self._prune_bucket(name, limits) for name in buckets]
            if not limits.buckets:
                removed, size, kept = self._events.prune(
                    limits.older_than, limits.keep_bytes, dry_run=limits.dry_run
                )
                parts.append(PrunedPart("events", removed, size, kept))
            done = [part for part in parts if part.removed]
            if done and not limits.dry_run:
                counts = {part.name: {"removed": part.removed, "bytes": part.bytes} for part in done}
                self._events.emit("pruned", parts=counts)
            return Pruned(limits.dry_run, tuple(parts))

    def _list_filled_buckets(self) -> list[str]:
        """The existing buckets that the sandbox fills. Before S3 is started they are empty: none then."""
        if not self._filled or not self._buckets.started:
            return []
        there = {bucket["Name"] for bucket in self._buckets.client().list_buckets()["Buckets"]}
        return sorted(self._filled & there)

    def _prune_bucket(self, name: str, limits: Prune) -> PrunedPart:
        objects = sorted(self._list_objects(name, everything=bool(limits.buckets)), reverse=True)
        oldest = -1.0 if limits.older_than is None else self._clock.time() - limits.older_than
        gone: list[_Stored] = []
        size = 0
        for each in objects:
            size += each.size
            if each.modified < oldest or (limits.keep_bytes is not None and size > limits.keep_bytes):
                gone.append(each)
        if not limits.dry_run:
            for start in range(0, len(gone), _DELETED_PER_CALL):
                keys = [{"Key": each.key} for each in gone[start : start + _DELETED_PER_CALL]]
                self._buckets.client().delete_objects(Bucket=name, Delete={"Objects": keys, "Quiet": True})  # type: ignore[typeddict-item]
        return PrunedPart(name, len(gone), sum(each.size for each in gone), len(objects) - len(gone))

    def _list_objects(self, bucket: str, *, everything: bool) -> Iterator[_Stored]:
        from botocore.exceptions import ClientError

        pages = self._buckets.client().get_paginator("list_objects_v2").paginate(Bucket=bucket)
        try:
            for page in pages:
                for found in page.get("Contents", ()):
                    if everything or OBJECT_NAME.fullmatch(found["Key"]):
                        yield _Stored(found["LastModified"].timestamp(), found["Key"], found["Size"])
        except ClientError as error:
            if error.response["Error"]["Code"] != "NoSuchBucket":
                raise
            raise NoSuchBucketError(f"there is no bucket {bucket}") from error

    def _emit_failure(self, error: Exception) -> None:
        self._events.emit("retention.failed", why=str(error) or repr(error))
