"""The measure of a class counts every sandbox, and each gets what is sent to it."""

from __future__ import annotations

from pathlib import Path

from rdss_sandbox.client import Client
from tests.bench.classroom import proportional_megabytes, sandboxes, send_to
from tests.bench.subjects import processor_seconds


def test_every_seat_has_a_sandbox_of_its_own(tmp_path: Path) -> None:
    """Two seats are two processes with data of their own, and each gets the messages of its seat."""
    with sandboxes(2, tmp_path) as running:
        assert len({each.pid for each in running}) == len({each.aws for each in running}) == 2
        assert [each.data_dir for each in running] == [str(tmp_path / f"seat-{n}/data") for n in (1, 2)]
        # A start costs much more than the hundredth of a second that processor time is counted in.
        assert all(0.1 <= processor_seconds(each.pid or 0) < 60 for each in running)
        assert all(10 < proportional_megabytes(each.pid) < 100 for each in running)
        send_to(running[:1], per_second=7, seconds=1)
        streams = []
        for each in running:
            with Client(each.control) as client:
                streams.append({view.name: view.records for view in client.streams()}["input"])
    assert streams == [7, 0]
