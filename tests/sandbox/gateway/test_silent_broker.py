"""A gateway whose broker does not answer says so, within its time-out and in one line."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from emulator.channels.channel import ChannelUnavailableError
from emulator.clock import Clock, stopwatch
from sandbox.gateway import GatewaySettings, open_gateway
from sandbox.repository import Repository

TIMEOUT = 2.0


@pytest.fixture(params=["closed", "mute"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """A port that nobody listens on, or one that accepts and never speaks."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if request.param == "mute":
            listener.listen()
        yield listener.getsockname()[1]


def test_a_broker_that_does_not_answer_is_told_within_the_timeout(port: int, tmp_path: Path) -> None:
    """With the channel and the address, without the password; not after the ten retries of a send."""
    clock = Clock()
    address = f"amqp://guest:secret@127.0.0.1:{port}/"
    settings = GatewaySettings(queue="rabbitmq", address=address, timeout=TIMEOUT)
    began = stopwatch()
    with closing(Repository(tmp_path / "local.sqlite3", clock)) as repository:
        failing = open_gateway(settings, repository, clock)
        with pytest.raises(ChannelUnavailableError) as told, failing as gateway:
            gateway.delete("5680e8e0-28a5-4b20-948e-fd0d08781e0b")
    assert stopwatch() - began < TIMEOUT + 15
    said = str(told.value)
    assert said.startswith(f"input: no broker answers at amqp://127.0.0.1:{port}/ within 2 s: ")
    assert "\n" not in said
    assert "secret" not in said
