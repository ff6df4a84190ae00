"""The benchmark of queues counts claims that held what they should."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager

import pytest

from tests.bench.rows import US
from tests.extensions.queues import bench_queues as queues


def test_every_measure_is_taken_and_a_missing_peer_is_said_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the five for ourselves, and a line for who could not be installed."""

    @contextmanager
    def missing():
        raise subprocess.CalledProcessError(1, "pip install zaqar")
        yield

    monkeypatch.setattr(queues, "_zaqar", missing)
    rows = list(queues.measure(claims=40, held=100, rounds=1))
    assert [(row.subject, row.value > 0) for row in rows] == [(US, True)] * 5
    assert "no real Zaqar beside us" in capsys.readouterr().err


def test_an_answer_that_is_none_is_not_counted() -> None:
    """A 204 where a claim was expected is an error, not a fast answer."""
    with pytest.raises(AssertionError, match="204 instead of 201"):
        queues._expect(201, queues.Reply(204, "", b""))
