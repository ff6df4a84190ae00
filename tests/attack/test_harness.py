"""What the measurements of this folder rest on: they see a stall where there is one, and none elsewhere."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from tests.attack.attacked_sandbox import House
from tests.attack.good_clients import BYSTANDER, assert_nobody_waited, watched


def test_nobody_waits_where_nobody_attacks(house: House) -> None:
    """The baseline: each port answers good clients, again and again."""
    with watched(house) as seen:
        threading.Event().wait(2)
    assert_nobody_waited(seen)
    assert set(seen.answers) == {*house.ports, BYSTANDER}


def test_a_stall_is_seen(house: House) -> None:
    """A process that stands still for a second and a half is found to break the promise."""
    with watched(house) as seen:
        os.kill(house.pid, signal.SIGSTOP)
        threading.Event().wait(1.5)
        os.kill(house.pid, signal.SIGCONT)
    with pytest.raises(AssertionError, match="waited longer"):
        assert_nobody_waited(seen)
