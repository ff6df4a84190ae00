"""Requests to the control API of one seat or of all: what an admin does to a class at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from emulator.relay.aws.connections import UpstreamLostError, UpstreamUnreachableError
from extensions.hub.hub_api import SeatAnswer
from extensions.hub.seats import Seat, SeatNotStartedError, Seats
from rdss_sandbox.api.control_api import ControlApi
from rdss_sandbox.api.request import Request
from rdss_sandbox.api.snapshots import Snapshots
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.refusals import Refusal
from rdss_sandbox.shapes.shell_commands import DescribedRequest
from rdss_sandbox.shapes.streams import Reshard

_AT_ONCE: Final = 8
"""Seats that are asked at the same time: each may have to be woken."""
_API: Final = ControlApi(None)
_SNAPSHOT: Final = "wall"
_SNAPSHOTS: Final = Snapshots(None)


def _describe(request: Request) -> DescribedRequest:
    return DescribedRequest(request.method, request.path, request.body)


OFFERED: Final = {
    "send half of the records twice": _describe(
        ControlApi.add_fault.build_request(_API, NewFault("duplicate", name="wall-duplicate", toxicity=0.5))
    ),
    "refuse a third of the calls": _describe(
        ControlApi.add_fault.build_request(_API, NewFault("throttle", name="wall-throttle", toxicity=0.33))
    ),
    "send records once again": _describe(ControlApi.remove_fault.build_request(_API, "wall-duplicate")),
    "take every call again": _describe(ControlApi.remove_fault.build_request(_API, "wall-throttle")),
    "split the stream input": _describe(ControlApi.reshard.build_request(_API, "input", Reshard("split"))),
    "freeze the clock": _describe(ControlApi.change_clock.build_request(_API, ClockChange("freeze"))),
    "show real time": _describe(ControlApi.change_clock.build_request(_API, ClockChange("real"))),
    f"save the snapshot {_SNAPSHOT}": _describe(Snapshots.save.build_request(_SNAPSHOTS, _SNAPSHOT)),
    f"load the snapshot {_SNAPSHOT}": _describe(Snapshots.load.build_request(_SNAPSHOTS, _SNAPSHOT)),
    "reset": _describe(ControlApi.reset.build_request(_API)),
}
"""What the admin's page offers, by what stands there."""


async def ask_seats(seats: Seats, wanted: Sequence[Seat], request: DescribedRequest) -> list[SeatAnswer]:
    """Ask each of them, and wake those that sleep."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def ask(seat: Seat) -> SeatAnswer:
        async with room:
            return await _ask_seat(seats, seat, request)

    return await asyncio.gather(*map(ask, wanted))


async def _ask_seat(seats: Seats, seat: Seat, request: DescribedRequest) -> SeatAnswer:
    body = b"" if request.body is None else msgspec.json.encode(request.body)
    headers = [
        (b"host", b"localhost"),
        (b"authorization", b"Bearer " + seat.person.token.encode()),
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
    ]
    try:
        with seat.in_use():
            await seats.wake(seat)
            connections = seat.connections_to("control")
            assert connections is not None
            reply = await connections.ask(request.method, request.path.encode(), headers, body)
            answered = await reply.whole()
    except (SeatNotStartedError, UpstreamLostError, UpstreamUnreachableError) as error:
        return SeatAnswer(seat.name, 503, str(error))
    if reply.status < 400:
        return SeatAnswer(seat.name, reply.status)
    try:
        why = msgspec.json.decode(answered, type=Refusal).error.message
    except msgspec.DecodeError:
        why = f"it answered {reply.status}"
    return SeatAnswer(seat.name, reply.status, why)
