"""The session of one client, independent of the transport."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, Final, get_args

import msgspec

from extensions.topics.engine.client_session import ClientSession
from extensions.topics.engine.commands import (
    Command,
    Publish,
    Sow,
    SowAndSubscribe,
    SowDelete,
    Undecoded,
    Unsubscribe,
)
from extensions.topics.engine.outgoing_messages import Ack, Message
from extensions.topics.http.faults import TopicFaults
from extensions.topics.http.unsent_messages import UnsentMessages
from extensions.topics.topics_service import TopicService
from rdss_sandbox.shapes.topics import OBJECTS

_LONG_BYTES: Final = 100_000
"""The length from which a message is parsed on a thread, because parsing it would make other clients wait."""

_decode: Final = msgspec.json.Decoder(Command).decode
_decode_several: Final = msgspec.json.Decoder(Command | list[Command]).decode
_NAMES: Final = ", ".join(str(each.__struct_config__.tag) for each in get_args(Command))


class BadCommandError(ValueError):
    """A client sent an invalid command; ``command`` has the headers that could be read."""

    def __init__(self, why: str, command: Undecoded) -> None:
        super().__init__(f"bad command: {why}")
        self.why = why
        self.command = command


def read_command(raw: str | bytes) -> Command:
    """Decode a command. Raises BadCommandError."""
    try:
        command: Command = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadCommandError(f"{error}; the commands are {_NAMES}", _read_headers(raw)) from None
    return command


def read_commands(raw: bytes) -> list[Command]:
    """Decode a command or an array of commands. Raises BadCommandError."""
    try:
        found = _decode_several(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadCommandError(f"{error}; the commands are {_NAMES}", _read_headers(raw)) from None
    return found if isinstance(found, list) else [found]


class Conversation:
    """Executes the commands of a client. Call ``open`` first; ``outbox`` has the messages for the client."""

    def __init__(self, service: TopicService, faults: TopicFaults, user: str, client_name: str) -> None:
        self._service = service
        self._faults = faults
        self._user = user
        self._client_name = client_name
        self._session: ClientSession | None = None
        self.outbox = UnsentMessages()
        # The service identifies the session by this bound method, so it must be the same object.
        self._ended = self.outbox.close

    @property
    def last_seq(self) -> int | None:
        """The last processed sequence number of this publisher."""
        return self._opened.last_seq

    async def open(self) -> None:
        """Open the session. Raises NameInUseError."""
        if not self._service.opened:
            await asyncio.to_thread(self._service.open)
        self._lock = self._service.open().lock
        await self._do(self._begin)

    def close(self) -> None:
        if self._session is not None and not self._done_now(self._leave):
            asyncio.get_running_loop().run_in_executor(None, self._leave)

    async def execute(self, command: Command) -> None:
        """Execute a command; its messages go to the outbox. Raises ClientGoneError for a fault that cuts."""
        if isinstance(command, Sow | SowAndSubscribe | SowDelete):
            # These read many records and would block the event loop.
            await asyncio.to_thread(self._look, command)
        elif isinstance(command, Publish) and self._faults.concern(command):
            await self._faults.publish(self._opened, command, self.outbox)
        elif isinstance(command, Publish) and len(memoryview(command.data)) > _LONG_BYTES:
            await asyncio.to_thread(self._opened.execute, command)
        else:
            await self._do(partial(self._opened.execute, command))

    async def flush_acks(self) -> None:
        """Send the ``persisted`` acks that wait only for their time; they may wait for the disk."""
        await asyncio.to_thread(self._opened.flush_acks)

    def refuse(self, error: BadCommandError) -> None:
        """Refuse an invalid command, in its acknowledgements and as an event."""
        self._opened.refuse(error.command, error.why)

    def sent(self) -> AsyncIterator[list[Message]]:
        """The messages for the client; see ``TopicFaults.sent``."""
        return self._faults.sent(self.outbox)

    @property
    def _opened(self) -> ClientSession:
        assert self._session is not None, "open comes first"
        return self._session

    def _begin(self) -> None:
        self._session = self._service.session(
            self._user, self.outbox.put, client_name=self._client_name, ended=self._ended
        )

    def _leave(self) -> None:
        self._service.left(self._opened, self._ended)

    async def _do(self, do: Callable[[], None]) -> None:
        """Do it now, or on another thread while topics are busy with what takes long."""
        if not self._done_now(do):
            await asyncio.to_thread(do)

    def _done_now(self, do: Callable[[], None]) -> bool:
        if not self._lock.acquire(blocking=False):
            return False
        try:
            do()
        finally:
            self._lock.release()
        return True

    def _look(self, command: Command) -> None:
        if not isinstance(command, Unsubscribe) and command.topic == OBJECTS:
            self._service.catch_up()
        self._opened.execute(command)


def find_failure(messages: Sequence[Message]) -> Ack | None:
    """Find the first acknowledgement of a failure; None when there is none."""
    return next((each for each in messages if isinstance(each, Ack) and each.status == "failure"), None)


def _read_headers(raw: str | bytes) -> Undecoded:
    """Read the valid headers of an invalid command; of an array, those of the first invalid one."""
    message = _parse(raw)
    if isinstance(message, list):
        message = next(filter(_is_invalid, message), None)
    found = Undecoded()
    if isinstance(message, dict):
        for name in ("cmd", "topic", "cmd_id", "ack_type"):
            if isinstance(message.get(name), str):
                setattr(found, name, message[name].encode(errors="replace").decode())
        if type(message.get("seq")) is int:
            found.seq = message["seq"]
    return found


def _parse(raw: str | bytes) -> Any:
    """Parse JSON, also with numbers and characters that a command cannot have; None for anything else."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _is_invalid(command: Any) -> bool:
    try:
        _decode(json.dumps(command))
    except (msgspec.MsgspecError, RecursionError):
        return True
    return False
