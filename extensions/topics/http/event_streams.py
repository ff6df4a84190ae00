"""A subscription as server-sent events."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from emulator.http.asgi import ClientGoneError, Receive, Send, run_until_first, wait_for_disconnect
from extensions.topics.engine.outgoing_messages import Message, PublishMessage
from extensions.topics.http.command_requests import Subscription, raise_for_failure
from extensions.topics.http.conversation import Conversation
from extensions.topics.http.faulted_outboxes import DeliveryFailedError

_SILENCE_SECONDS: Final = 10.0
_encode: Final = msgspec.json.Encoder().encode


async def follow(conversation: Conversation, command: Subscription, receive: Receive, send: Send) -> None:
    """Subscribe, and send messages until the client leaves. Raises ApiError for a refused subscription."""
    await conversation.execute(command)
    raise_for_failure(conversation.outbox.waiting())
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    ends = await run_until_first(
        _write(conversation, send),
        wait_for_disconnect(receive),
        conversation.outbox.over.wait(),
        _keep_alive(send),
    )
    for error in ends:
        if isinstance(error, Exception) and not isinstance(error, DeliveryFailedError):
            raise error
    if conversation.outbox.closed == "slow":
        raise ClientGoneError
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _write(conversation: Conversation, send: Send) -> None:
    async for messages in conversation.sent():
        body = b"".join(map(_event, messages))
        await send({"type": "http.response.body", "body": body, "more_body": True})


async def _keep_alive(send: Send) -> None:
    """Send a comment regularly, so that a closed connection is noticed."""
    while True:
        await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})
        await asyncio.sleep(_SILENCE_SECONDS)


def _event(message: Message) -> bytes:
    """Encode a message as an event; its type is the command, its id the bookmark.

    Line ends occur only between JSON tokens, so blanks can replace them.
    """
    data = _encode(message).replace(b"\n", b" ").replace(b"\r", b" ")
    kind = str(message.__struct_config__.tag).encode()
    bookmark = message.bookmark if isinstance(message, PublishMessage) else ""
    place = b"id: %b\n" % bookmark.encode() if bookmark else b""
    return b"event: %b\n%bdata: %b\n\n" % (kind, place, data)
