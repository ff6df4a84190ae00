"""What is known to differ between versions of RabbitMQ. Nothing else may; our own broker is a 4.0."""

from __future__ import annotations

from typing import Any, Final

from emulator.amqp.wire import methods
from tests.emulator.amqp.calls import closed

FOURTH: Final = (4,)
_Q: Final = "queue 'q1' in vhost '/'"
BEFORE_4: Final[dict[str, Any]] = {
    # The type of a queue is not put into its arguments.
    "another type": closed(
        406,
        f"PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for {_Q}: "
        "received the value 'quorum' of type 'longstr' but current is none",
        (50, 10),
    ),
    "no such locator": closed(
        406,
        f"PRECONDITION_FAILED - invalid arg 'x-queue-leader-locator' for {_Q} "
        "of queue type rabbit_classic_queue",
        (50, 10),
    ),
    "no mark at the end": methods.ConnectionClose(
        501, 'FRAME_ERROR - type 1, all octets = <<"xxxx">>: {invalid_frame_end_marker,0}', 0, 0
    ),
    "address of an asker": methods.ConnectionClose(541, "INTERNAL_ERROR", 0, 0),
    "neither source nor destination": closed(404, "NOT_FOUND - no exchange 'e1' in vhost '/'", (40, 30)),
}
"""What RabbitMQ 3 answers instead, by the names of the cases."""


def version_of(start: Any) -> tuple[int, ...]:
    """The version that a server says it has in connection.start."""
    assert isinstance(start, methods.ConnectionStart)
    return tuple(int(part) for part in start.server_properties["version"].value.decode().split(".")[:2])


def answer_of(version: tuple[int, ...], case: str, latest: Any) -> Any:
    """What a server of this version answers to a case, which the latest answers as given."""
    return BEFORE_4.get(case, latest) if version < FOURTH else latest
