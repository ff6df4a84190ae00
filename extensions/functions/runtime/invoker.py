"""Invokes functions: in an environment that is warm, or in a new one while there may be more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from emulator.clock import Clock, stopwatch
from emulator.events import Events
from emulator.rng import new_uuid
from extensions.functions.engine.errors import ThrottledError
from extensions.functions.engine.function import Function, Place, Version
from extensions.functions.engine.function_code import newest_change
from extensions.functions.engine.functions import Functions
from extensions.functions.runtime.environment import Environment, Outcome, trace_of
from extensions.functions.runtime.function_logs import FunctionLogs
from extensions.functions.runtime.invocation_faults import InvocationFaults
from extensions.functions.runtime.programs import build_program
from extensions.functions.runtime.recorded_handlers import HandlerRecorder

_LOOK_SECONDS: Final = 10.0


Proceed: TypeAlias = Callable[[], Awaitable[Outcome]]
Around: TypeAlias = Callable[[Environment, bytes, Proceed], Awaitable[Outcome]]
"""Stands between who invokes and the environment: it gets the event, and returns an outcome."""


async def _pass_through(_environment: Environment, _event: bytes, proceed: Proceed) -> Outcome:
    return await proceed()


class _Warm(NamedTuple):
    """An environment that waits, since when by the stopwatch, and what it was made of."""

    environment: Environment
    since: float
    made_of: object


class Invoker:
    """The environments of all functions. Its methods are called on one event loop.

    At most ``most`` of them exist at a time; one that waits for ``idle_seconds`` is ended. ``access`` gives
    the variables that lead SDKs to the sandbox. ``faults`` strike what is invoked, and the ``recorder`` is
    told of it. What an environment is given goes through ``around``.
    """

    def __init__(
        self,
        functions: Functions,
        logs: FunctionLogs,
        clock: Clock,
        events: Events,
        *,
        most: int,
        idle_seconds: float,
        access: Callable[[str], dict[str, str]],
        faults: InvocationFaults,
        recorder: HandlerRecorder,
    ) -> None:
        self.around: Around = _pass_through
        self._functions = functions
        self._logs = logs
        self._clock = clock
        self._events = events
        self._most = most
        self._idle_seconds = idle_seconds
        self._access = access
        self._faults = faults
        self._recorder = recorder
        self._warm: dict[tuple[Place, str], list[_Warm]] = {}
        self._busy: dict[Place, int] = {}
        self._running: set[Environment] = set()
        self._looking: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    async def invoke(self, place: Place, qualifier: str, payload: bytes) -> tuple[Outcome, Version]:
        """Invoke a version, as the faults let it.

        Raises NotFoundError, ThrottledError where no environment is free, and LambdaError where a fault has
        it fail.
        """
        function, version = self._functions.resolve(place, qualifier)
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
        event = self._faults.meet(function.name, version.timeout, payload)
        if event is None:
            return await self._run(function, version, payload), version
        outcome = await self._faults.strike(function.name, event, partial(self._run, function, version))
        if event.timed_out:
            await self.forget(place)
        return outcome, version

    async def _run(
        self, function: Function, version: Version, payload: bytes, *, cold: bool = False
    ) -> Outcome:
        """Run an invocation, ``cold`` in a new environment. Raises ThrottledError."""
        place = function.place
        environment, made_of = self._take(function, version, cold=cold)
        request_id = new_uuid()
        self._busy[place] = self._busy.get(place, 0) + 1
        self._running.add(environment)
        trace = trace_of(request_id)
        records, began = self._recorder.begin(payload, trace)
        try:
            outcome = await self.around(
                environment, payload, partial(environment.invoke, payload, request_id)
            )
        finally:
            self._busy[place] -= 1
            self._running.discard(environment)
            if environment.usable:
                warm = _Warm(environment, stopwatch(), made_of)
                self._warm.setdefault((place, version.number), []).append(warm)
            else:
                await environment.close()
        self._recorder.end(place.name, trace, records, began, outcome)
        self._events.emit(
            "function.invoked",
            function=place.name,
            request=request_id,
            milliseconds=round(outcome.seconds * 1000, 2),
            error=outcome.error,
        )
        return outcome

    async def forget(self, place: Place) -> None:
        """End what waits of a function that was changed or removed."""
        for key in [each for each in self._warm if each[0] == place]:
            await self._close_all(self._warm.pop(key))

    async def end_all(self) -> None:
        """End every process. An invocation that is under way fails."""
        for environment in tuple(self._running):
            await environment.close()
        for warm in [self._warm.pop(key) for key in tuple(self._warm)]:
            await self._close_all(warm)
        await asyncio.gather(*self._ending)

    async def close(self) -> None:
        """End every process, and look after none any more."""
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        await self.end_all()

    def _take(self, function: Function, version: Version, *, cold: bool) -> tuple[Environment, object]:
        """A warm environment, or a new one, ``cold`` in any case. Raises ThrottledError."""
        place = function.place
        if function.concurrency is not None and self._busy.get(place, 0) >= function.concurrency:
            raise ThrottledError("ReservedFunctionConcurrentInvocationLimitExceeded")
        code = version.code
        made_of = version.revision, newest_change(code.watched) if code.watched else None
        warm = self._warm.get((place, version.number), [])
        while warm:
            found = warm.pop()
            if not cold and found.made_of == made_of and found.environment.usable:
                return found.environment, made_of
            self._end(found.environment)
        if sum(self._busy.values()) + sum(map(len, self._warm.values())) >= self._most:
            self._end_oldest()
        folder = self._functions.code.folder_of(code)
        program = build_program(place, version, folder, self._access(place.region))
        return Environment(program, self._logs, self._clock), made_of

    def _end_oldest(self) -> None:
        """Make room for another environment. Raises ThrottledError where all are busy."""
        waiting = [(each.since, key) for key, warm in self._warm.items() for each in warm]
        if not waiting:
            raise ThrottledError("ConcurrentInvocationLimitExceeded")
        self._end(self._warm[min(waiting)[1]].pop(0).environment)

    def _end(self, environment: Environment) -> None:
        task = asyncio.ensure_future(environment.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _look(self) -> None:
        """End what waits for long, again and again."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            late = stopwatch() - self._idle_seconds
            for warm in self._warm.values():
                old = [each for each in warm if each.since < late]
                warm[:] = [each for each in warm if each.since >= late]
                await self._close_all(old)

    async def _close_all(self, warm: list[_Warm]) -> None:
        for each in warm:
            await each.environment.close()
