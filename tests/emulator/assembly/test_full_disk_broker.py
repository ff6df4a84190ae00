"""A sandbox that was started on a full disk: its AMQP port answers as soon as there is space."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pika
import pytest

from emulator.amqp.broker import Broker
from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import stopwatch
from emulator.relay.amqp import embedded_upstream
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.topology import Topology
from tests.emulator.assembly.test_full_disk import Disk, real_disk
from tests.waiting import wait_until

_SECONDS = 5.0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with real_disk(folder) as made:
        yield made


@contextmanager
def running(disk: Disk) -> Iterator[Embedded]:
    settings = Settings(
        data_dir=disk.folder / "data",
        amqp="embedded",
        aws_port=0,
        control_port=0,
        amqp_port=0,
        amqp_management_port=0,
        topology=Topology(streams={}, buckets=()),
    )
    with embedded(settings) as emulator:
        yield emulator


def open_connection(emulator: Embedded) -> pika.BlockingConnection:
    parameters = pika.URLParameters(str(emulator.broker.url))
    parameters.socket_timeout = parameters.stack_timeout = 30
    return pika.BlockingConnection(parameters)


def wait_for_note(emulator: Embedded, text: str) -> None:
    wait_until(
        lambda: any(text in note for note in emulator.status().notes),
        seconds=30,
        shown=lambda: emulator.status().notes,
    )


def test_the_port_answers_on_a_full_disk(disk: Disk) -> None:
    """What was confirmed before is there, and more is taken when there is space."""
    kept = pika.BasicProperties(delivery_mode=2)
    with running(disk) as emulator, closing(open_connection(emulator)) as connection:
        channel = connection.channel()
        channel.queue_declare("q", durable=True)
        channel.confirm_delivery()
        for number in range(5):
            channel.basic_publish("", "q", b"%d" % number, kept)
    disk.fill()
    with running(disk) as emulator, closing(open_connection(emulator)) as connection:
        channel = connection.channel()
        assert [channel.basic_get("q", auto_ack=True)[2] for _ in range(5)] == [b"%d" % n for n in range(5)]
        disk.free()
        channel.confirm_delivery()
        channel.basic_publish("", "q", b"late", kept)
        assert channel.basic_get("q")[2] == b"late"


def test_the_port_answers_soon_after_there_is_space(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the broker needs room to start: the status says so, and clients that connected are answered."""
    full = [True]

    def build(*given: Any, **named: Any) -> Broker:
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return Broker(*given, **named)

    monkeypatch.setattr(embedded_upstream, "Broker", build)
    with running(disk) as emulator:
        wait_for_note(emulator, "the AMQP port answers as soon as there is space")
        kinds = [event.kind for event in emulator.components.events.since(0)]
        assert kinds.count("broker.waits") == 1
        full.clear()
        began = stopwatch()
        with closing(open_connection(emulator)):
            assert stopwatch() - began < _SECONDS
        wait_for_note(emulator, "own broker")


def test_a_sandbox_stops_while_its_broker_waits_for_space(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop of tries ends, and the port is free again."""

    def build(*_given: Any, **_named: Any) -> Broker:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(embedded_upstream, "Broker", build)
    with running(disk) as emulator:
        wait_for_note(emulator, "as soon as there is space")
        port = pika.URLParameters(str(emulator.broker.url)).port
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))
