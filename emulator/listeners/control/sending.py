"""Sends a message through the control API, to redrive and import without an AWS client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from emulator.http.asgi import ClientGoneError
from emulator.kinesis import Scope
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from emulator.rng import new_uuid
from emulator.streams.catalogue import Catalogue
from rdss_sandbox.shapes.messages import NewMessage, Sent
from schemas.peek import peek

Put = Callable[[dict[str, Any], Scope], Awaitable[dict[str, Any]]]

# The largest record that a stream can allow (10 MiB), in base64, with room for the other fields.
_MOST_BYTES = 15 << 20


class SendResources:
    """``POST /messages``. ``put`` does a PutRecord as the AWS port does, faults included."""

    def __init__(self, put: Put, catalogue: Catalogue) -> None:
        self._put = put
        self._catalogue = catalogue

    def routes(self) -> list[Route]:
        return [
            Route(
                "POST",
                "/messages",
                "Send a message to a stream",
                self._send,
                Sent,
                body=NewMessage,
                status=HTTPStatus.CREATED,
                most_bytes=_MOST_BYTES,
            )
        ]

    async def _send(self, asked: Asked[Nothing, NewMessage]) -> Sent:
        wanted = asked.body
        if self._catalogue.find(wanted.stream) is None:
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_stream", f"no stream is named {wanted.stream!r}")
        name, scope = self._catalogue.parse_label(wanted.stream)
        key = wanted.key or (peek(wanted.data).message_id or new_uuid())[:256]
        request = {"StreamName": name, "Data": wanted.data, "PartitionKey": key}
        try:
            answer = await self._put(request, scope)
        except ClientGoneError as error:
            why = f"a fault on {wanted.stream} cut the connection: whether the message was taken is not known"
            raise ApiError(HTTPStatus.BAD_GATEWAY, "connection_cut", why) from error
        return Sent(wanted.stream, answer["ShardId"], answer["SequenceNumber"])
