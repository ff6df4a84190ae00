"""Commands and messages on a WebSocket, one JSON object in each frame."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from emulator.http.asgi import ClientGoneError, Receive, Send, run_until_first
from extensions.topics.http.conversation import BadCommandError, Conversation, read_command
from extensions.topics.http.faulted_outboxes import DeliveryFailedError

LAST_SEQ: Final = b"x-topics-seq"
_CLOSES: Final = {
    "displaced": (4409, "another connection of the same user and client_name took its place"),
    "reset": (1012, "the sandbox was reset"),
    "stopped": (1001, "the server stops"),
}
_FAILED: Final = 1011
_TURN: Final = 100
"""The number of messages in one direction before other tasks get their turn."""
_encode: Final = msgspec.json.Encoder().encode


async def converse(conversation: Conversation, receive: Receive, send: Send) -> None:
    """Serve one connection until either side ends it.

    The answer to the handshake has the last sequence number of this publisher in ``x-topics-seq``.
    """
    await receive()
    seq = conversation.last_seq
    headers = [] if seq is None else [(LAST_SEQ, b"%d" % seq)]
    await send({"type": "websocket.accept", "headers": headers})
    ends = await run_until_first(
        _read(conversation, receive), _write(conversation, send), conversation.outbox.over.wait()
    )
    await _leave(conversation, ends, send)


async def _read(conversation: Conversation, receive: Receive) -> None:
    count = 0
    while (event := await receive())["type"] == "websocket.receive":
        count += 1
        if count % _TURN == 0:
            await asyncio.sleep(0)
        text = event.get("text")
        try:
            await conversation.execute(read_command(event["bytes"] if text is None else text))
        except BadCommandError as error:
            conversation.refuse(error)
    conversation.outbox.close("left")


async def _write(conversation: Conversation, send: Send) -> None:
    async for messages in conversation.sent():
        for count, message in enumerate(messages, 1):
            if count % _TURN == 0:
                await asyncio.sleep(0)
            text = _encode(message).decode(errors="replace")
            await send({"type": "websocket.send", "text": text})


async def _leave(conversation: Conversation, ends: Sequence[object], send: Send) -> None:
    """Send the reason of the end to a client that is still connected."""
    for error in ends:
        if isinstance(error, DeliveryFailedError):
            await send({"type": "websocket.close", "code": _FAILED, "reason": str(error)})
            return
        if isinstance(error, Exception):
            raise error
    reason = conversation.outbox.closed
    if reason == "slow":
        raise ClientGoneError
    if reason in _CLOSES:
        code, why = _CLOSES[reason]
        await send({"type": "websocket.close", "code": code, "reason": why})
