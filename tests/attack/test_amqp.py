"""Attacks on the AMQP port: good clients of every port do not wait, and the process does not grow."""

from __future__ import annotations

import pytest

from tests.attack import amqp_attacks
from tests.attack.attacked_sandbox import AttackedSandbox, attack
from tests.attack.good_clients import assert_nobody_waited, watched

SECONDS = 2.0


def test_heartbeats(rabbit_sandbox: AttackedSandbox) -> None:
    """As fast as they are taken."""
    with watched(rabbit_sandbox) as seen:
        attack(amqp_attacks.heartbeats, rabbit_sandbox.urls["amqp"], SECONDS)
    assert_nobody_waited(seen)


@pytest.mark.parametrize("size", [0, 100, 4_000_000, 20_000_000])
def test_publishes(rabbit_sandbox: AttackedSandbox, size: int) -> None:
    """Messages that nobody gets, small ones and large ones."""
    rabbit_sandbox.forget_peak()
    with watched(rabbit_sandbox) as seen:
        attack(amqp_attacks.publishes, rabbit_sandbox.urls["amqp"], size, SECONDS, 240_000_000)
    assert_nobody_waited(seen)
    assert rabbit_sandbox.peak_megabytes() < 400


def test_messages_that_are_never_finished(rabbit_sandbox: AttackedSandbox) -> None:
    """1 MB each on 1,000 channels."""
    rabbit_sandbox.forget_peak()
    with watched(rabbit_sandbox) as seen:
        attack(amqp_attacks.unfinished, rabbit_sandbox.urls["amqp"], 1000)
    assert_nobody_waited(seen)
    assert rabbit_sandbox.peak_megabytes() < 400


def test_a_frame_without_end(rabbit_sandbox: AttackedSandbox) -> None:
    """100 MB of a frame of 4 GB."""
    rabbit_sandbox.forget_peak()
    with watched(rabbit_sandbox) as seen:
        attack(amqp_attacks.long_frame, rabbit_sandbox.urls["amqp"], 100_000_000)
    assert_nobody_waited(seen)
    assert rabbit_sandbox.peak_megabytes() < 300
