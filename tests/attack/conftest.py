"""A real sandbox under attack, with good clients beside it.

How to write an attack:

1. The attack is a function at the top of a module of this folder (``http_attacks.py`` for one). It runs in a
   process of its own, so that it does not hold up who measures: it takes strings, numbers and bytes, speaks
   to loopback only, and ends by itself after a bounded time and number of tries.
2. The test takes ``house``: ``sandbox up`` as a process, with ``house.ports`` (and ``house.urls``) by the
   names ``aws``, ``control``, ``queues``, ``topics``. ``rabbit_house`` has ``amqp`` too, where
   rabbitmq-server is installed.
3. It attacks while good clients work on every port, and asserts on what they saw::

       def test_a_flood_of_pings(house: House) -> None:
           with watched(house) as seen:
               attack(http_attacks.pings, house.ports["control"], 4.0)
           assert_nobody_waited(seen)
           assert house.resident_megabytes() < 300

``assert_nobody_waited`` holds every port to the promise: no request of a good client took more than half a
second longer than the longest one to a bystander, a server that is not ours and does nothing: that is what
the machine took from everybody, attackers and other suites included. ``seen.failures`` has what went wrong
for the good clients; in a test that passes nothing did.

``house`` lasts for a module; ``fresh_house`` is started for one test, for those that count memory or end the
process. All are marked ``slow``. Nobody listens or connects beyond loopback.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.rabbitmq.broker_process import find_server
from tests.attack.attacked_sandbox import House


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.xdist_group("attack"))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with House(tmp_path_factory.mktemp("house")) as running:
        yield running


@pytest.fixture
def fresh_house(tmp_path: Path) -> Iterator[House]:
    with House(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def rabbit_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house with RabbitMQ behind its AMQP port."""
    if find_server(os.environ) is None:
        pytest.skip("rabbitmq-server is not installed: the AMQP port has nothing behind it")
    with House(tmp_path_factory.mktemp("house"), "--amqp", "auto", "--amqp-port", "0") as running:
        running.await_amqp()
        yield running
