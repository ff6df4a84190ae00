"""Which sequences are decided after a batch, and what is read for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from emulator.rng import Chance
from sandbox.pipeline.stages.open_sequences import Decision, OpenSequences
from sandbox.pipeline.storage.files import BatchAttempt, write_here
from sandbox.pipeline.storage.schema import arrow_schema
from sandbox.pipeline.storage.table_log import File
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import Commit, Tables

LIMIT = 60.0
START = datetime(2026, 11, 21, 8, tzinfo=UTC)


class Came(NamedTuple):
    """A part that came ``at`` so many seconds after the start."""

    sequence: str
    position: int
    total: int
    at: float


class Run:
    """A run that decides batch after batch, and commits what it decides as the pipeline does."""

    def __init__(self, folder: Path) -> None:
        self.tables = Tables(TableStorage.at(folder))
        self.tables.prepare()
        self.past = OpenSequences(self.tables, LIMIT)
        self._batch = -1

    def decide(self, *parts: Came) -> Decision:
        """Decide one batch without committing it."""
        return self._decide(parts)[0]

    def take(self, *parts: Came, at: float | None = None) -> dict[str, str]:
        """Decide one batch, and commit it; what was decided, by sequence."""
        decision, attempt, new = self._decide(parts, at)
        finished = [
            {"stream": stream, "sequence": sequence, "status": each.status, "last_arrived": START}
            for (stream, sequence), each in decision.acting.items()
        ]
        files = [*new, *_write(finished, "sequences", attempt)]
        arrivals = [{"stream": "input", "arrived": START + timedelta(seconds=each.at)} for each in parts]
        files += _write(arrivals, "arrivals", attempt)
        self.tables.commit(Commit(attempt.batch, "run", decision.oldest, tuple(files)))
        self._batch = attempt.batch
        return {sequence: each.status for (_, sequence), each in decision.acting.items()}

    def _decide(
        self, parts: tuple[Came, ...], at: float | None = None
    ) -> tuple[Decision, BatchAttempt, list[File]]:
        attempt = BatchAttempt(self.tables.place, self._batch + 1, "t")
        rows = [
            {
                "stream": "input",
                "shard": "0",
                "sequence_number": str(number),
                "sequence": each.sequence,
                "position": each.position,
                "total": each.total,
                "arrived": START + timedelta(seconds=each.at),
            }
            for number, each in enumerate(parts)
        ]
        new = _write(rows, "parts", attempt)
        now = START + timedelta(seconds=max((each.at for each in parts), default=0.0) if at is None else at)
        return self.past.decide(new, attempt.batch, now), attempt, new


def _write(rows: list[dict[str, Any]], table: str, attempt: BatchAttempt) -> list[File]:
    return write_here(pa.Table.from_pylist(rows, schema=arrow_schema(table)), table, attempt) if rows else []


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_sequences_are_due_when_complete_or_late(run: Run) -> None:
    """A complete sequence is joined, one that waited too long is overdue, a finished one is left alone."""
    assert run.take(Came("whole", 1, 2, 0), Came("late", 1, 2, 0), Came("open", 1, 2, 50)) == {}
    assert run.take(Came("whole", 2, 2, 30), Came("whole", 2, 2, 31)) == {"whole": "joined"}
    assert run.take(Came("whole", 1, 2, 70)) == {"late": "overdue"}
    assert run.past.decide([], 9, START + timedelta(seconds=100)).oldest == START.timestamp() + 50


def test_a_part_that_says_another_total_completes_nothing(run: Run) -> None:
    """The first part that came says how many there are, and its sequence waits for those."""
    assert run.take(Came("s", 1, 3, 0), Came("s", 2, 3, 1)) == {}
    assert run.take(Came("s", 3, 4, 2)) == {}
    assert run.take(Came("s", 3, 3, 3)) == {"s": "joined"}


def test_a_batch_that_is_tried_again_decides_the_same(run: Run) -> None:
    """What a batch brought is forgotten until it is committed."""
    run.take(Came("s", 1, 2, 0))
    first = run.decide(Came("s", 2, 2, 1))
    assert first == run.decide(Came("s", 2, 2, 1))
    assert {each.status for each in first.acting.values()} == {"joined"}


def test_parts_of_earlier_batches_are_not_read_again(run: Run) -> None:
    """One open sequence costs no later batch the parts of the day: it decides without their files."""
    for number in range(3):
        run.take(Came("open", 1, 2, number), Came(f"s-{number}", 1, 1, number))
    run.take(at=3)
    for file in run.tables.files("parts"):
        run.tables.place.remove(file.path)
    found = run.decide(Came("open", 2, 2, 4))
    assert {key[1]: each.status for key, each in found.acting.items()} == {"open": "joined"}
    (acting,) = found.acting.values()
    assert acting.batches == {0, 1, 2, 4}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_begins_anew_decides_the_same(seed: int, tmp_path: Path) -> None:
    """What is kept from batch to batch is what the tables say."""
    steady, restarted = Run(tmp_path / "steady"), Run(tmp_path / "restarted")
    draws, decided = Chance(seed).draws("parts"), 0
    for batch in range(8):
        parts = [
            Came(
                draws.choice("abcd"),
                draws.randint(1, 2),
                draws.choice((2, 2, 3)),
                14 * batch + draws.random(),
            )
            for _ in range(3)
        ]
        restarted.past = OpenSequences(restarted.tables, LIMIT)
        found = steady.take(*parts)
        assert found == restarted.take(*parts)
        decided += len(found)
    assert decided
