"""What the events of a sandbox say about its faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.pipeline.reports.impact import FaultInjection, count_by_interval, read_injections
from sandbox.pipeline.spark.failures import UsageError


def test_events_are_read_as_a_run_leaves_them_and_as_the_control_api_tells_them(tmp_path: Path) -> None:
    """Both forms of an event give the same faults; other events are passed over."""
    file = tmp_path / "events.ndjson"
    file.write_text(
        '{"id":1,"time":5.5,"kind":"fault.injected","fields":{"type":"latency","message_id":"a","data":{}}}\n'
        '{"id":2,"time":6,"kind":"message.sent","message_id":"b"}\n\n'
        '{"id":3,"time":7,"kind":"fault.injected","type":"reshard","message_id":null}\n'
    )
    assert read_injections(file) == [
        FaultInjection("latency", 5.5, "a"),
        FaultInjection("reshard", 7.0, None),
    ]


@pytest.mark.parametrize("content", [b"not json\n", b'{"kind":"fault.injected"}\n', None])
def test_a_file_that_holds_no_events_is_a_mistake_of_usage(tmp_path: Path, content: bytes | None) -> None:
    """Anything else is refused in one line that names the file."""
    file = tmp_path / "other.ndjson"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=r"other\.ndjson is not a file of events"):
        read_injections(file)


def test_faults_fall_into_the_interval_in_which_they_struck() -> None:
    """The start of an interval belongs to it, its end to the next; between intervals nothing is counted."""
    faults = [FaultInjection("latency", at, None) for at in (0.0, 59.9, 60.0, 125.0)]
    found = count_by_interval([*faults, FaultInjection("reshard", 61.0, None)], [0.0, 60.0, 180.0], 60.0)
    assert found == [{"latency": 2}, {"latency": 1, "reshard": 1}, {}]
