"""Attacks on the sandbox's own broker: good clients of every port do not wait, and SIGTERM is heeded."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from emulator.clock import stopwatch
from rdss_sandbox.installed_extensions import list_ports
from tests.attack import broker_attacks
from tests.attack.attacked_sandbox import AttackedSandbox, attack
from tests.attack.good_clients import assert_nobody_waited, watched

pytestmark = pytest.mark.timeout(400)
SECONDS: Final = 4.0
_TERM_SECONDS: Final = 2.0
_MOST_SECONDS: Final = 300.0
"""For an attack that ends when it is done, on a machine that does much else."""
_BEGUN_SECONDS: Final = 1.5
_OPTIONS: Final = ("--amqp", "embedded", "--amqp-port", "0")

ATTACKS: Final[dict[str, tuple[Callable[..., None], tuple[Any, ...]]]] = {
    "topic patterns that lead to many places": (broker_attacks.evil_patterns, (SECONDS,)),
    "20,000 topic bindings": (broker_attacks.many_patterns, (SECONDS,)),
    "20,000 headers bindings": (broker_attacks.many_headers, (SECONDS,)),
    "60 exchanges bound in circles": (broker_attacks.circle, (SECONDS,)),
    "fan-out to 2,000 queues": (broker_attacks.fan_out, (2000, SECONDS)),
    "fan-out to 20,000 queues": (broker_attacks.fan_out, (20_000, SECONDS)),
    "dead letters to 1,000 queues each": (broker_attacks.dead_letters, (1000, SECONDS)),
    "2,047 channels": (broker_attacks.channels, (2047, SECONDS)),
    "65,535 channels": (broker_attacks.channels, (65_535, SECONDS)),
    "priorities and expirations": (broker_attacks.priorities, (SECONDS,)),
    "20,000 durable queues": (broker_attacks.durable_queues, (20_000,)),
    "10,000 exclusive queues": (broker_attacks.own_queues, (10_000,)),
    "100,000 acknowledgements": (broker_attacks.consumed, (100_000,)),
    "100,000 unacknowledged": (broker_attacks.unacknowledged, (100_000,)),
    "a flood": (broker_attacks.flood, (SECONDS,)),
}


_QUICK: Final = frozenset(
    {
        "topic patterns that lead to many places",
        "60 exchanges bound in circles",
        "fan-out to 2,000 queues",
        "2,047 channels",
        "priorities and expirations",
        "a flood",
    }
)
"""What takes half a minute or more is in the long part, with nothing beside it."""
ROWS: Final = [each if each in _QUICK else pytest.param(each, marks=pytest.mark.long) for each in ATTACKS]
ENDS: Final = [
    each if each == "fan-out to 2,000 queues" else pytest.param(each, marks=pytest.mark.long)
    for each in ATTACKS
]


@pytest.fixture
def broker_sandbox(tmp_path: Path) -> Iterator[AttackedSandbox]:
    """A sandbox with its own broker behind the AMQP port."""
    with AttackedSandbox(tmp_path, *_OPTIONS) as running:
        running.await_amqp()
        yield running


@pytest.mark.parametrize("name", ROWS)
def test_nobody_waits(broker_sandbox: AttackedSandbox, name: str) -> None:
    """While one client asks for all it can."""
    function, arguments = ATTACKS[name]
    with watched(broker_sandbox) as seen:
        attack(function, broker_sandbox.urls["amqp"], *arguments, seconds=_MOST_SECONDS)
    assert_nobody_waited(seen)
    assert broker_sandbox.process.poll() is None


@pytest.mark.parametrize("name", ENDS)
def test_the_end_is_heeded(broker_sandbox: AttackedSandbox, name: str) -> None:
    """SIGTERM while the attack goes on: the process ends within two seconds, and well."""
    function, arguments = ATTACKS[name]
    attacker = multiprocessing.get_context("spawn").Process(
        target=function, args=(broker_sandbox.urls["amqp"], *arguments)
    )
    attacker.start()
    attacker.join(_BEGUN_SECONDS)
    began = stopwatch()
    broker_sandbox.process.send_signal(signal.SIGTERM)
    try:
        code = broker_sandbox.process.wait(_TERM_SECONDS)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        attacker.kill()
        attacker.join()
    assert code == 0, f"not after {stopwatch() - began:.1f} s"


@pytest.mark.long
def test_lists_of_the_management_api(broker_sandbox: AttackedSandbox) -> None:
    """17,672 queues, listed again and again."""
    management = broker_sandbox.running["amqp_management"]
    with watched(broker_sandbox) as seen:
        attack(broker_attacks.listed_queues, broker_sandbox.urls["amqp"], management, 17_672, 3)
    assert_nobody_waited(seen)


@pytest.mark.long
def test_ten_thousand_connections(broker_sandbox: AttackedSandbox) -> None:
    """One after the other, as fast as they are taken."""
    with watched(broker_sandbox) as seen:
        port = urlsplit(broker_sandbox.urls["amqp"]).port
        attack(broker_attacks.connections, port, 10_000, 20.0)
    assert_nobody_waited(seen)


@pytest.mark.parametrize(
    "port",
    [
        "amqp",
        *(
            pytest.param(port, marks=pytest.mark.long)
            for port in ("aws", "control", *dict(list_ports()), "amqp_management")
        ),
    ],
)
def test_slow_talkers(broker_sandbox: AttackedSandbox, port: str) -> None:
    """Three hundred connections to each port that say a byte at a time."""
    url = broker_sandbox.urls.get(port) or broker_sandbox.running[port]
    beginning = b"AMQP\0\0\x09\x01" if port == "amqp" else b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: "
    with watched(broker_sandbox) as seen:
        attack(broker_attacks.slowloris, urlsplit(url).port, beginning, 300, SECONDS)
    assert_nobody_waited(seen)
