"""The sandbox itself: status, version, health, clock, reset and populate."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from http import HTTPStatus
from typing import Protocol

import msgspec
from starlette.responses import StreamingResponse

from emulator.clock import Clock, ClockState
from emulator.events import Events
from emulator.listeners.control.live_answers import LiveAnswers, wants_live
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from rdss_sandbox.shapes.clock import ClockChange, ClockReading
from rdss_sandbox.shapes.status import Health, Status, Version
from rdss_sandbox.shapes.topology import Populated, Topology
from schemas.envelope import SPECIFICATION_VERSION

_LARGEST = 1e9
_READ_AGAIN_SECONDS = 10.0
_encode = msgspec.json.Encoder().encode


class Sandbox(Protocol):
    """The running emulator, as these routes need it."""

    def status(self) -> Status: ...
    def reset(self) -> None: ...
    def populate(self, topology: Topology | None) -> Populated: ...


class StateResources:
    """``/status``, ``/version``, ``/health``, ``/clock``, ``/reset`` and ``/populate``."""

    def __init__(
        self, sandbox: Sandbox, version: str, clock: Clock, events: Events, live: LiveAnswers
    ) -> None:
        self._sandbox = sandbox
        self._version = version
        self._clock = clock
        self._events = events
        self._live = live

    def routes(self) -> list[Route]:
        topology = Topology | None
        clock = "The clock, and with Accept: text/event-stream whatever is done to it"
        return [
            Route("GET", "/status", "Where everything is and how it stands", self._status, Status),
            Route("GET", "/version", "Versions of sandbox and specification", self._versions, Version),
            Route("GET", "/health", "Whether it answers", self._health, Health),
            Route("GET", "/clock", clock, self._read_clock, ClockReading),
            Route("POST", "/clock", "Change the clock", self._change_clock, ClockReading, body=ClockChange),
            Route("POST", "/reset", "Begin afresh", self._reset, Status),
            Route("POST", "/populate", "Make what is missing", self._populate, Populated, body=topology),
        ]

    def _status(self, _: Asked[Nothing, None]) -> Status:
        return self._sandbox.status()

    def _versions(self, _: Asked[Nothing, None]) -> Version:
        return Version(self._version, SPECIFICATION_VERSION)

    def _health(self, _: Asked[Nothing, None]) -> Health:
        return Health("ok")

    async def _read_clock(self, asked: Asked[Nothing, None]) -> ClockReading | StreamingResponse:
        if wants_live(asked.request):
            return self._live.answer(self._follow_clock())
        return read_clock(self._clock)

    async def _follow_clock(self) -> AsyncGenerator[bytes, None]:
        # The clocks of two machines drift apart, so a follower gets readings without changes too.
        async for state in self._clock.follow_changes(every=_READ_AGAIN_SECONDS):
            yield b"data: %b\n\n" % _encode(_build_reading(state))

    def _change_clock(self, asked: Asked[Nothing, ClockChange]) -> ClockReading:
        change = asked.body
        try:
            _apply_change(self._clock, change)
        except (ValueError, OverflowError) as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_clock", str(error)) from error
        self._events.emit("clock.changed", action=change.action, seconds=change.seconds, speed=change.speed)
        return read_clock(self._clock)

    def _reset(self, _: Asked[Nothing, None]) -> Status:
        self._sandbox.reset()
        return self._sandbox.status()

    def _populate(self, asked: Asked[Nothing, Topology | None]) -> Populated:
        return self._sandbox.populate(asked.body)


def read_clock(clock: Clock) -> ClockReading:
    """The clock's present reading, as the control API shows it."""
    return _build_reading(clock.state())


def _build_reading(state: ClockState) -> ClockReading:
    return ClockReading(state.time, state.speed, state.real, state.elapsed)


def _apply_change(clock: Clock, change: ClockChange) -> None:
    actions: dict[str, Callable[[], None]] = {
        "freeze": clock.freeze,
        "real": clock.resume_real_time,
        "advance": lambda: clock.advance(_require(change.seconds, "advance", "seconds")),
        "speed": lambda: clock.run_at(_require(change.speed, "speed", "speed")),
    }
    actions[change.action]()


def _require(value: float | None, action: str, name: str) -> float:
    if value is None or not value <= _LARGEST:
        raise ValueError(f"the action {action!r} needs {name!r}, a number up to {_LARGEST:.0e}, not {value}")
    return value
