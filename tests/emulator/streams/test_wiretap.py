"""What passes the ports waits for who records it, within bounds."""

from __future__ import annotations

import pytest

from emulator.clock import Clock
from emulator.streams import wiretap
from emulator.streams.wiretap import TooManyListenersError, Wiretap
from rdss_sandbox.shapes.tape import TapedLoss, TapedMessage

MESSAGE = TapedMessage(1.0, "input", b"one", 3)


@pytest.fixture
def tap() -> Wiretap:
    return Wiretap(Clock(), lambda _: None)


def test_each_listener_takes_everything_once(tap: Wiretap) -> None:
    """From when it began to listen."""
    first = tap.listen()
    tap.note(MESSAGE, 3)
    second = tap.listen()
    tap.note(MESSAGE, 3)
    assert first.take(2.0) == [MESSAGE, MESSAGE]
    assert second.take(2.0) == [MESSAGE]
    assert first.take(2.0) == []


def test_what_is_not_taken_is_lost_and_counted(tap: Wiretap) -> None:
    """A recorder that is too slow costs 64 MiB, and no more."""
    listener = tap.listen()
    for _ in range(5):
        tap.note(MESSAGE, 20 << 20)
    assert listener.waiting == 60 << 20
    assert listener.take(2.0) == [
        *[MESSAGE] * 3,
        TapedLoss(2.0, 2, "what passed was not taken fast enough"),
    ]
    tap.note(MESSAGE, 20 << 20)
    assert listener.take(2.0) == [MESSAGE]


def test_a_listener_that_is_gone_is_forgotten(tap: Wiretap, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a recorder that was killed: what passes a minute later ends it."""
    listener = tap.listen()
    tap.note(MESSAGE, 3)
    assert tap.on
    later = wiretap.stopwatch() + 61
    monkeypatch.setattr(wiretap, "stopwatch", lambda: later)
    tap.note(MESSAGE, 3)
    assert not tap.on
    assert listener not in tap.list_listeners()


def test_there_are_few_listeners_at_a_time(tap: Wiretap) -> None:
    """Each of them costs clients something; one that leaves makes room."""
    listeners = [tap.listen() for _ in range(4)]
    with pytest.raises(TooManyListenersError, match="end one of them first"):
        tap.listen()
    tap.leave(listeners[0])
    assert tap.listen().number == 5
