"""What the measurements of this folder rest on: they see a stall where there is one, and none elsewhere."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tests.attack.attacked_sandbox import AttackedSandbox
from tests.attack.good_clients import BYSTANDER, assert_nobody_waited, watched


def test_nobody_waits_where_nobody_attacks(sandbox: AttackedSandbox) -> None:
    """The baseline: each port answers good clients, again and again."""
    with watched(sandbox) as seen:
        threading.Event().wait(2)
    assert_nobody_waited(seen)
    assert set(seen.answers) == {*sandbox.ports, BYSTANDER}


def test_a_stall_is_seen(sandbox: AttackedSandbox) -> None:
    """A process that stands still for a second and a half is found to break the promise."""
    with watched(sandbox) as seen:
        os.kill(sandbox.pid, signal.SIGSTOP)
        threading.Event().wait(1.5)
        os.kill(sandbox.pid, signal.SIGCONT)
    with pytest.raises(AssertionError, match="waited longer"):
        assert_nobody_waited(seen)
