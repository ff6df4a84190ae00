"""The short way of a connection that is one person's: calls of AWS and WebSockets pass to the sandbox unread.

SDKs keep a connection, and send one call after another on it. A call is passed on as it came when all of it
is here, its access key is that of a seat, and nothing of it is counted by a limit; the sandbox looks
at each call's key again, and its answers go back as they come. With the first call that is another's, or of
another kind, the connection goes over to the port's own protocol, for good.

A WebSocket (RFC 6455 section 4.1) is of the seat that its offer names, with the token in the offer; from then
on what is said passes both ways.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Final, cast
from urllib.parse import unquote, urlsplit

from extensions.hub.hub_app import HubApp, SeatPlace
from extensions.hub.seats import Seat, SeatNotStartedError, Seats
from rdss_sandbox.admission import foreign_page, is_ambiguous

_CALL: Final = b"POST / HTTP/1.1\r\n"
_END: Final = b"\r\n\r\n"
_KEY: Final = re.compile(rb"\r\nauthorization: *AWS4-HMAC-SHA256 Credential=([^/,\s]+)/", re.IGNORECASE)
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d{1,7})\r\n", re.IGNORECASE)
_OTHER_KINDS: Final = (
    b"transfer-encoding",
    b"expect",
    b"upgrade",
    b"x-amz-security-token",
    b"origin",
    b"sec-fetch-site",
)
"""Headers, in small letters, with which the port's own protocol has something to do."""
_SOCKET: Final = re.compile(rb"GET /[^ \r\n]* HTTP/1\.1\r\n")
_OFFER: Final = b"\r\nupgrade: websocket\r\n"
_MOST_HEAD: Final = 8 << 10
_MOST_BYTES: Final = 1 << 20
_MOST_LANES: Final = 1000
_ARRIVE_SECONDS: Final = 20.0
"""For a first call; the port has time-outs of its own."""


class CallLanes:
    """Makes the lanes of a port, and has those that are open."""

    def __init__(self, app: HubApp, seats: Seats) -> None:
        self.app = app
        self.seats = seats
        self.open: set[CallLane] = set()

    def front(self, build_port: Callable[[], asyncio.Protocol]) -> asyncio.Protocol:
        """What sees a new connection first; ``build_port`` makes the port's own protocol."""
        return CallLane(self, build_port) if len(self.open) < _MOST_LANES else build_port()

    def close(self) -> None:
        for each in tuple(self.open):
            each.drop()


class CallLane(asyncio.Protocol):
    """A client's connection, as long as it is on the short way."""

    def __init__(self, lanes: CallLanes, build_port: Callable[[], asyncio.Protocol]) -> None:
        self._lanes = lanes
        self._build_port = build_port
        self._unread = b""
        self._seat: Seat | None = None
        self._answers: _Answers | None = None
        self._is_waiting = self._is_socket = False
        self._timer: asyncio.TimerHandle | None = None

    # -- the client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._lanes.open.add(self)
        self._timer = asyncio.get_running_loop().call_later(_ARRIVE_SECONDS, self._leave_for_port)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._end()

    def data_received(self, data: bytes) -> None:
        self._unread = self._unread + data if self._unread else data
        if self._is_socket:
            if self._answers is not None:
                self._answers.transport.write(self._unread)
                self._unread = b""
            return
        if self._is_waiting and self._answers is not None and self._answers.has_no_length:
            # The client knows where that answer ended, or it would not go on.
            self.answered()
        if not self._is_waiting:
            self._take()

    def pause_writing(self) -> None:
        if self._answers is not None:
            self._answers.transport.pause_reading()

    def resume_writing(self) -> None:
        if self._answers is not None:
            self._answers.transport.resume_reading()

    def drop(self) -> None:
        self.transport.abort()

    # -- calls

    def _take(self) -> None:
        """Pass a call on when all of it is here; leave for the port with what is none."""
        data = self._unread
        end = data.find(_END, 0, _MOST_HEAD)
        if end < 0:
            begun = data.startswith((_CALL[: len(data)], b"GET "[: len(data)]))
            if len(data) >= _MOST_HEAD or not begun:
                self._leave_for_port()
            return
        head = data[: end + 2]
        if _SOCKET.match(head) and _OFFER in head.lower():
            self._open_socket(head)
            return
        length, key, small = _LENGTH.search(head), _KEY.search(head), head.lower()
        if not head.startswith(_CALL) or not length or not key or any(each in small for each in _OTHER_KINDS):
            self._leave_for_port()
            return
        whole = end + len(_END) + int(length[1])
        seat = self._lanes.seats.find((key[1],))
        if whole > _MOST_BYTES or len(data) > whole or seat is None or not self._is_open_to(seat):
            self._leave_for_port()
        elif len(data) == whole:
            self._unread = b""
            self._pass_on(seat, data)

    def _is_open_to(self, seat: Seat) -> bool:
        """Whether the seat is the one that the connection is for, stays, and has no limits to be counted."""
        return (
            (self._seat is None or self._seat is seat)
            and not seat.is_stopping
            and seat.allowance is None
            and not seat.is_full
            and not seat.quota.connections
        )

    def _pass_on(self, seat: Seat, call: bytes) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._is_waiting = True
        seat.enter()
        self._seat = seat
        if self._answers is not None:
            self._answers.send(call)
            return
        self._connecting = asyncio.get_running_loop().create_task(self._begin(seat, call))

    async def _begin(self, seat: Seat, call: bytes) -> None:
        """Connect for the first call, for which the seat may have to be woken."""
        try:
            parts = urlsplit((await self._lanes.seats.wake(seat)).aws)
        except SeatNotStartedError:
            self._give_to_port(call)
        else:
            await self._connect(parts.hostname or "", parts.port or 0, call)

    def _give_to_port(self, call: bytes) -> None:
        """Have the port answer a call, which waits for the next sandbox or says why there is none."""
        if not self.transport.is_closing():
            self._unread = call + self._unread
            self.answered()
            self._leave_for_port()

    async def _connect(self, host: str, port: int, call: bytes) -> None:
        try:
            _, self._answers = await asyncio.get_running_loop().create_connection(
                lambda: _Answers(self), host, port
            )
        except OSError:
            if self._is_socket:
                self.transport.close()
                return
            self._give_to_port(call)
        else:
            if self.transport.is_closing():
                self._end()
            else:
                self._answers.send(call)

    # -- WebSockets

    def _open_socket(self, head: bytes) -> None:
        """Pass an offer on to the port that it names, with all that comes after; the rest is the port's."""
        app, (first, *lines) = self._lanes.app, head.split(b"\r\n")[:-1]
        headers = [
            (name.lower(), value.strip()) for name, _, value in (each.partition(b":") for each in lines)
        ]
        raw_path, _, query = first.split(b" ")[1].partition(b"?")
        scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "headers": headers,
            "path": unquote(raw_path.decode("latin-1")),
            "raw_path": raw_path,
            "query_string": query,
            "client": self.transport.get_extra_info("peername"),
        }
        found = dict(headers)
        place = app.find_place(scope, found)
        if (
            place is None
            or is_ambiguous(headers)
            or foreign_page(found)
            or app.refuse_stranger(place, scope, found) is not None
            or (place.seat.quota.connections and place.seat.calls >= place.seat.quota.connections)
        ):
            self._leave_for_port()
            return
        self._is_socket = self._is_waiting = True
        self._seat = place.seat
        place.seat.enter()
        offer = b"GET %b HTTP/1.1\r\n%b\r\n\r\n" % (place.target, b"\r\n".join(lines))
        self._unread = self._unread[len(head) + 2 :]
        self._connecting = asyncio.get_running_loop().create_task(self._join(place, offer))

    async def _join(self, place: SeatPlace, offer: bytes) -> None:
        try:
            await self._lanes.seats.wake(place.seat)
        except SeatNotStartedError:
            self.transport.close()
            return
        port = place.seat.connections_to(place.port)
        if port is None:
            self.transport.close()
            return
        await self._connect(port.host, port.port, offer)
        if self._answers is not None and self._unread:
            self._answers.transport.write(self._unread)
            self._unread = b""

    # -- answers

    def answered(self) -> None:
        """The answer is all there: take the next call."""
        assert self._seat is not None
        self._is_waiting = False
        self._seat.leave()

    def go_on(self) -> None:
        if self._unread:
            self._take()

    def answers_ended(self) -> None:
        """The sandbox has closed the connection, idle or for good."""
        self.transport.close()

    # -- the end

    def _leave_for_port(self) -> None:
        """Have the port's own protocol go on with the connection."""
        unread, self._unread = self._unread, b""
        self._end()
        port = self._build_port()
        self.transport.set_protocol(port)
        # ``set_protocol`` does not call the new protocol, so what it missed is passed on here.
        port.connection_made(self.transport)
        if unread:
            port.data_received(unread)

    def _end(self) -> None:
        self._lanes.open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._is_waiting:
            self.answered()
        answers, self._answers = self._answers, None
        if answers is not None:
            answers.close()


class _Answers(asyncio.Protocol):
    """The sandbox's side of a lane. Of its answers only the ends are looked for."""

    def __init__(self, lane: CallLane) -> None:
        self._lane: CallLane | None = lane
        self._head = b""
        self._left = 0
        self.has_no_length = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _exc: Exception | None) -> None:
        if self._lane is not None:
            self._lane.answers_ended()

    def pause_writing(self) -> None:
        if self._lane is not None:
            self._lane.transport.pause_reading()

    def resume_writing(self) -> None:
        if self._lane is not None:
            self._lane.transport.resume_reading()

    def send(self, call: bytes) -> None:
        self._head, self._left, self.has_no_length = b"", 0, False
        self.transport.write(call)

    def close(self) -> None:
        self._lane = None
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        lane = self._lane
        if lane is None:
            return
        lane.transport.write(data)
        if self._is_last(data):
            lane.answered()
            lane.go_on()

    def _is_last(self, data: bytes) -> bool:
        """Whether the answer ends with these bytes, as far as that is known."""
        if self.has_no_length:
            return False
        if self._left > 0:
            self._left -= len(data)
            return self._left <= 0
        self._head += data
        end = self._head.find(_END)
        if end < 0:
            return False
        head = self._head[: end + 2]
        length = _LENGTH.search(head)
        come, self._head = len(self._head) - end - len(_END), b""
        if length is None:
            self.has_no_length = True
            return False
        self._left = int(length[1]) - come
        return self._left <= 0
