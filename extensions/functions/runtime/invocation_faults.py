"""Where invocations meet the fault engine: a function is a channel, and an event what is published to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

from emulator.clock import Clock
from emulator.faults.fault import THROTTLED, Failure, Item
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.fault_point import CallFailedError, FaultPoint
from emulator.faults.waits import OnLoop
from emulator.rng import new_uuid
from extensions.functions.engine.errors import InvocationCutError, LambdaError, ThrottledError
from extensions.functions.fault_types import ANSWERED, KIND, TIMED_OUT, InvokedEvent
from extensions.functions.runtime.environment import Outcome
from extensions.functions.runtime.event_records import list_records


class RunInvocation(Protocol):
    """Runs an invocation, ``cold`` in a new environment. Raises LambdaError."""

    async def __call__(self, payload: bytes, *, cold: bool) -> Outcome: ...


class InvocationFaults:
    """Applies the faults of ``fault_engine`` on channels of the kind ``function``."""

    def __init__(self, fault_engine: FaultEngine, clock: Clock) -> None:
        self._point = FaultPoint(fault_engine, clock, KIND, OnLoop(clock))

    def note_function(self, name: str) -> None:
        """Tell the fault engine that there is a function of this name."""
        self._point.note_channel(name)

    def meet(self, name: str, timeout: float, payload: bytes) -> InvokedEvent | None:
        """The event as faults see it; None where none may strike the function now."""
        if name not in self._point.publishes:
            return None
        parts = [(each.data, each.key) for each in list_records(payload)]
        return InvokedEvent(payload, parts, timeout)

    async def strike(self, name: str, event: InvokedEvent, run: RunInvocation) -> Outcome:
        """Invoke as the faults let it: late, twice, cold, or not at all. Raises LambdaError."""
        call = self._point.plan_publish(name, [event], single=True)

        async def put(items: Sequence[Item], turn: int) -> list[Outcome]:
            return [await run(items[0].data, cold=event.cold and not turn)]

        try:
            (found,) = await self._point.publish(call, put)
        except CallFailedError as failed:
            found = failed.failure
        return _fail(found) if isinstance(found, Failure) else found


def _fail(failure: Failure) -> Outcome:
    """What a failure of the function comes to. Raises LambdaError for one of the service."""
    if failure.kind == "cut":
        raise InvocationCutError
    if failure.code == THROTTLED:
        raise ThrottledError("ConcurrentInvocationLimitExceeded")
    if failure.status != ANSWERED:
        raise LambdaError(failure.code, failure.message, failure.status, Type="Service")
    request_id = new_uuid()
    text = failure.message
    if failure.code == TIMED_OUT:
        text = f"RequestId: {request_id} Error: {text}"
    document = {"errorType": failure.code, "errorMessage": text}
    return Outcome(json.dumps(document).encode(), "Unhandled", (), request_id, 0.0)
