"""The sandbox itself: status, version, health, clock, reset and populate."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from http import HTTPStatus
from typing import Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import StreamingResponse

from emulator.clock import BadTimeError, Clock, ClockState
from emulator.events import Events
from emulator.listeners.control.endpoint_routing import ApiError, handles
from emulator.listeners.control.live_answers import LiveAnswers, wants_live
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.shapes.clock import ClockChange, ClockReading
from rdss_sandbox.shapes.status import Health, Reset, Status, Version
from rdss_sandbox.shapes.topology import Populated, Topology
from rdss_sandbox.text.timestamps import LATEST

_LARGEST = 1e9
_READ_AGAIN_SECONDS = 10.0
_encode = msgspec.json.Encoder().encode


class RunningEmulator(Protocol):
    """The running emulator, as these routes need it."""

    def status(self) -> Status: ...
    def reset(self, values: Reset | None = None) -> None: ...
    def populate(self, topology: Topology | None) -> Populated: ...


class StateResources:
    """``/status``, ``/version``, ``/health``, ``/clock``, ``/reset`` and ``/populate``."""

    def __init__(
        self, sandbox: RunningEmulator, version: Version, clock: Clock, events: Events, live: LiveAnswers
    ) -> None:
        self._sandbox = sandbox
        self._version = version
        self._clock = clock
        self._events = events
        self._live = live

    @handles(SandboxState.status)
    def status(self) -> Status:
        return self._sandbox.status()

    @handles(SandboxState.version)
    def version(self) -> Version:
        return self._version

    @handles(SandboxState.health)
    def health(self) -> Health:
        return Health("ok")

    @handles(SandboxState.clock)
    async def clock(self, request: Request) -> ClockReading | StreamingResponse:
        if wants_live(request):
            return self._live.answer(self._follow_clock())
        return read_clock(self._clock)

    async def _follow_clock(self) -> AsyncGenerator[bytes, None]:
        # The clocks of two machines drift apart, so a follower gets readings without changes too.
        async for state in self._clock.follow_changes(every=_READ_AGAIN_SECONDS):
            yield b"data: %b\n\n" % _encode(_build_reading(state))

    @handles(SandboxState.change_clock)
    def change_clock(self, change: ClockChange) -> ClockReading:
        try:
            actions: dict[str, Callable[[], None]] = {
                "freeze": self._clock.freeze,
                "real": self._clock.resume_real_time,
                "advance": lambda: self._clock.advance(_require(change.seconds, "advance", "seconds")),
                "speed": lambda: self._clock.run_at(_require(change.speed, "speed", "speed")),
                "set": lambda: self._clock.set_time(_require(change.time, "set", "time", LATEST)),
            }
            actions[change.action]()
        except (ValueError, OverflowError) as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_clock", str(error)) from error
        self._events.emit(
            "clock.changed",
            action=change.action,
            seconds=change.seconds,
            speed=change.speed,
            time=change.time,
        )
        return read_clock(self._clock)

    @handles(SandboxState.reset)
    def reset(self, values: Reset | None) -> Status:
        try:
            self._sandbox.reset(values)
        except BadTimeError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_clock", str(error)) from error
        return self._sandbox.status()

    @handles(SandboxState.populate)
    def populate(self, topology: Topology | None) -> Populated:
        return self._sandbox.populate(topology)


def read_clock(clock: Clock) -> ClockReading:
    """The clock's present reading, as the control API shows it."""
    return _build_reading(clock.state())


def _build_reading(state: ClockState) -> ClockReading:
    return ClockReading(state.time, state.speed, state.real, state.elapsed)


def _require(value: float | None, action: str, name: str, largest: float = _LARGEST) -> float:
    if value is None or not value <= largest:
        raise ValueError(f"the action {action!r} needs {name!r}, a number up to {largest:.0e}, not {value}")
    return value
