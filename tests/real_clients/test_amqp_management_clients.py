"""Clients of RabbitMQ's management API, as they come from the registry, at the sandbox's own broker."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pika
import pytest
from pika.exceptions import ConnectionClosedByBroker

from rdss_sandbox.client import Client
from rdss_sandbox.process import sandbox_process
from tests.real_clients import install
from tests.real_clients.sandbox_process import installed

pytestmark = [pytest.mark.real_client, pytest.mark.timeout(600)]
_PROGRAM = Path(__file__).with_name("management_clients.py")


@pytest.fixture(scope="module")
def environment() -> Path:
    return installed(
        "clients of the management API",
        lambda: install.python_environment("management", *install.MANAGEMENT_CLIENTS),
    )


@pytest.fixture(scope="module")
def broker() -> Iterator[tuple[str, str]]:
    """The URL of the AMQP port, and that of the management API."""
    with sandbox_process() as sandbox, Client(sandbox.control) as client:
        management = client.status().amqp_management
        assert sandbox.amqp is not None
        assert management is not None
        yield sandbox.amqp, management


@pytest.fixture
def worker(broker: tuple[str, str]) -> Iterator[pika.BlockingConnection]:
    """A client that is connected."""
    connection = pika.BlockingConnection(pika.URLParameters(broker[0]))
    yield connection
    if connection.is_open:
        connection.close()


@pytest.fixture
def use(environment: Path, broker: tuple[str, str]) -> Callable[[str], dict[str, Any]]:
    """Lets a client use the API, and returns what came of it."""

    def run(name: str) -> dict[str, Any]:
        command = [str(environment / "python"), str(_PROGRAM), name, urlsplit(broker[1]).netloc]
        ran = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=60)
        found: dict[str, Any] = json.loads(ran.stdout)
        return found

    return run


def test_pyrabbit2_declares_publishes_takes_purges_and_closes(
    use: Callable[[str], dict[str, Any]], worker: pika.BlockingConnection
) -> None:
    """What it declares it finds, binds and deletes; the client whose connection it closes is told so."""
    assert use("pyrabbit2") == {
        "alive": True,
        "user": "guest",
        "routed": True,
        "bound": ["thesis"],
        "taken": ["a message"],
        "purged": 204,
        "left": [],
        "queues": [],
    }
    with pytest.raises(ConnectionClosedByBroker) as closed:
        worker.process_data_events(time_limit=10)
    assert closed.value.reply_code == 320


@pytest.mark.usefixtures("worker")
def test_rabbitmq_admin_declares_and_reads(use: Callable[[str], dict[str, Any]]) -> None:
    """Exchanges, consumers and connections of the one virtual host."""
    assert use("rabbitmq-admin") == {
        "alive": True,
        "user": "guest",
        "exchange": "direct",
        "consumers": [],
        "connected": ["running"],
        "exchanges": [],
    }
