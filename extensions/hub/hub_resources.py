"""What answers below /hub: the API of the seats, and the admin's page."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from emulator.clock import Clock, stopwatch
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
from emulator.listeners.control.watch.page_access import PageCookie, admit_pages
from extensions.hub.hub_api import (
    HubRequests,
    HubSeats,
    NewSeat,
    SeatAnswers,
    SeatList,
    SeatsRequest,
    SeatView,
)
from extensions.hub.hub_page import FRAME, render_hub
from extensions.hub.people import PeopleFileError
from extensions.hub.seat_glances import glance_at
from extensions.hub.seat_requests import ask_seats
from extensions.hub.seat_sizes import measure_memory
from extensions.hub.seats import Seat, Seats
from rdss_sandbox.admission import Admission

HOME: Final = "/hub"
_WANTS: Final = b"This hub asks for its admin's token. sandbox hub up has printed the address to open.\n"


class HubResources:
    """The resources under ``/hub/seats``.

    ``url`` is that of the hub, below whose host name each seat has its own.
    """

    def __init__(self, seats: Seats, clock: Clock, url: str, region: str, cookie: PageCookie) -> None:
        self._seats = seats
        self._clock = clock
        self._region = region
        self._cookie = cookie
        self._scheme, _, self._host = url.partition("://")

    def routes(self) -> list[Route]:
        """The page, beside the API."""
        return [Route(HOME, self._answer_page)]

    async def _answer_page(self, request: Request) -> Response:
        if "token" not in request.query_params:
            page = render_hub(await self._list())
            return Response(page, media_type="text/html", headers=FRAME.headers())
        answer = RedirectResponse(HOME, 303, headers=FRAME.headers())
        secure = self._scheme == "https"
        answer.set_cookie(
            self._cookie.name, self._cookie.value, secure=secure, httponly=True, samesite="strict"
        )
        return answer

    @handles(HubSeats.list)
    async def list(self) -> SeatList:
        return await self._list()

    async def _list(self) -> SeatList:
        self._seats.read_people()
        seats = sorted(self._seats.by_name.values(), key=lambda each: each.name)
        glances = await asyncio.gather(*map(glance_at, seats))
        views = (
            replace(self._view(seat), glance=glance) for seat, glance in zip(seats, glances, strict=True)
        )
        return SeatList(tuple(views), self._seats.trouble)

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
        return await self._list()

    @handles(HubRequests.ask)
    async def ask(self, asked: SeatsRequest) -> SeatAnswers:
        self._seats.read_people()
        known = self._seats.by_name
        if missing := [name for name in asked.seats if name not in known]:
            why = f"the hub knows no {missing[0]!r}; there are: {', '.join(known) or 'none'}"
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_seat", why)
        wanted = [known[name] for name in asked.seats or sorted(known)]
        return SeatAnswers(tuple(await ask_seats(self._seats, wanted, asked.request)))

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
            round(seat.disk_bytes / 1e6, 1),
            seat.quota,
            f"{self._scheme}://{seat.name}.{self._host}",
            self._region,
            seat.trouble,
            seat.person.until,
            course=seat.course,
            minutes_at_lesson=int((stopwatch() - seat.at_lesson_since) / 60) if seat.course else 0,
        )


def build_own_app(seats: Seats, admin: str, url: str, region: str, clock: Clock) -> App:
    """The application below /hub, for the admin's token alone."""
    events = Events(clock)
    resources = HubResources(seats, clock, url, region, PageCookie.of(admin))

    def failed(error: Exception) -> None:
        events.emit("request.failed", error=repr(error))

    handlers = list_handlers([resources])
    app = Starlette(routes=[*resources.routes(), *(each.build_route(failed) for each in handlers)])
    policy = admit_pages(CONTROL, admin, home=HOME, pages={HOME, f"{HOME}/seats"}, wants=_WANTS)
    return Guard(route_by_segments(app), policy, Admission.of((), (), admin), events)
