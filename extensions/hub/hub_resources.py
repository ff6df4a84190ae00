"""What answers below /hub: the API of the seats, and the admin's page."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from starlette.applications import Starlette

from emulator.clock import Clock
from emulator.events import Events
from emulator.http.admission.access_policies import CONTROL
from emulator.http.admission.guard import Guard
from emulator.http.asgi import App
from emulator.listeners.control.endpoint_routing import (
    ApiError,
    handles,
    list_handlers,
    route_by_segments,
)
from emulator.listeners.control.watch.page_access import admit_pages
from extensions.hub.hub_api import HubSeats, NewSeat, SeatList, SeatView
from extensions.hub.people import PeopleFileError
from extensions.hub.seat_sizes import measure_disk, measure_memory
from extensions.hub.seats import Seat, Seats
from rdss_sandbox.admission import Admission

HOME: Final = "/hub"
_WANTS: Final = b"This hub asks for its admin's token. sandbox hub up has printed the address to open.\n"


class HubResources:
    """The resources under ``/hub/seats``.

    ``url`` is that of the hub, below whose host name each seat has its own.
    """

    def __init__(self, seats: Seats, clock: Clock, url: str, region: str) -> None:
        self._seats = seats
        self._clock = clock
        self._region = region
        self._scheme, _, self._host = url.partition("://")

    @handles(HubSeats.list)
    async def list(self) -> SeatList:
        return self._list()

    def _list(self) -> SeatList:
        self._seats.read_people()
        seats = sorted(self._seats.by_name.values(), key=lambda each: each.name)
        return SeatList(tuple(map(self._view, seats)), self._seats.trouble)

    @handles(HubSeats.add)
    async def add(self, name: str, seat: NewSeat | None) -> SeatView:
        asked = seat or NewSeat()
        until = None if asked.seconds is None else self._clock.time() + asked.seconds
        try:
            return self._view(self._seats.add(name, asked.quota, until))
        except PeopleFileError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_seat", str(error)) from error

    @handles(HubSeats.remove)
    async def remove(self, name: str) -> SeatList:
        try:
            self._seats.remove(name)
        except PeopleFileError as error:
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_seat", str(error)) from error
        return self._list()

    def _view(self, seat: Seat) -> SeatView:
        running = seat.running
        pid = running.pid if running is not None else None
        return SeatView(
            seat.name,
            seat.person.token,
            seat.state,
            pid,
            seat.calls,
            seat.refused,
            seat.starts,
            round(measure_memory(pid) / 1e6, 1) if pid is not None else 0.0,
            round(measure_disk(seat.folder) / 1e6, 1),
            seat.quota,
            f"{self._scheme}://{seat.name}.{self._host}",
            self._region,
            seat.trouble,
            seat.person.until,
        )


def build_own_app(seats: Seats, admin: str, url: str, region: str, clock: Clock) -> App:
    """The application below /hub, for the admin's token alone."""
    events = Events(clock)
    handlers = list_handlers([HubResources(seats, clock, url, region)])

    def failed(error: Exception) -> None:
        events.emit("request.failed", error=repr(error))

    app = Starlette(routes=[each.build_route(failed) for each in handlers])
    policy = admit_pages(CONTROL, admin, home=HOME, pages={HOME, f"{HOME}/seats"}, wants=_WANTS)
    return Guard(route_by_segments(app), policy, Admission.of((), (), admin), events)
