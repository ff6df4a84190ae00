"""The one clock of the sandbox: real, frozen, advanced by hand, or running at another speed.

Everything that reads time or waits does so here, so that a test, a scenario or
``sandbox clock`` can let six minutes pass in no time at all.
"""

from __future__ import annotations

import asyncio
import threading
import time as _time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from rdss_sandbox.text.timestamps import LATEST


class BadTimeError(ValueError):
    """A time that no clock shows."""


@dataclass(frozen=True, slots=True)
class ClockState:
    """What a clock shows: ``time`` in seconds since the epoch, ``speed`` in clock seconds per real second.

    ``elapsed`` counts clock seconds since the clock was made.
    """

    time: float
    speed: float
    real: bool
    elapsed: float

    @property
    def frozen(self) -> bool:
        """Whether time stands still until it is advanced."""
        return self.speed == 0


class Clock:
    """Seconds since the epoch, and waiting for them to pass.

    There are two readings. ``time()`` may jump back when the clock returns to
    real time. ``elapsed()`` never decreases, and every wait is measured on it.

    With ``autojump`` each wait advances the clock by its own length at once.
    That is the mode for tests of a single actor.
    """

    def __init__(self, *, frozen_at: float | None = None, autojump: bool = False) -> None:
        self._changed = threading.Condition()
        self._async_waiters: set[Callable[[], None]] = set()
        self._autojump = autojump
        self._changes = 0
        self._real = frozen_at is None
        self._speed = 1.0 if frozen_at is None else 0.0
        self._anchor = _time.monotonic()
        self._anchor_elapsed = 0.0
        self._offset = _time.time() if frozen_at is None else frozen_at

    def time(self) -> float:
        """Seconds since the epoch, UTC."""
        if self._real:
            return _time.time()
        return min(self._offset + self.elapsed(), LATEST)

    def now(self) -> datetime:
        """``time()`` as an aware datetime in UTC."""
        return datetime.fromtimestamp(self.time(), UTC)

    def elapsed(self) -> float:
        """Clock seconds since the clock was made; never decreases."""
        return self._anchor_elapsed + (_time.monotonic() - self._anchor) * self._speed

    def state(self) -> ClockState:
        """The reading and the speed at this moment."""
        with self._changed:
            return ClockState(self.time(), self._speed, self._real, self.elapsed())

    def freeze(self) -> None:
        """Stop time where it is."""
        self.run_at(0.0)

    def run_at(self, speed: float) -> None:
        """Go on from now at ``speed`` clock seconds per real second; 0 freezes the clock.

        Raises ValueError when ``speed`` is negative.
        """
        if speed < 0:
            raise ValueError(f"a clock cannot run backwards: speed {speed}")
        with self._changed:
            self._anchor_now()
            self._speed = speed
            self._wake()

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass at once. Raises ValueError when negative, or beyond ``LATEST``."""
        if seconds < 0:
            raise ValueError(f"a clock cannot be turned back: {seconds} s")
        if not self.time() + seconds <= LATEST:
            raise ValueError(f"a clock goes no further than the year 9999: {seconds:g} s are too many")
        with self._changed:
            self._anchor_now()
            self._anchor_elapsed += seconds
            self._wake()

    def set_time(self, seconds: float) -> None:
        """Show this time, in seconds since the epoch, and go on from it at the present speed.

        Raises BadTimeError when it is before 1970 or beyond ``LATEST``.
        """
        check_time(seconds)
        with self._changed:
            self._anchor_now()
            self._offset = seconds - self._anchor_elapsed
            self._wake()

    def resume_real_time(self) -> None:
        """Show the machine's time again, at its speed."""
        with self._changed:
            self._anchor_now()
            self._real, self._speed = True, 1.0
            self._wake()

    def set_state(self, state: ClockState) -> None:
        """Go on from ``state``, the state of another clock that this one follows.

        ``elapsed()`` never decreases, so it stays where it is ahead of ``state``.
        """
        with self._changed:
            self._anchor_now()
            self._anchor_elapsed = max(self._anchor_elapsed, state.elapsed)
            self._offset = state.time - self._anchor_elapsed
            self._speed, self._real = state.speed, state.real
            self._wake()

    async def follow_changes(self, *, every: float) -> AsyncGenerator[ClockState, None]:
        """Yield the state now, after each change by hand, and after ``every`` real seconds without one."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        wake = _thread_safe_setter(loop, changed)
        self._async_waiters.add(wake)
        try:
            while True:
                changed.clear()
                known = self._changes
                yield self.state()
                with suppress(TimeoutError):
                    async with asyncio.timeout(every):
                        while self._changes == known:
                            await changed.wait()
                            changed.clear()
        finally:
            self._async_waiters.discard(wake)

    async def sleep(self, seconds: float, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Wait until ``seconds`` have passed on this clock, or ``cancelled`` says so (see ``nudge``)."""
        if self._autojump:
            self.advance(max(seconds, 0.0))
            await asyncio.sleep(0)
            return
        deadline = self.elapsed() + seconds
        loop = asyncio.get_running_loop()
        while True:
            changed = asyncio.Event()
            wake = _thread_safe_setter(loop, changed)
            # Registered before the clock is read: a change after that reading must wake this wait.
            self._async_waiters.add(wake)
            try:
                left = deadline - self.elapsed()
                if left <= 0 or cancelled():
                    return
                async with asyncio.timeout(left / self._speed if self._speed else None):
                    await changed.wait()
            except TimeoutError:
                pass
            finally:
                self._async_waiters.discard(wake)

    def wait(self, seconds: float, cancelled: Callable[[], bool] = lambda: False) -> bool:
        """Block this thread until ``seconds`` have passed; False when ``cancelled`` (see ``nudge``)."""
        if self._autojump:
            self.advance(max(seconds, 0.0))
            return not cancelled()
        deadline = self.elapsed() + seconds
        with self._changed:
            while (left := deadline - self.elapsed()) > 0:
                if cancelled():
                    return False
                self._changed.wait(min(left / self._speed, threading.TIMEOUT_MAX) if self._speed else None)
        return not cancelled()

    def nudge(self) -> None:
        """Make every waiter check again whether it is cancelled."""
        with self._changed:
            self._wake()

    def _anchor_now(self) -> None:
        self._changes += 1
        reading = self.time()
        self._anchor_elapsed = self.elapsed()
        self._anchor = _time.monotonic()
        self._offset = reading - self._anchor_elapsed
        self._real = False

    def _wake(self) -> None:
        self._changed.notify_all()
        for wake in tuple(self._async_waiters):
            wake()


def _thread_safe_setter(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> Callable[[], None]:
    def wake() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(event.set)

    return wake


def check_time(seconds: float) -> None:
    """Raise BadTimeError for a time that no clock shows."""
    if not 0 <= seconds <= LATEST:
        raise BadTimeError(f"a clock shows the years 1970 to 9998, not {seconds:g} s since the epoch")


def stopwatch() -> float:
    """Real seconds of a high-resolution counter, for measuring how long our own work took."""
    return _time.perf_counter()
