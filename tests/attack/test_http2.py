"""Attacks over HTTP/2: good clients on every port do not wait for them, and the process does not grow."""

from __future__ import annotations

import pytest

from tests.attack import http2_attacks
from tests.attack.attacked_sandbox import AttackedSandbox, attack
from tests.attack.good_clients import assert_nobody_waited, watched

SECONDS, MOST_BYTES = 1.0, 20_000_000


@pytest.mark.parametrize("port", ["control", "aws"])
def test_rapid_reset(sandbox: AttackedSandbox, port: str) -> None:
    """110,000 requests cancelled as they are made (CVE-2023-44487)."""
    sandbox.forget_peak()
    with watched(sandbox) as seen:
        attack(http2_attacks.rapid_reset, sandbox.ports[port], 110_000, 4.0)
    assert_nobody_waited(seen)
    assert sandbox.peak_megabytes() < 300


def test_resets_that_the_server_is_made_to_send(sandbox: AttackedSandbox) -> None:
    """Requests that are cancelled for the client's own errors (CVE-2025-8671)."""
    with watched(sandbox) as seen:
        attack(http2_attacks.made_resets, sandbox.ports["control"], 50_000, SECONDS)
    assert_nobody_waited(seen)
    assert sandbox.resident_megabytes() < 300


def test_requests_as_fast_as_they_are_taken(sandbox: AttackedSandbox) -> None:
    """Three connections that do nothing but ask."""
    with watched(sandbox) as seen:
        attack(http2_attacks.requests, sandbox.ports["control"], SECONDS, processes=3)
    assert_nobody_waited(seen)
    assert sandbox.resident_megabytes() < 300


@pytest.mark.parametrize("count", [400, 2000, 100_000])
def test_fields_that_cost_a_byte_each(sandbox: AttackedSandbox, count: int) -> None:
    """HPACK's index names a field of 100 bytes in one."""
    sandbox.forget_peak()
    with watched(sandbox) as seen:
        attack(http2_attacks.indexed_fields, sandbox.ports["control"], count, SECONDS)
    assert_nobody_waited(seen)
    assert sandbox.peak_megabytes() < 300


def test_answers_that_may_not_be_sent(sandbox: AttackedSandbox) -> None:
    """Connections whose client never opens a window."""
    with watched(sandbox) as seen:
        attack(http2_attacks.closed_windows, sandbox.ports["control"], 20, SECONDS)
    assert_nobody_waited(seen)
    assert sandbox.resident_megabytes() < 300


@pytest.mark.parametrize("name", http2_attacks.FLOODS)
def test_floods(sandbox: AttackedSandbox, name: str) -> None:
    """Frames of one kind, as fast as they are taken."""
    sandbox.forget_peak()
    with watched(sandbox) as seen:
        attack(http2_attacks.named_flood, sandbox.ports["control"], name, SECONDS, MOST_BYTES)
    assert_nobody_waited(seen)
    assert sandbox.peak_megabytes() < 300
