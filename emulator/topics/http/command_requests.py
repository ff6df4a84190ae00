"""Commands in HTTP requests: several in a body, or one subscription in a query string."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import msgspec
from starlette.requests import HTTPConnection
from starlette.responses import Response

from emulator.clock import stopwatch
from emulator.http.asgi import BodyTooLongError, Receive, whole_body
from emulator.http.limits import SLICE_SECONDS
from emulator.listeners.control.routing import JSON, ApiError
from emulator.topics.engine.commands import (
    Command,
    DeltaSubscribe,
    Publish,
    SowAndDeltaSubscribe,
    SowAndSubscribe,
    SowDelete,
    Subscribe,
    Undecoded,
)
from emulator.topics.engine.outgoing_messages import Ack, Message
from emulator.topics.http.conversation import BadCommandError, Conversation, failed, read_commands
from emulator.topics.http.unsent_messages import Outbox

Subscription: TypeAlias = Subscribe | DeltaSubscribe | SowAndSubscribe | SowAndDeltaSubscribe

_MOST_BYTES: Final = 1 << 24
_PERSISTED_SECONDS: Final = 5.0
_ABOUT_THE_CLIENT: Final = ("user_id", "client_name")
_encode: Final = msgspec.json.Encoder().encode


async def commands_in(receive: Receive) -> list[Command]:
    """Read a command or an array of commands from a body. Raises ApiError and BadCommandError."""
    try:
        commands = read_commands(await whole_body(receive, _MOST_BYTES))
    except BodyTooLongError:
        why = f"a body here is {_MOST_BYTES >> 20} MiB at most"
        raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", why) from None
    for command in commands:
        if isinstance(command, Subscribe | SowAndSubscribe):
            why = "an answer ends: subscribe at GET /topics/messages, or on a WebSocket at /topics/ws"
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_command", why)
    return commands


def command_asked(asked: HTTPConnection) -> Subscription:
    """Read a subscription from a query string with its headers. Raises BadCommandError."""
    given: dict[str, Any] = {"cmd": "subscribe", "sub_id": "1", **asked.query_params}
    given = {name: value for name, value in given.items() if name not in _ABOUT_THE_CLIENT}
    try:
        command: Subscription = msgspec.convert(given, Subscription, strict=False)
    except msgspec.ValidationError as error:
        said = {name: given[name] for name in ("cmd", "topic", "cmd_id") if name in given}
        raise BadCommandError(str(error), Undecoded(**said)) from None
    resumed = asked.headers.get("last-event-id")
    if resumed and isinstance(command, Subscribe):
        command.bookmark = resumed
    command.ack_type = _with(command.ack_type, "processed")
    return command


async def done(conversation: Conversation, commands: Sequence[Command]) -> Response:
    """Execute them one after another, and answer with all that came of it once it is acknowledged."""
    until = stopwatch() + SLICE_SECONDS
    for command in commands:
        if stopwatch() > until:
            # Others have their turn.
            await asyncio.sleep(0)
            until = stopwatch() + SLICE_SECONDS
        acknowledged = msgspec.structs.replace(command, ack_type=_with(command.ack_type, "processed"))
        await conversation.execute(acknowledged)
    durable = [each for each in commands if _asks(each.ack_type, "persisted")]
    messages = await _answered(conversation.outbox, durable)
    status = HTTPStatus.OK if failed(messages) is None else _status(failed(messages))
    return Response(_encode({"messages": messages}), status, media_type=JSON)


def refused(messages: Sequence[Message]) -> None:
    """Raise ApiError if one of the messages acknowledges a failure."""
    failure = failed(messages)
    if failure is not None:
        raise ApiError(_status(failure), "bad_command", failure.reason)


async def _answered(outbox: Outbox, durable: list[Command]) -> list[Message]:
    """Wait for the ``persisted`` acks of ``durable``, for at most five seconds; return all messages."""
    messages = outbox.taken()
    waiting = _unpersisted(durable, messages)
    try:
        async with asyncio.timeout(_PERSISTED_SECONDS):
            while waiting:
                await outbox.wait()
                if outbox.closed is not None:
                    break
                news = outbox.taken()
                messages += news
                waiting = _unpersisted(waiting, news)
    except TimeoutError:
        pass
    return messages


def _unpersisted(commands: list[Command], messages: Sequence[Message]) -> list[Command]:
    """Those without an acknowledgement of their own, or one that covers their sequence number, among them."""
    acks = [each for each in messages if isinstance(each, Ack) and each.ack_type == "persisted"]
    named = {each.cmd_id for each in acks if each.cmd_id}
    upto = max((math.inf if each.seq is None else each.seq for each in acks if not each.cmd_id), default=-1)
    return [each for each in commands if each.cmd_id not in named and upto < (_seq(each) or 0)]


def _seq(command: Command) -> int | None:
    return command.seq if isinstance(command, Publish | SowDelete) else None


def _status(failure: Ack | None) -> HTTPStatus:
    entitled = failure is None or not failure.reason.startswith("not entitled")
    return HTTPStatus.BAD_REQUEST if entitled else HTTPStatus.FORBIDDEN


def _with(ack_type: str, kind: str) -> str:
    return ack_type if _asks(ack_type, kind) else f"{ack_type},{kind}".strip(",")


def _asks(ack_type: str, kind: str) -> bool:
    return kind in {each.strip() for each in ack_type.split(",")}
