"""A clock that follows the clock of a running sandbox, for other processes.

    sandbox   POST /clock ──▶ Clock ──▶ GET /clock, live ─┐
                                                          ▼  one line a change
    process   Clock.wait, Clock.time ◀── FollowingClock ◀─┘

The sandbox pushes each change, so there is no polling; every wait in this process sees the change.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Final, Self

from emulator.clock import Clock, ClockState
from rdss_sandbox.client import AsyncClient, Client
from rdss_sandbox.shapes.clock import ClockReading

_SAME_SECONDS: Final = 0.05
"""Two clocks that differ by less are taken to show the same real time."""


class FollowingClock(Clock):
    """Follows the clock of the sandbox at ``url``, jumps included, until it is closed.

    While the sandbox does not answer, the clock runs on at the speed of real time, so that waits end. Raises
    ``UnreachableError`` and ``RefusedError`` when it cannot start.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        super().__init__()
        self._url, self._token = url, token
        self._machine = Clock()
        with Client(url, token=token) as client:
            reading = client.clock()
        self._lead = self.elapsed() - reading.elapsed
        self._apply(reading)
        self._loop = asyncio.new_event_loop()
        self._following = self._loop.create_task(self._follow())
        self._thread = threading.Thread(target=self._run, name="following clock", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop following; the clock runs on as it is."""
        self._loop.call_soon_threadsafe(self._following.cancel)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._following)
        except asyncio.CancelledError:
            pass
        finally:
            self._loop.close()

    async def _follow(self) -> None:
        connected = False

        def on_connection(connection: bool) -> None:
            nonlocal connected
            connected = False
            if not connection:
                self.run_at(1.0)

        async with AsyncClient(self._url, token=self._token) as client:
            async for reading in client.follow_clock(on_connection=on_connection):
                if connected:
                    self._apply(reading)
                else:
                    # The connection may be to a restarted sandbox. If that is ahead of this clock, the
                    # difference has elapsed during the interruption.
                    self._lead = self.elapsed() + max(0.0, reading.time - self.time()) - reading.elapsed
                    self._apply(reading)
                    connected = True

    def _apply(self, reading: ClockReading) -> None:
        same = reading.real and abs(self._machine.time() - reading.time) < _SAME_SECONDS
        self.set_state(ClockState(reading.time, reading.speed, same, reading.elapsed + self._lead))
