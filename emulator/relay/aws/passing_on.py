"""The body of a request to an upstream and that of its answer, passed on as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from emulator.http.asgi import ClientGoneError, Receive, Send, run_until_first, wait_for_disconnect
from emulator.relay.aws.connections import UpstreamReply

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"upgrade",
        b"http2-settings",
        b"expect",
    }
)
"""Headers of a request that are for this connection alone."""
DROPPED_FROM_ANSWERS = frozenset({b"connection", b"keep-alive", b"transfer-encoding"})


async def remaining_body(receive: Receive) -> AsyncIterator[bytes]:
    """Yield what is left of a request's body. Raises ClientGoneError."""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        more = message["more_body"]
        yield message["body"]


async def stream_reply(reply: UpstreamReply, receive: Receive, send: Send) -> None:
    """Relay the body as it comes, until it ends or the client leaves. Raises ClientGoneError."""
    outcome, _ = await run_until_first(_send_pieces(reply, send), wait_for_disconnect(receive))
    if isinstance(outcome, asyncio.CancelledError):
        reply.abandon()
    if isinstance(outcome, Exception):
        raise ClientGoneError from outcome


async def _send_pieces(reply: UpstreamReply, send: Send) -> None:
    async for piece in reply.pieces():
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
