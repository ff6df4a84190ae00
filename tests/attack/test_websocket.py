"""Attacks over WebSocket: good clients on every port do not wait for them, and the process does not grow."""

from __future__ import annotations

import pytest

from tests.attack import websocket_attacks
from tests.attack.attacked_sandbox import AttackedSandbox, attack
from tests.attack.good_clients import assert_nobody_waited, watched


@pytest.mark.parametrize("name", websocket_attacks.FLOODS)
@pytest.mark.parametrize("port", ["topics", "queues"])
def test_floods(sandbox: AttackedSandbox, port: str, name: str) -> None:
    """Frames of one kind, as fast as they are taken."""
    sandbox.forget_peak()
    with watched(sandbox) as seen:
        path = websocket_attacks.PATHS[port]
        attack(websocket_attacks.named_flood, sandbox.ports[port], path, name, 1.0, 20_000_000)
    assert_nobody_waited(seen)
    assert sandbox.peak_megabytes() < 300
