"""The hub's AMQP port: a login tells whose sandbox a connection is for, and its bytes go there unchanged."""

from __future__ import annotations

import asyncio
import struct
from typing import Final, cast
from urllib.parse import urlsplit

from emulator.amqp.authentication import MECHANISMS, MalformedLoginError, read_login
from emulator.amqp.connection import FAREWELL_SECONDS, SILENT_CLOSE_SECONDS
from emulator.amqp.refusals import RefusedError
from emulator.amqp.server_properties import SERVER_PROPERTIES
from emulator.amqp.virtual_host import NAME
from emulator.amqp.wire import methods
from emulator.amqp.wire.commands import (
    GREETING,
    GREETINGS,
    Command,
    CommandReader,
    TooMuchError,
    build_command,
)
from emulator.amqp.wire.field_tables import BadTableError
from emulator.amqp.wire.method_codec import TruncatedMethodError, UnknownMethodError
from emulator.http.bounds.client_limits import USUAL
from emulator.machine.port_tls import PortTls
from emulator.relay.amqp.listening import bind_socket, client_url
from extensions.hub.message_counts import PublishCount
from extensions.hub.seats import Seat, SeatNotStartedError, Seats

_LOGIN_SECONDS: Final = 30.0
"""For a client to log in and open its virtual host, as RabbitMQ's handshake_timeout is of the same kind."""
_MOST_GUESTS: Final = 2000
"""Connections of all people together."""
_THROTTLE_SECONDS: Final = 0.05
_UNREADABLE: Final = (
    TooMuchError,
    UnknownMethodError,
    TruncatedMethodError,
    RefusedError,
    BadTableError,
    MalformedLoginError,
    struct.error,
)
_OF_HUB: Final = "amqp://NAME:TOKEN@localhost/"
_SLOW: Final = "the other side is slow"
_TOO_MANY: Final = "too many messages a second"


class AmqpDoor:
    """The listening port, and the connections that came by it."""

    def __init__(self, seats: Seats) -> None:
        self.seats = seats
        self._guests: set[AmqpGuest] = set()

    async def listen(self, host: str, port: int, tls: PortTls | None) -> str:
        """Listen, and return the URL for people. Raises OSError for a port that cannot be bound."""
        listening = bind_socket(host, port)
        self._serving = await asyncio.get_running_loop().create_server(
            self._build_guest,
            sock=listening,
            ssl=tls.amqp if tls else None,
            ssl_handshake_timeout=USUAL.head_seconds if tls else None,
        )
        return client_url(_OF_HUB, listening, None, tls)

    async def close(self) -> None:
        self._serving.close()
        for each in tuple(self._guests):
            each.drop()
        await asyncio.sleep(0)
        await self._serving.wait_closed()

    def _build_guest(self) -> AmqpGuest:
        return AmqpGuest(self.seats, self._guests)


class _Side(asyncio.Protocol):
    """One side of a connection. What comes is read only as fast as the other side takes it."""

    other: _Side | None = None

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._held: set[str] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def pause_writing(self) -> None:
        if self.other is not None:
            self.other.hold(_SLOW)

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.release(_SLOW)

    def hold(self, reason: str) -> None:
        """Read nothing until every ``reason`` is released."""
        if not self._held and self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()
        self._held.add(reason)

    def release(self, reason: str) -> None:
        self._held.discard(reason)
        if not self._held and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def send(self, method: methods.Method) -> None:
        self.write(b"".join(build_command(0, method).frames))

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()


class AmqpGuest(_Side):
    """A client's side. ``_next`` is what it has to send: a header, start, then open; then anything.

    ``has_alarms`` says that its seat had a limit of memory or disk when it logged in.
    """

    def __init__(self, seats: Seats, guests: set[AmqpGuest]) -> None:
        super().__init__()
        self._seats = seats
        self._guests = guests
        self._next = "header"
        self._unread = b""
        self._reader = CommandReader(0, USUAL.frame_bytes)
        self._login: methods.ConnectionStartOk | None = None
        self._user = ""
        self._seat: Seat | None = None
        self._is_counted = False
        self._counting: PublishCount | None = None
        self._is_blocked = False
        self.has_alarms = False
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if len(self._guests) >= _MOST_GUESTS:
            # AMQP has no error message before its own handshake.
            self.close()
            return
        self._guests.add(self)
        self._close_after(_LOGIN_SECONDS)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._guests.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        if self.other is not None:
            self.other.close()
        if self._is_counted and self._seat is not None:
            self._seat.leave()

    @property
    def is_refused(self) -> bool:
        """Whether the client is told why it is not let in, and closes the connection itself."""
        return self._next == "nothing"

    def drop(self) -> None:
        """Cut the connection."""
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._next == "anything":
            self._pass_on(data)
            return
        self._unread += data
        if self._next == "header":
            self._take_header()
        if self._next in {"start", "open"}:
            try:
                self._take_commands()
            except _UNREADABLE:
                self._close_silently()

    def _pass_on(self, data: bytes) -> None:
        assert self.other is not None
        assert self._seat is not None
        self.other.write(data)
        if self._seat.allowance is None and not self._seat.is_full:
            return
        self._counting = self._counting or PublishCount()
        self._throttle(self._counting.count(data))

    def _throttle(self, count: int) -> None:
        """Read on when there is room for more messages, as RabbitMQ does with a client that is too fast."""
        seat = self._seat
        assert seat is not None
        if count and (seat.is_full or (seat.allowance is not None and not seat.allowance.spend(count))):
            seat.refused += _TOO_MANY not in self._held
            self.hold(_TOO_MANY)
            if seat.is_full and not self._is_blocked:
                self._is_blocked = True
                self._tell(methods.ConnectionBlocked(f"low on {seat.lacks}"))
            asyncio.get_running_loop().call_later(_THROTTLE_SECONDS, self._throttle, 1)
        else:
            if self._is_blocked:
                self._is_blocked = False
                self._tell(methods.ConnectionUnblocked())
            self.release(_TOO_MANY)

    def _tell(self, method: methods.Method) -> None:
        """Tell a client that understands it whether it is read at all, as RabbitMQ does at an alarm."""
        assert self._login is not None
        assert isinstance(self.other, _BrokerSide)
        if self.has_alarms and _is_capable(self._login, "connection.blocked"):
            self.other.interject(b"".join(build_command(0, method).frames))

    # -- the handshake

    def _take_header(self) -> None:
        header = self._unread[: len(GREETING)]
        if header in GREETINGS:
            self._unread = self._unread[len(header) :]
            self._next = "start"
            self.send(methods.ConnectionStart(0, 9, SERVER_PROPERTIES, MECHANISMS, b"en_US"))
        elif not any(each.startswith(header) for each in GREETINGS):
            self.write(GREETING)
            self.close()

    def _take_commands(self) -> None:
        while self._unread and self._next in {"start", "open"}:
            found, taken = self._reader.feed(memoryview(self._unread), 1)
            if not found:
                return
            self._unread = self._unread[taken:]
            for command in found:
                self._take_command(command)
        if self._next == "anything" and self._unread:
            rest, self._unread = self._unread, b""
            self._pass_on(rest)

    def _take_command(self, command: Command) -> None:
        if command.refused is not None:
            raise command.refused
        if command.kind is methods.ConnectionStartOk and self._next == "start":
            self._log_in(command.decode_as(methods.ConnectionStartOk))
        elif command.kind is methods.ConnectionOpen and self.other is not None:
            self._open(command.decode_as(methods.ConnectionOpen))
        elif command.kind is methods.ConnectionClose:
            self.send(methods.ConnectionCloseOk())
            self.close()
        elif self.other is not None:
            self.other.write(b"".join(command.frames))
        else:
            raise UnknownMethodError

    def _log_in(self, asked: methods.ConnectionStartOk) -> None:
        user, password = read_login(asked.mechanism, asked.response)
        self._login, self._user = asked, user.decode("utf-8", "replace")
        self._seat = self._seats.find([password])
        if self._seat is None:
            self._refuse_login(asked)
            return
        self._next = "open"
        self.has_alarms = bool(self._seat.quota.memory_mb or self._seat.quota.disk_mb)
        self.hold(_SLOW)
        self._task = asyncio.get_running_loop().create_task(self._connect(self._seat))

    def _refuse_login(self, asked: methods.ConnectionStartOk) -> None:
        if not _is_capable(asked, "authentication_failure_close"):
            self._close_silently()
            return
        words = f"Login was refused using authentication mechanism {asked.mechanism}. "
        self._refuse(RefusedError(403, f"{words}For details see the broker logfile.", method=0))

    async def _connect(self, seat: Seat) -> None:
        """Connect to the broker of the seat, and have it answer the login."""
        try:
            running = await self._seats.wake(seat)
            parts = urlsplit(running.amqp or "")
            await asyncio.get_running_loop().create_connection(
                lambda: _BrokerSide(self), parts.hostname or "127.0.0.1", parts.port or 0
            )
        except (OSError, SeatNotStartedError) as error:
            self._refuse(RefusedError(541, f"the sandbox of {seat.name} cannot be had: {error}", method=0))
        finally:
            self.release(_SLOW)

    def greet(self, broker: _BrokerSide) -> None:
        """Begin with the broker as the client began here."""
        assert self._login is not None
        self.other = broker
        broker.write(GREETING)
        broker.send(self._login)

    def _open(self, asked: methods.ConnectionOpen) -> None:
        seat = self._seat
        assert seat is not None
        assert self.other is not None
        name, most = asked.virtual_host, seat.quota.connections
        access = f"access to vhost '{name}' refused for user '{self._user}'"
        if name not in {NAME, seat.name}:
            known = name in self._seats.by_name
            self._refuse(RefusedError(530, access if known else f"vhost {name} not found"))
            return
        if most and seat.calls >= most:
            seat.refused += 1
            self._refuse(RefusedError(530, f"{access}: connection limit ({most}) is reached"))
            return
        seat.enter()
        self._is_counted = True
        self._next = "anything"
        if self._timer is not None:
            self._timer.cancel()
        self.other.send(asked._replace(virtual_host=NAME))

    # -- the end

    def _refuse(self, refused: RefusedError) -> None:
        self._next = "nothing"
        self.send(
            methods.ConnectionClose(refused.code, refused.text, 10, 40 if refused.method is None else 0)
        )
        if self.other is not None:
            self.other.close()
        # The client answers that with connection.close-ok, and hangs up.
        self._close_after(FAREWELL_SECONDS)

    def _close_silently(self) -> None:
        """As RabbitMQ does with a handshake that fails."""
        self._next = "nothing"
        self._close_after(SILENT_CLOSE_SECONDS)

    def _close_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self.close)


def _is_capable(login: methods.ConnectionStartOk, name: str) -> bool:
    """Whether a client has said that it understands something."""
    given = login.client_properties.get("capabilities")
    found = given.value.get(name) if given is not None and given.tag == "F" else None
    return found is not None and bool(found.value)


class _BrokerSide(_Side):
    """The side of the broker, whose own connection.start the client does not get."""

    def __init__(self, guest: AmqpGuest) -> None:
        super().__init__()
        self._guest = guest
        self.other = guest
        self._unread: bytes | None = b""
        self._frames = PublishCount()
        self._interjected = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._guest.greet(self)

    def interject(self, said: bytes) -> None:
        """Say something to the client that is not the broker's, where none of its frames is cut."""
        if self._frames.is_between_frames:
            self._guest.write(said)
        else:
            self._interjected += said

    def connection_lost(self, _exc: Exception | None) -> None:
        if not self._guest.is_refused:
            self._guest.close()

    def data_received(self, data: bytes) -> None:
        if self._unread is None:
            self._pass_on(data)
            return
        self._unread += data
        found, taken = CommandReader().feed(memoryview(self._unread), 1)
        if found:
            rest, self._unread = self._unread[taken:], None
            self._pass_on(rest)

    def _pass_on(self, data: bytes) -> None:
        if self._guest.has_alarms:
            self._frames.count(data)
            at = self._frames.boundary
            if self._interjected and at is not None:
                data, self._interjected = data[:at] + self._interjected + data[at:], b""
        self._guest.write(data)
