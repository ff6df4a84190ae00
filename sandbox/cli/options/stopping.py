"""When a command that waits is to end: after a signal, or at its deadline."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rdss_sandbox.questions.deadline import Deadline

if TYPE_CHECKING:
    from emulator.clock import Clock

_MARGIN_SECONDS = 0.05
"""A timer may be this early by the clock of a deadline."""


class Stopping:
    """The first SIGINT or SIGTERM, which is noted in ``signals``, and a deadline."""

    def __init__(self, deadline: Deadline) -> None:
        self.signals: list[int] = []
        self._deadline = deadline
        self._end_pauses: Callable[[], None] = lambda: None

    @property
    def wanted(self) -> bool:
        """Whether a signal came, or the deadline has passed."""
        return bool(self.signals) or self._deadline.passed

    @contextmanager
    def noting_signals(self) -> Iterator[None]:
        """Note the first signal while the context lasts; a second one acts as usual."""
        if threading.current_thread() is not threading.main_thread():  # signals do not come here
            yield
            return
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        usual = {number: handler for number, handler in handlers.items() if handler is not signal.SIG_IGN}

        def restore() -> None:
            for number, handler in usual.items():
                signal.signal(number, handler)

        def note(number: int, _frame: object) -> None:
            self.signals.append(number)
            restore()
            self._end_pauses()

        for number in usual:
            signal.signal(number, note)
        try:
            yield
        finally:
            restore()

    @contextmanager
    def ending_pauses(self, clock: Clock) -> Iterator[None]:
        """Let pauses on ``clock`` look again at a signal, and at the deadline, whether to end."""
        self._end_pauses = clock.nudge
        left = self._deadline.left
        timer = None if left is None else threading.Timer(left + _MARGIN_SECONDS, clock.nudge)
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
