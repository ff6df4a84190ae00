"""One batch: the stages in their order, from records to a commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sandbox.pipeline.deduplication import marked_in
from sandbox.pipeline.figures import counted
from sandbox.pipeline.files import Attempt, write_here
from sandbox.pipeline.identities import Identities
from sandbox.pipeline.parsing import judging
from sandbox.pipeline.routing import routed, write_outcomes
from sandbox.pipeline.sequences import write_finished
from sandbox.pipeline.storing import Incoming, store
from sandbox.pipeline.tables import Commit


@dataclass(frozen=True)
class Rules:
    """What the stages go by. ``dedupe_window`` and ``sequence_limit`` are seconds of arrival time.

    ``as_published`` judges messages as the published schema files do.
    """

    queues: tuple[str, ...] = ("error", "invalid")
    dedupe_window: float = 86_400.0
    sequence_limit: float = 900.0
    as_published: bool = False


def process(incoming: Incoming, past: Identities, rules: Rules, attempt: Attempt, run: str) -> Commit:
    """Take a batch through every stage and commit what came of it to the tables of ``past``."""
    tables, oldest = past.tables, past.tables.oldest_open
    stored = store(incoming, judging(rules.queues, as_published=rules.as_published), attempt)
    if not stored.files:
        commit = Commit(attempt.batch, run, None, None, oldest, ())
        tables.commit(commit)
        return commit
    # Lines that are no records have no arrival either, and may be all that there is.
    now = stored.even or datetime.fromtimestamp(0, UTC)
    first, last = (at.timestamp() if at else None for at in (stored.first, stored.last))
    marked = marked_in(stored.rows, stored.keys, first or 0.0, past)
    rows = routed(marked, rules.queues)
    outcomes = write_outcomes(rows, attempt)
    files = [*stored.files, *outcomes, *write_here(counted(rows), "figures", attempt)]
    parts = [file for file in outcomes if file.table == "parts"]
    if parts or (oldest is not None and oldest < now.timestamp() - rules.sequence_limit):
        limit, as_published = rules.sequence_limit, rules.as_published
        finished, oldest = write_finished(
            rows.sparkSession, parts, tables, attempt, now=now, limit=limit, as_published=as_published
        )
        files += finished
    commit = Commit(attempt.batch, run, first, last, oldest, tuple(files))
    tables.commit(commit)
    for frame in (marked, stored.rows):
        frame.unpersist()
    return commit
