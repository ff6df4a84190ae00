"""One connection: protocol header, login, tuning, channels and the end (specification, section 2.2)."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from emulator.amqp.authentication import MECHANISMS, MalformedLoginError, is_password, read_login
from emulator.amqp.channel import Channel, Handlers
from emulator.amqp.client_end import Wire
from emulator.amqp.operations.operation_table import OPERATIONS
from emulator.amqp.operations.publishing import publish
from emulator.amqp.refusals import RefusedError, describe_bytes
from emulator.amqp.server_properties import SERVER_PROPERTIES
from emulator.amqp.turn import Steps
from emulator.amqp.virtual_host import NAME, VirtualHost
from emulator.amqp.wire import frames, methods
from emulator.amqp.wire.commands import GREETING, GREETINGS, Command, build_command
from emulator.amqp.wire.field_tables import BadTableError, Table
from emulator.amqp.wire.method_codec import TruncatedMethodError, UnknownMethodError
from emulator.amqp.wire.methods import Method

CHANNEL_MAX: Final = 2047
FRAME_MAX: Final = 131_072
LEAST_FRAME_MAX: Final = 4096
HEARTBEAT_SECONDS: Final = 60
SILENT_CLOSE_SECONDS: Final = 3.0
"""How long RabbitMQ waits before it closes a connection that failed in its handshake."""
FAREWELL_SECONDS: Final = 30.0
"""How long a peer has to answer connection.close, and to hang up after its own."""
_NEWER: Final = b"AMQP\x03\x01\0\0"
_HANDLERS: Final = Handlers(OPERATIONS, publish)
_CLOSE_OK: Final = b"\x00\x0a\x00\x33"
# A client that makes its routing keys up must not flood the stream of events.
_MOST_REPORTED: Final = 100
# What is not sent yet is in memory, and a turn has time for many large messages.
_MOST_UNSENT: Final = 256 << 10
# RabbitMQ hangs up between two and three heartbeats after the last byte; these halves are three.
_SILENT_BEATS: Final = 6
_FROM_CLIENT: Final = frozenset(
    {
        methods.ConnectionStartOk,
        methods.ConnectionTuneOk,
        methods.ConnectionOpen,
        methods.ConnectionClose,
        methods.ConnectionCloseOk,
        methods.ConnectionUpdateSecret,
    }
)
_BEFORE_OPEN: Final = frozenset({"start", "tune", "open"})


class ConnectionOwner(Protocol):
    """The broker of a connection."""

    user: str
    password: str
    vhost: VirtualHost

    @property
    def report(self) -> Callable[..., None]: ...
    def commit(self) -> None: ...
    def end_turn(self) -> None: ...
    def note_unsent(self, connection: Connection) -> None: ...
    def note_unread(self, connection: Connection) -> None: ...
    def forget(self, connection: Connection) -> None: ...
    def delete_queue(self, name: str) -> int: ...


class Connection:
    """A client's connection. ``take`` gets its commands; the answers leave with the broker's commit.

    ``state`` is what comes next: ``header``, ``start``, ``tune``, ``open``, then ``running``; at the end
    ``closing`` until close-ok comes, and ``closed``.
    """

    def __init__(self, broker: ConnectionOwner, wire: Wire) -> None:
        self.broker = broker
        self.state = "header"
        self.capabilities: Table = {}
        self.login: methods.ConnectionStartOk | None = None
        self.frame_max = FRAME_MAX
        self.channel_max = CHANNEL_MAX
        self.heartbeat = 0
        self.channels: dict[int, Channel] = {}
        self.wire = wire
        self._commands: deque[Command] = deque()
        self._out: list[Command] = []
        self._gathered: list[Command] = []
        self._unsent = self._gathered_bytes = 0
        self._is_noted = False
        self.confirming: dict[Channel, None] = {}
        """The channels that have confirms for the next ``gather``."""
        self._paused = False
        self._ending = False
        self._silent_beats = 0
        self._sent_since_beat = False
        self._unroutable: set[str] = set()
        self._begun: tuple[Command, Steps] | None = None
        self._has_left = False

    # Input

    def take(self, commands: list[Command]) -> None:
        """Take commands of the client, and answer: now as far as a turn goes, the rest by ``proceed``."""
        # Whatever comes counts as a heartbeat (section 4.2.7).
        self._silent_beats = 0
        self._commands += commands
        if not self._has_left:
            self._take_turn()
        self.broker.end_turn()

    def proceed(self) -> None:
        """Go on with what was received, for one turn."""
        if self._has_left:
            self._take_turn()

    def lost(self) -> None:
        """Give up the connection, which is gone: its messages go back, its own queues are deleted.

        What it still had to say is dropped, but for what has begun.
        """
        self.vhost.turn.begin()
        self._has_left = False
        self._commands.clear()
        if self._begun is not None:
            # A publish that stopped half way would be in some of its queues only.
            self.vhost.do(_finish(self._begun[1]))
            self._begun = None
        self._end_channels()
        self.state = "closed"
        self.broker.forget(self)
        self.vhost.do(self._delete_own_queues())
        self.broker.end_turn()

    def _delete_own_queues(self) -> Steps:
        for queue in tuple(self.vhost.queues.values()):
            if queue.owner is self:
                self.broker.delete_queue(queue.name)
                yield

    def note_unroutable(self, routing_key: str) -> None:
        """Report a message on the default exchange that no queue took, once for each routing key.

        Names that the broker gave out are left out: an answer may come when the asker has gone.
        """
        reported = self._unroutable
        if (
            routing_key not in reported
            and len(reported) < _MOST_REPORTED
            and not routing_key.startswith("amq.")
        ):
            reported.add(routing_key)
            self.broker.report("amqp.unroutable", channel=routing_key, routing_key=routing_key)

    def pause(self) -> None:
        """Deliver nothing until ``resume``: the client does not read."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._go_on()
        self.broker.end_turn()

    @property
    def is_writable(self) -> bool:
        """Whether messages may be delivered: the client reads, and is not to be closed."""
        return not self._paused and self._unsent < _MOST_UNSENT and self.state == "running"

    @property
    def vhost(self) -> VirtualHost:
        return self.broker.vhost

    @property
    def user(self) -> str:
        return self.broker.user

    def delete_queue(self, name: str) -> None:
        """Delete a queue and notify its consumers."""
        self.broker.delete_queue(name)

    def send(self, channel: int, method: Method) -> None:
        self.send_command(build_command(channel, method))

    def send_command(self, command: Command) -> None:
        self._out.append(command)
        self._unsent += command.size
        if not self._is_noted:
            self._note_unsent()

    def note_confirms(self, channel: Channel) -> None:
        """Have the confirms of a channel sent with the next ``flush``."""
        self.confirming[channel] = None
        if not self._is_noted:
            self._note_unsent()

    def _note_unsent(self) -> None:
        """Have ``flush`` called."""
        self._is_noted = True
        self.broker.note_unsent(self)

    def gather(self) -> None:
        """Set apart what ``flush`` sends: what waits now, with the confirms of what is stored."""
        if self.confirming:
            confirming, self.confirming = self.confirming, {}
            for channel in confirming:
                channel.send_confirms()
        # Not sooner, or the confirms would note it again.
        self._is_noted = False
        self._gathered, self._out = self._out, []
        self._gathered_bytes = self._unsent

    def flush(self) -> None:
        """Send what was gathered."""
        if self._gathered:
            out, self._gathered = self._gathered, []
            was_full = self._unsent >= _MOST_UNSENT
            self._unsent -= self._gathered_bytes
            self._sent_since_beat = True
            self.wire.answer(out)
            # The queues passed its consumers by while there was no room.
            if was_full and not self._paused:
                self._go_on()
        if self._ending and not self._is_noted:
            self._ending = False
            self.wire.close()

    def beat(self) -> None:
        """Send a heartbeat if nothing was sent since the last, and drop a client that is silent for too long.

        It is called every half of the ``heartbeat`` seconds, if there are any.
        """
        self._silent_beats += 1
        if self._silent_beats >= _SILENT_BEATS:
            self.wire.close()
            return
        if not self._sent_since_beat:
            self.wire.answer([Command(0, None, [frames.BEAT])])
        self._sent_since_beat = False

    def break_off(self) -> None:
        """Close without a word of what was to be sent, and handle nothing of what has come."""
        # A confirm of what comes behind would confirm what was lost, too.
        self.state = "closed"
        for held in (self._commands, self._out, self._gathered, self.confirming):
            held.clear()
        self._unsent = 0
        self.wire.close()

    def force_close(self, why: str) -> None:
        """Close as an administrator does, with CONNECTION_FORCED."""
        if self.state == "running":
            self._refuse(RefusedError(320, why, method=0), 0)
        elif self.state != "closing":
            self._close()

    # Commands

    def _take_header(self, header: bytes) -> None:
        if header in GREETINGS:
            self.state = "start"
            self.send(0, methods.ConnectionStart(0, 9, SERVER_PROPERTIES, MECHANISMS, b"en_US"))
        else:
            known = GREETING if header.startswith(GREETING[:7]) else _NEWER
            self.send_command(Command(0, None, [known]))
            self._close()

    def _take_turn(self) -> None:
        """Handle input until it is all handled, or the turn is over."""
        turn = self.vhost.turn
        turn.begin()
        begun, self._begun = self._begun, None
        if begun is not None:
            self._take_command(*begun)
        while self._begun is None and self._commands and self.state != "closed":
            self._take_command(self._commands.popleft())
            if turn.is_over:
                break
        if self.state == "closed":
            self._commands.clear()
        self._note_left(is_left=self._begun is not None or bool(self._commands))

    def _note_left(self, *, is_left: bool) -> None:
        """Have ``proceed`` called for what is left, and nothing brought meanwhile."""
        if is_left:
            self.broker.note_unread(self)
        if is_left != self._has_left:
            self._has_left = is_left
            (self.wire.pause_input if is_left else self.wire.resume_input)()

    def _take_command(self, command: Command, begun: Steps | None = None) -> None:
        """Handle a command, or go on with one that was ``begun`` in an earlier turn."""
        channel = self.channels.get(command.channel)
        try:
            steps = begun or self._answer(command, channel)
            if steps is not None and not self.vhost.turn.run(steps):
                self._begun = command, steps
            elif channel is not None and channel.is_closed:
                self._end_channel(command.channel)
        except RefusedError as refused:
            method_id = channel.method_id if channel is not None else _method_id(command)
            self._refuse(refused, command.channel, method_id)
        except OSError as error:
            why = f"what this asks for cannot be stored: {error.strerror}"
            self._refuse(RefusedError(506, why, method=_method_id(command)), 0)
        except TruncatedMethodError:
            self._refuse_truncated(command.frames[0][frames.PAYLOAD_AT : -1])
        except UnknownMethodError:
            self._close()
        # RabbitMQ's channel crashes at such properties, and its connection says only this.
        except (BadTableError, struct.error, IndexError):
            self._refuse(RefusedError(541, method=0), 0)

    def _answer(self, command: Command, channel: Channel | None) -> Steps | None:
        """Handle a command, and return what is left to do of it."""
        # Before the header there are no frames to be wrong, and once it closes nothing else is answered.
        if command.refused is not None and self.state not in ("header", "closing"):
            raise command.refused
        if channel is None:
            self._take_command_of_connection(command)
        elif channel.is_closing:
            channel.drop_until_close_ok(command)
        else:
            return channel.take(command)
        return None

    def _refuse_truncated(self, payload: bytes) -> None:
        if len(payload) < 4:
            text = f"type 1, all octets = {describe_bytes(payload)}: unknown_frame"
            self._refuse(RefusedError(501, text, method=0), 0)
        else:
            text = f"cannot decode {describe_bytes(payload[4:])}"
            self._refuse(RefusedError(501, text, method=int.from_bytes(payload[:4], "big")), 0)

    def _take_command_of_connection(self, command: Command) -> None:
        frame = command.frames[0]
        if self.state == "header":
            self._take_header(frame)
            return
        if frame[0] == frames.HEARTBEAT:
            return
        payload = frame[frames.PAYLOAD_AT : -1]
        if self.state == "closing":
            if payload[:4] == _CLOSE_OK:
                self._close()
            return
        if frame[0] != frames.METHOD:
            raise RefusedError(505, "expected method frame, got non method frame instead", method=0)
        method = command.decode()
        if self.state in _BEFORE_OPEN:
            self._take_handshake(command.channel, payload, method)
        elif command.channel == 0:
            self._take_running(method)
        elif type(method) is methods.ChannelOpen:
            self._open_channel(command.channel)
        else:
            raise RefusedError(504, "expected 'channel.open'")

    def _take_handshake(self, channel: int, payload: bytes, method: Method) -> None:
        if channel:
            text = f"type 1, all octets = {describe_bytes(payload)}"
            self._refuse(RefusedError(505, text, method=0), 0)
        elif isinstance(method, methods.ConnectionStartOk) and self.state == "start":
            self._log_in(method)
        elif isinstance(method, methods.ConnectionTuneOk) and self.state == "tune":
            self._tune(method)
        elif isinstance(method, methods.ConnectionOpen) and self.state == "open":
            self._open(method)
        elif isinstance(method, methods.ConnectionClose):
            self._accept_close()
        else:
            self._close_silently()

    def _log_in(self, asked: methods.ConnectionStartOk) -> None:
        self.login = asked
        given = asked.client_properties.get("capabilities")
        self.capabilities = given.value if given is not None and given.tag == "F" else {}
        try:
            user, password = read_login(asked.mechanism, asked.response)
        except MalformedLoginError:
            self._close_silently()
            return
        if user.decode("utf-8", "replace") != self.broker.user or not is_password(
            password, self.broker.password
        ):
            if self.is_capable("authentication_failure_close"):
                text = (
                    f"Login was refused using authentication mechanism {asked.mechanism}. "
                    "For details see the broker logfile."
                )
                self._refuse(RefusedError(403, text, method=0), 0)
            self._close_silently()
            return
        self.state = "tune"
        self.send(0, methods.ConnectionTune(CHANNEL_MAX, FRAME_MAX, HEARTBEAT_SECONDS))

    def _tune(self, asked: methods.ConnectionTuneOk) -> None:
        # A 0 would mean no limit, which RabbitMQ refuses where it has one itself.
        if not (LEAST_FRAME_MAX <= asked.frame_max <= FRAME_MAX and 0 < asked.channel_max <= CHANNEL_MAX):
            self._close_silently()
            return
        self.frame_max = asked.frame_max
        self.channel_max, self.heartbeat = asked.channel_max, asked.heartbeat
        self.state = "open"

    def _open(self, asked: methods.ConnectionOpen) -> None:
        if asked.virtual_host != NAME:
            raise RefusedError(530, f"vhost {asked.virtual_host} not found")
        self.state = "running"
        self.send(0, methods.ConnectionOpenOk(""))

    def _take_running(self, method: Method) -> None:
        if isinstance(method, methods.ConnectionClose):
            self._accept_close()
        elif isinstance(method, methods.ConnectionUpdateSecret):
            self.send(0, methods.ConnectionUpdateSecretOk())
        elif not isinstance(method, methods.ConnectionCloseOk):
            raise RefusedError(504, "unexpected method in connection state running")

    def _open_channel(self, number: int) -> None:
        if len(self.channels) >= self.channel_max:
            reached = f"has reached the negotiated channel_max ({self.channel_max})"
            raise RefusedError(530, f"number of channels opened ({len(self.channels)}) {reached}", method=0)
        self.channels[number] = Channel(self, number, _HANDLERS)
        self.send(number, methods.ChannelOpenOk(b""))

    # The end

    def is_capable(self, name: str) -> bool:
        """Whether the client said that it understands something."""
        found = self.capabilities.get(name)
        return found is not None and found.tag == "t" and bool(found.value)

    def _refuse(self, refused: RefusedError, number: int, method_id: int = 0) -> None:
        class_id, method = divmod(method_id if refused.method is None else refused.method, 1 << 16)
        channel = self.channels.get(number)
        if channel is not None and not refused.whole:
            # The client would take what is stored and not confirmed for lost.
            channel.send_confirms()
            self._release_channel(channel)
            channel.is_closing = True
            self.send(number, methods.ChannelClose(refused.code, refused.text, class_id, method))
            return
        self._end_channels()
        self.state = "closing"
        self.send(0, methods.ConnectionClose(refused.code, refused.text, class_id, method))
        self.wire.close_after(FAREWELL_SECONDS)

    def _accept_close(self) -> None:
        for channel in self.channels.values():
            channel.send_confirms()
        self._end_channels()
        self.send(0, methods.ConnectionCloseOk())
        self.state = "closed"
        self.wire.close_after(FAREWELL_SECONDS)

    def _close(self) -> None:
        """Close when what waits is sent."""
        self.state = "closed"
        self._ending = True
        self._note_unsent()

    def _close_silently(self) -> None:
        self.state = "closing"
        self.wire.close_after(SILENT_CLOSE_SECONDS)

    def _end_channels(self) -> None:
        for number in tuple(self.channels):
            self._end_channel(number)

    def _end_channel(self, number: int) -> None:
        channel = self.channels.pop(number)
        # A confirm behind the channel's end would reach a number that nobody has open.
        self.confirming.pop(channel, None)
        self._release_channel(channel)

    def _release_channel(self, channel: Channel) -> None:
        for name in channel.release():
            if name in self.broker.vhost.queues:
                self.broker.delete_queue(name)

    def _go_on(self) -> None:
        for channel in self.channels.values():
            channel.go_on()


def _finish(steps: Steps) -> Steps:
    """The steps, of which nobody is told any more how they ended."""
    with suppress(RefusedError, OSError):
        yield from steps


def _method_id(command: Command) -> int:
    """The id of what came as a method, also where its content is none."""
    first = command.frames[0]
    return int.from_bytes(first[frames.PAYLOAD_AT : -1][:4], "big") if first[0] == frames.METHOD else 0
