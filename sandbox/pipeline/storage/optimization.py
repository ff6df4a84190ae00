"""Housekeeping of the tables: small files are joined, and files that only old versions have are removed."""

from __future__ import annotations

import msgspec

from sandbox.pipeline.spark.failures import PipelineFailedError
from sandbox.pipeline.storage.table_log import TableLog
from sandbox.pipeline.storage.table_store import Tables


class Optimized(msgspec.Struct, frozen=True):
    """The number of files of a table before and now, and of files of older versions that were removed."""

    before: int
    now: int
    removed: int


def optimize_tables(tables: Tables, keep_hours: int) -> dict[str, Optimized]:
    """Join the small files of each table; remove what no version of the last ``keep_hours`` has.

    A reader of an older version is safe for that time. A run may go on beside it, unless ``keep_hours`` is
    0, since the files of a batch that is not committed yet look like those of a dead run. Raises
    PipelineFailedError when another process keeps changing a table.
    """
    return {name: _optimize(tables.log(name), keep_hours) for name in tables.present}


def _optimize(log: TableLog, keep_hours: int) -> Optimized:
    from deltalake.exceptions import CommitFailedError

    log.refresh()
    before = len(log.files())
    # Others are written anew with every publication, which would only make this one fail.
    if log.table.grows and before > 1:
        try:
            log.delta.optimize.compact()
        except CommitFailedError as conflict:
            raise PipelineFailedError(f"{log.name} was changed meanwhile; try again: {conflict}") from None
    removed = log.delta.vacuum(keep_hours, dry_run=False, enforce_retention_duration=False)
    log.refresh()
    return Optimized(before, len(log.files()), len(removed))
