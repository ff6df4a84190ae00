"""What can strike an invocation of a function, beside the faults that strike every kind of channel.

It is loaded with the fault engine, so it loads nothing of functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.faults.fault import Attribute, Direction, Done, Failure, FaultType, Hit, HoldTime, Phase
from emulator.faults.faulted_message import Message

KIND: Final = "function"
"""The kind of channel that a function is, under its name."""
ANSWERED: Final = 200
"""The status of a failure that is the function's own: the invocation is answered, with an error."""
TIMED_OUT: Final = "Sandbox.Timedout"
_RUN: Final = Attribute("written", "flag", False, "the handler runs first, so that its work is done")


class InvokedEvent(Message):
    """The event of an invocation, whose ``parts`` are its records. ``timeout`` is the function's, in seconds.

    Faults set ``cold`` for a new environment, and ``timed_out`` where they let the time pass.
    """

    def __init__(self, payload: bytes, parts: Sequence[tuple[bytes, str]], timeout: float) -> None:
        super().__init__(payload, parts=parts)
        self.timeout = timeout
        self.cold = self.timed_out = False


def inject_timeout(hit: Hit) -> Done:
    event, written = _event_of(hit), hit.attributes["written"]
    text = f"Task timed out after {event.timeout:.2f} seconds"
    event.timed_out = True
    hit.call.delays.append(HoldTime(hit.hold, event.timeout))
    hit.call.failure = Failure(TIMED_OUT, text, ANSWERED, written=written)
    return Done(f"{text}{_describe(written)}", {"seconds": event.timeout, "written": written})


def inject_function_error(hit: Hit) -> Done:
    kind, written = hit.attributes["error_type"], hit.attributes["written"]
    message = hit.attributes["message"] or "Injected by the fault engine."
    hit.call.failure = Failure(kind, message, ANSWERED, written=written)
    return Done(f"the function failed with {kind}{_describe(written)}", {"code": kind, "written": written})


def inject_cold_start(hit: Hit) -> Done:
    _event_of(hit).cold = True
    return Done("the invocation got a new environment")


def _event_of(hit: Hit) -> InvokedEvent:
    event = hit.item.message
    assert isinstance(event, InvokedEvent), "the type is for functions alone"
    return event


def _describe(written: bool) -> str:
    return ", after its handler had run" if written else ""


TIMEOUT: Final = FaultType(
    "timeout",
    "An invocation runs into its function's time-out, on the sandbox's clock, and its environment is ended. "
    "The handler does not run, or with written it has done its work.",
    Phase.CALL,
    (Direction.PUBLISH,),
    inject_timeout,
    (_RUN,),
    kinds=(KIND,),
)
FUNCTION_ERROR: Final = FaultType(
    "function_error",
    "An invocation is answered with an error of the function, as if its handler had raised one. The fault "
    "error is one of the service: then nothing was invoked.",
    Phase.CALL,
    (Direction.PUBLISH,),
    inject_function_error,
    (
        Attribute("error_type", "text", "Error", "the error's type"),
        Attribute("message", "text", "", "what the error says"),
        _RUN,
    ),
    kinds=(KIND,),
)
COLD_START: Final = FaultType(
    "cold_start",
    "An invocation gets a new environment, with its init phase, as if none were warm.",
    Phase.FLOW,
    (Direction.PUBLISH,),
    inject_cold_start,
    kinds=(KIND,),
)
