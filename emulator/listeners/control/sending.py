"""Sends a message through the control API, to redrive and import without an AWS client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from msgspec import structs

from emulator.clock import Clock
from emulator.http.asgi import ClientGoneError
from emulator.kinesis import Scope
from emulator.listeners.control.endpoint_routing import ApiError, handles
from emulator.rng import new_uuid
from emulator.streams.stream_catalogue import Catalogue
from rdss_sandbox.api.messages import Redriving, Sending
from rdss_sandbox.shapes.messages import NewMessage, Sent
from schemas.contract import Contract
from schemas.headers import leave_headers_out

Put = Callable[[dict[str, Any], Scope], Awaitable[dict[str, Any]]]


class SendResources:
    """``POST /messages`` and ``/redriven``.

    ``put`` does a PutRecord as the AWS port does, faults included.
    ``note_own`` is told the sequence number of each record: no client is judged by it.
    """

    def __init__(
        self,
        put: Put,
        catalogue: Catalogue,
        note_own: Callable[[str], None],
        contract: Contract,
        clock: Clock,
    ) -> None:
        self._put = put
        self._note_own = note_own
        self._catalogue = catalogue
        self._contract = contract
        self._clock = clock

    @handles(Sending.send)
    async def send(self, message: NewMessage) -> Sent:
        if self._catalogue.find(message.stream) is None:
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_stream", f"no stream is named {message.stream!r}")
        name, scope = self._catalogue.parse_label(message.stream)
        key = message.key or (self._contract.peek(message.data).message_id or new_uuid())[:256]
        data = leave_headers_out(self._contract.headers, message.data)
        request = {"StreamName": name, "Data": data, "PartitionKey": key}
        try:
            answer = await self._put(request, scope)
        except ClientGoneError as error:
            why = (
                f"a fault on {message.stream} cut the connection: whether the message was taken is not known"
            )
            raise ApiError(HTTPStatus.BAD_GATEWAY, "connection_cut", why) from error
        self._note_own(answer["SequenceNumber"])
        return Sent(message.stream, answer["ShardId"], answer["SequenceNumber"])

    @handles(Redriving.redrive)
    async def redrive(self, message: NewMessage) -> Sent:
        data = self._contract.redrive(message.data, now=self._clock.time())
        sent: Sent = await self.send(structs.replace(message, data=data))
        return sent
