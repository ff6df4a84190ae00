"""The topics benchmark counts what arrived, not what was sent."""

from __future__ import annotations

import pytest

from tests.bench.load import BadAnswerError
from tests.extensions.topics.bench_topics_wire import WebSocket, frame, over_the_wire, sandbox


def test_every_measure_is_taken() -> None:
    """Two rates of publishes that all arrived, and a time of requests that were all answered."""
    rows = over_the_wire(messages=300, requests=5)
    assert [row.unit for row in rows] == ["publishes/s", "publishes/s", "ms"]
    assert all(row.value > 0 for row in rows)


def test_a_connection_that_ends_is_no_arrival() -> None:
    """Messages that never came are not counted as fast ones."""
    with sandbox() as port, WebSocket(port) as socket:
        socket.send(b"\x88\x80" + bytes(4))
        with pytest.raises(BadAnswerError, match="1 still to come"):
            socket.wait_for(b"never", 1)
    assert frame({"cmd": "x" * 200})[1] == 0xFE
