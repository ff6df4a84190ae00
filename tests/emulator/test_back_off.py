"""The pauses between tries."""

from __future__ import annotations

from itertools import islice

from emulator.back_off import back_off


def test_each_pause_is_twice_the_one_before_up_to_the_longest() -> None:
    """0.1 s, 0.2 s, ... and then 5 s for as long as it fails."""
    assert list(islice(back_off(0.1, 5.0), 8)) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
