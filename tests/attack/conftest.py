"""A real sandbox under attack, with good clients beside it.

How to write an attack:

1. The attack is a function at the top of a module of this folder (``http_attacks.py`` for one). It runs in a
   process of its own, so that it does not hold up who measures: it takes strings, numbers and bytes, speaks
   to loopback only, and ends by itself after a bounded time and number of tries.
2. The test takes ``sandbox``: ``sandbox up`` as a process, with ``sandbox.ports`` (and ``sandbox.urls``) by
   the names ``aws``, ``control``, ``queues``, ``topics``. ``rabbit_sandbox`` has ``amqp`` too, where
   rabbitmq-server is installed.
3. It attacks while good clients work on every port, and asserts on what they saw::

       def test_a_flood_of_pings(sandbox: AttackedSandbox) -> None:
           with watched(sandbox) as seen:
               attack(http_attacks.pings, sandbox.ports["control"], 4.0)
           assert_nobody_waited(seen)
           assert sandbox.resident_megabytes() < 300

``assert_nobody_waited`` holds every port to the promise: no request of a good client took more than half a
second longer than the longest one to a bystander, a server that is not ours and does nothing: that is what
the machine took from everybody, attackers and other suites included. ``seen.failures`` has what went wrong
for the good clients; in a test that passes nothing did.

``sandbox`` lasts for a module; ``fresh_sandbox`` is started for one test, for those that count memory or end
the process. All are marked ``slow``. Nobody listens or connects beyond loopback.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.rabbitmq.broker_process import find_server
from tests.attack.attacked_sandbox import AttackedSandbox


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group("attack"))


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedSandbox]:
    with AttackedSandbox(tmp_path_factory.mktemp("sandbox")) as running:
        yield running


@pytest.fixture
def fresh_sandbox(tmp_path: Path) -> Iterator[AttackedSandbox]:
    with AttackedSandbox(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def rabbit_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedSandbox]:
    """A sandbox with RabbitMQ behind its AMQP port."""
    if find_server(os.environ) is None:
        pytest.skip("rabbitmq-server is not installed: the AMQP port has nothing behind it")
    with AttackedSandbox(
        tmp_path_factory.mktemp("sandbox"), "--amqp", "server", "--amqp-port", "0"
    ) as running:
        running.await_amqp()
        yield running
