"""One batch: the stages in their order, from records to a commit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from emulator.settings.topologies import message_stream
from rdss_sandbox.shapes.streams import AMQP_PREFIX
from sandbox.pipeline.stages.deduplication import Identities, mark_batch
from sandbox.pipeline.stages.minute_figures import count_figures
from sandbox.pipeline.stages.open_sequences import OpenSequences
from sandbox.pipeline.stages.parsing import build_judge
from sandbox.pipeline.stages.sequences import write_finished
from sandbox.pipeline.stages.storing import Incoming, store
from sandbox.pipeline.stages.table_choice import choose_tables, write_outcomes
from sandbox.pipeline.storage.files import BatchAttempt, write_here
from sandbox.pipeline.storage.table_store import Commit, Tables
from schemas.bound import CONTRACT
from schemas.contract import Contract, list_queues


@dataclass(frozen=True)
class Rules:
    """The settings of the stages. ``queues`` are the streams of the error and the invalid queue, on any port.

    ``dedupe_window`` and ``sequence_limit`` are seconds of arrival time.
    """

    queues: tuple[str, ...] = tuple(
        name
        for queue in list_queues(CONTRACT)
        for name in (queue, message_stream(queue), f"{AMQP_PREFIX}{queue}")
    )
    dedupe_window: float = 86_400.0
    sequence_limit: float = CONTRACT.sequences.patience if CONTRACT.sequences else 0.0
    contract: Contract = CONTRACT


class Past(NamedTuple):
    """What the driver keeps of the batches before: the identities, and the open sequences."""

    identities: Identities
    sequences: OpenSequences

    @staticmethod
    def of(tables: Tables, rules: Rules) -> Past:
        """What is in some tables, as far as the rules need it. It is read with the first batch."""
        return Past(Identities(tables, rules.dedupe_window), OpenSequences(tables, rules.sequence_limit))


def process(incoming: Incoming, past: Past, rules: Rules, attempt: BatchAttempt, run: str) -> Commit:
    """Take a batch through every stage and commit the results to the tables of ``past``.

    A batch without rows needs no commit.
    """
    tables = past.sequences.tables
    oldest = tables.oldest_open
    stored = store(incoming, build_judge(rules.queues, rules.contract), attempt, rules.contract)
    if not stored.files:
        return Commit(attempt.batch, run, oldest, ())
    # A batch can consist of lines that are no records, which have no time of arrival.
    now = stored.even or datetime.fromtimestamp(0, UTC)
    spark = incoming.rows.sparkSession
    rows = choose_tables(mark_batch(stored.rows, past.identities), rules.queues)
    outcomes = write_outcomes(spark, rows, attempt, rules.contract)
    files = [*stored.files, *outcomes, *write_here(count_figures(rows, rules.contract), "figures", attempt)]
    parts = [file for file in outcomes if file.table == "parts"]
    if parts or (oldest is not None and oldest < now.timestamp() - rules.sequence_limit):
        finished, oldest = write_finished(
            spark, parts, past.sequences, attempt, now=now, contract=rules.contract
        )
        files += finished
    commit = Commit(attempt.batch, run, oldest, tuple(files))
    tables.commit(commit)
    return commit
