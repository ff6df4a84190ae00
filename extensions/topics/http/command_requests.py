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
from emulator.http.bounds.client_limits import SLICE_SECONDS
from emulator.listeners.control.endpoint_routing import JSON, ApiError
from extensions.topics.engine.commands import (
    Command,
    DeltaSubscribe,
    Publish,
    SowAndDeltaSubscribe,
    SowAndSubscribe,
    SowDelete,
    Subscribe,
    Undecoded,
)
from extensions.topics.engine.outgoing_messages import Ack, Message
from extensions.topics.http.conversation import BadCommandError, Conversation, find_failure, read_commands
from extensions.topics.http.unsent_messages import UnsentMessages

Subscription: TypeAlias = Subscribe | DeltaSubscribe | SowAndSubscribe | SowAndDeltaSubscribe

_MOST_BYTES: Final = 1 << 24
_PERSISTED_SECONDS: Final = 5.0
_ABOUT_THE_CLIENT: Final = ("user_id", "client_name")
_encode: Final = msgspec.json.Encoder().encode


async def read_body(receive: Receive) -> list[Command]:
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


def read_query(connection: HTTPConnection) -> Subscription:
    """Read a subscription from a query string and the header Last-Event-ID. Raises BadCommandError."""
    given: dict[str, Any] = {"cmd": "subscribe", "sub_id": "1", **connection.query_params}
    given = {name: value for name, value in given.items() if name not in _ABOUT_THE_CLIENT}
    try:
        command: Subscription = msgspec.convert(given, Subscription, strict=False)
    except msgspec.ValidationError as error:
        echo = {name: given[name] for name in ("cmd", "topic", "cmd_id") if name in given}
        raise BadCommandError(str(error), Undecoded(**echo)) from None
    resumed = connection.headers.get("last-event-id")
    if resumed and isinstance(command, Subscribe):
        command.bookmark = resumed
    command.ack_type = _add_ack(command.ack_type, "processed")
    return command


async def execute_commands(conversation: Conversation, commands: Sequence[Command]) -> Response:
    """Execute commands one after another, and answer with their messages once all are acknowledged."""
    until = stopwatch() + SLICE_SECONDS
    for command in commands:
        if stopwatch() > until:
            # Others have their turn.
            await asyncio.sleep(0)
            until = stopwatch() + SLICE_SECONDS
        acknowledged = msgspec.structs.replace(command, ack_type=_add_ack(command.ack_type, "processed"))
        await conversation.execute(acknowledged)
    durable = [each for each in commands if _asks_for(each.ack_type, "persisted")]
    if durable:
        await conversation.flush_acks()  # the request has no further commands to share an ack with
    messages = await _wait_for_acks(conversation.outbox, durable)
    failure = find_failure(messages)
    status = HTTPStatus.OK if failure is None else _choose_status(failure)
    return Response(_encode({"messages": messages}), status, media_type=JSON)


def raise_for_failure(messages: Sequence[Message]) -> None:
    """Raise ApiError if one of the messages acknowledges a failure."""
    failure = find_failure(messages)
    if failure is not None:
        raise ApiError(_choose_status(failure), "bad_command", failure.reason)


async def _wait_for_acks(outbox: UnsentMessages, durable: list[Command]) -> list[Message]:
    """Wait for the ``persisted`` acks of ``durable``, for at most five seconds; return all messages."""
    messages = outbox.taken()
    waiting = _find_unpersisted(durable, messages)
    try:
        async with asyncio.timeout(_PERSISTED_SECONDS):
            while waiting:
                await outbox.wait()
                if outbox.closed is not None:
                    break
                news = outbox.taken()
                messages += news
                waiting = _find_unpersisted(waiting, news)
    except TimeoutError:
        pass
    return messages


def _find_unpersisted(commands: list[Command], messages: Sequence[Message]) -> list[Command]:
    """Find the commands that no message acknowledges, by their id or by a sequence number from theirs on."""
    acks = [each for each in messages if isinstance(each, Ack) and each.ack_type == "persisted"]
    named = {each.cmd_id for each in acks if each.cmd_id}
    upto = max((math.inf if each.seq is None else each.seq for each in acks if not each.cmd_id), default=-1)
    return [each for each in commands if each.cmd_id not in named and upto < (_find_seq(each) or 0)]


def _find_seq(command: Command) -> int | None:
    return command.seq if isinstance(command, Publish | SowDelete) else None


def _choose_status(failure: Ack) -> HTTPStatus:
    forbidden = failure.reason.startswith("not entitled")
    return HTTPStatus.FORBIDDEN if forbidden else HTTPStatus.BAD_REQUEST


def _add_ack(ack_type: str, kind: str) -> str:
    return ack_type if _asks_for(ack_type, kind) else f"{ack_type},{kind}".strip(",")


def _asks_for(ack_type: str, kind: str) -> bool:
    return kind in {each.strip() for each in ack_type.split(",")}
