"""One batch: the stages in their order, from records to a commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from emulator.settings.topologies import message_stream
from sandbox.pipeline.deduplication import Identities, mark_batch
from sandbox.pipeline.figures import count_figures
from sandbox.pipeline.files import Attempt, write_here
from sandbox.pipeline.parsing import build_judge
from sandbox.pipeline.routing import choose_tables, write_outcomes
from sandbox.pipeline.sequences import write_finished
from sandbox.pipeline.storing import Incoming, store
from sandbox.pipeline.tables import Commit
from schemas.rdss.contract import RDSS
from schemas.rdss.error_codes import Queue


@dataclass(frozen=True)
class Rules:
    """The settings of the stages. ``queues`` are the streams of the error and the invalid queue.

    ``dedupe_window`` and ``sequence_limit`` are seconds of arrival time.
    ``as_published`` judges messages as the published schema files do.
    """

    queues: tuple[str, ...] = (*Queue, *map(message_stream, Queue))
    dedupe_window: float = 86_400.0
    sequence_limit: float = RDSS.sequences.patience
    as_published: bool = False


def process(incoming: Incoming, past: Identities, rules: Rules, attempt: Attempt, run: str) -> Commit:
    """Take a batch through every stage and commit the results to the tables of ``past``.

    A batch without rows needs no commit.
    """
    tables, oldest = past.tables, past.tables.oldest_open
    stored = store(incoming, build_judge(rules.queues, as_published=rules.as_published), attempt)
    if not stored.files:
        return Commit(attempt.batch, run, oldest, ())
    # A batch can consist of lines that are no records, which have no time of arrival.
    now = stored.even or datetime.fromtimestamp(0, UTC)
    spark = incoming.rows.sparkSession
    rows = choose_tables(mark_batch(stored.rows, past), rules.queues)
    outcomes = write_outcomes(spark, rows, attempt)
    files = [*stored.files, *outcomes, *write_here(count_figures(rows), "figures", attempt)]
    parts = [file for file in outcomes if file.table == "parts"]
    if parts or (oldest is not None and oldest < now.timestamp() - rules.sequence_limit):
        limit, as_published = rules.sequence_limit, rules.as_published
        finished, oldest = write_finished(
            spark, parts, tables, attempt, now=now, limit=limit, as_published=as_published
        )
        files += finished
    commit = Commit(attempt.batch, run, oldest, tuple(files))
    tables.commit(commit)
    return commit
