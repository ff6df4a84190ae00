"""Who was given a record, and when: what is kept of the reads of a shard."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.diagnosis.shard_record import MOST_STEPS, ReadingRun, RecordDelivery, ShardRecord


def read_all(batches: list[int]) -> tuple[ReadingRun, list[tuple[int, float]]]:
    """A run that reads so many records each second, and for each record its ordinal and time."""
    run = ReadingRun("TRIM_HORIZON", 1, None, 0.0, 0.0)
    given: list[tuple[int, float]] = []
    position = 1
    for second, count in enumerate(batches, 1):
        given += [(ordinal, float(second)) for ordinal in range(position, position + count)]
        position += count
        run.note_read(position, float(second), float(second), count > 0)
    return run, given


@given(st.lists(st.integers(0, 5), max_size=300))
def test_a_delivery_lies_in_its_bounds_however_long_ago(batches: list[int]) -> None:
    """The reads kept are few, the last ones are exact, and what was given is never taken for not given."""
    run, records = read_all(batches)
    assert len(run.steps) <= MOST_STEPS
    for ordinal, at in records:
        found = run.find_delivery(ordinal)
        assert found is not None
        assert found.after <= at <= found.at
    newest = [at for _, at in records if at > (records[-1][1] if records else 0) - MOST_STEPS // 2]
    assert all(
        run.find_delivery(ordinal) == RecordDelivery(at, at)
        for ordinal, at in records[-len(newest) :]
        if newest
    )
    assert run.find_delivery(run.position) is None
    assert run.find_delivery(0) is None


def test_a_run_that_is_over_keeps_its_deliveries_within_bounds() -> None:
    """After another run began on the shard, earlier deliveries are told less exactly, and none is lost."""
    run, records = read_all([1] * 100)
    record = ShardRecord(1, 0, "input")
    record.begin(run, 0.0)
    record.begin(ReadingRun("LATEST", 101, None, 101.0, 101.0), 101.0)
    assert len(run.steps) <= 8
    for ordinal, at in records:
        found = run.find_delivery(ordinal)
        assert found is not None
        assert found.after <= at <= found.at


def test_what_a_read_passed_over_is_not_delivered_until_it_comes() -> None:
    """A fault that holds a record back: it is told as given when it is given, and not before."""
    run = ReadingRun("TRIM_HORIZON", 1, None, 0.0, 0.0)
    run.note_apart(1, 4, [1, 3], 1.0)
    run.note_read(4, 1.0, 1.0, True)
    assert run.find_delivery(1) == RecordDelivery(1.0, 1.0)
    assert run.find_delivery(2) is None
    run.note_apart(4, 5, [2, 4], 2.0)
    run.note_read(5, 2.0, 2.0, True)
    assert run.find_delivery(2) == RecordDelivery(2.0, 2.0)
    assert run.find_delivery(4) == RecordDelivery(2.0, 2.0)
