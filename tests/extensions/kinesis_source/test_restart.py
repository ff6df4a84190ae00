"""A run of which Spark loses a Python process: one that dies, or starts too late on a busy machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from sandbox.pipeline import pipeline_run as running
from sandbox.pipeline.pipeline_run import Job
from sandbox.pipeline.spark.failures import PipelineFailedError, WorkerLostError, describe_failure
from sandbox.pipeline.storage.table_storage import TableStorage
from sandbox.pipeline.storage.table_store import Tables


def _late(monkeypatch: pytest.MonkeyPatch, times: int, place: Path) -> None:
    """Makes the first ``times`` queries end late."""
    left = iter(range(times))

    @contextmanager
    def query(*_: Any) -> Iterator[tuple[Any, Tables]]:
        if next(left, None) is not None:
            raise WorkerLostError("late")
        tables = Tables(TableStorage.at(place))
        tables.prepare()
        yield object(), tables

    monkeypatch.setattr(running, "_open_query", query)


@pytest.mark.parametrize(("late", "ends"), [(0, True), (1, True), (5, True), (6, False)])
def test_a_query_that_starts_too_late_begins_anew_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, late: int, ends: bool
) -> None:
    """Five times the run tries again and says so; the sixth time, when a minute is lost, it fails."""
    _late(monkeypatch, late, tmp_path)
    job, attended, said = Job(TableStorage.at(tmp_path)), list[object](), list[str]()

    def tell(what: str, _share: float) -> None:
        said.append(what)

    def ran() -> Tables:
        return running._run_query(cast("Any", None), job, {}, tell, lambda query, _: attended.append(query))

    if ends:
        assert ran().rows()["arrivals"] == 0
    else:
        with pytest.raises(WorkerLostError):
            ran()
    assert len(attended) == ends
    assert said == ["Spark lost a Python process: starting again"] * min(late, 5)


@pytest.mark.parametrize(
    "said",
    [
        "Job aborted ...: Python worker failed to connect back.\n\tat ...",
        "Job aborted ...: Python worker exited unexpectedly (crashed)\n\tat ...",
        "[STREAM_FAILED] Query [id = 1] terminated with exception:  SQLSTATE: XXKST\n=== Streaming Query ===",
    ],
)
def test_what_spark_says_of_a_lost_python_is_known_as_such(said: str) -> None:
    """A worker that was late, one that died, and a planner that died: of that one Spark gives no reason."""
    lost = describe_failure(RuntimeError(said))
    assert isinstance(lost, WorkerLostError)
    assert "too busy" in str(lost)


def test_no_other_error_of_spark_is_taken_for_a_lost_python() -> None:
    """What has a reason would fail again, and is told at once."""
    failed = "[STREAM_FAILED] Query [id = 1] terminated with exception: no space left SQLSTATE: XXKST"
    for said in ("no space left", failed):
        assert type(describe_failure(RuntimeError(said))) is PipelineFailedError
