"""Sends messages through the control API: to redrive, to import and to try things without an AWS client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from http import HTTPStatus
from typing import Any

from msgspec import structs
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool

from emulator.clock import Clock
from emulator.http.asgi import ClientGoneError
from emulator.kinesis import KinesisError, Scope
from emulator.listeners.control.endpoint_routing import ApiError, handles
from emulator.listeners.control.messages import MessageResources
from emulator.rng import new_seed, new_uuid
from emulator.streams.stream_catalogue import Catalogue
from rdss_sandbox.api.messages import Redriving, Samples, Sending
from rdss_sandbox.shapes.messages import NewMessage, Redrive, Sent, SentSamples, WantedSamples
from schemas.contract import Contract
from schemas.drawn_samples import draw_samples
from schemas.headers import leave_headers_out

Put = Callable[[dict[str, Any], Scope], Awaitable[dict[str, Any]]]

_MOST_PARTS = 100
"""Of one request: each part is nearly a record's 1 MiB."""


class SendResources:
    """``POST /messages``, ``/samples`` and ``/redriven``.

    ``put`` does a PutRecord as the AWS port does, faults included.
    ``note_own`` is told the sequence number of each record: no client is judged by it. ``messages`` has those
    that are sent again.
    """

    def __init__(
        self,
        put: Put,
        catalogue: Catalogue,
        note_own: Callable[[str], None],
        contract: Contract,
        clock: Clock,
        *,
        messages: MessageResources,
    ) -> None:
        self._put = put
        self._note_own = note_own
        self._catalogue = catalogue
        self._contract = contract
        self._clock = clock
        self._messages = messages

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

    @handles(Samples.send_samples)
    async def send_samples(self, wanted: WantedSamples) -> SentSamples:
        if wanted.parts and wanted.count * wanted.parts > _MOST_PARTS:
            why = f"{wanted.count} messages in {wanted.parts} parts: {_MOST_PARTS} parts in all are the most"
            raise ApiError(HTTPStatus.BAD_REQUEST, "too_many_parts", why)
        seed = new_seed() if wanted.seed is None else wanted.seed
        # One after the other: they are never in memory together.
        parts = iterate_in_threadpool(self._make_parts(wanted, seed))
        try:
            outcomes = [await self._try(NewMessage(wanted.stream, part)) async for part in parts]
        except ValueError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "no_such_samples", str(error)) from error
        refusals = [each for each in outcomes if each]
        why = refusals[-1] if refusals else ""
        return SentSamples(wanted.stream, seed, len(outcomes) - len(refusals), len(refusals), why)

    async def _try(self, message: NewMessage) -> str:
        """Send a message and return why it was refused, or nothing.

        Raises ``ApiError`` for an unknown stream, where no other message will fare better.
        """
        try:
            await self.send(message)
        except ApiError as error:
            if error.code == "no_such_stream":
                raise
            return str(error)
        except KinesisError as error:
            return f"{error.code}: {error.message}"
        return ""

    def _make_parts(self, wanted: WantedSamples, seed: int) -> Iterator[bytes]:
        sequences, now = self._contract.sequences, self._clock.time()
        drawn = draw_samples(self._contract, seed, wanted.count, now=now, parts=wanted.parts, bad=wanted.bad)
        for made in drawn:
            yield from sequences.split(made.data, new_id=new_uuid) if sequences else [made.data]

    @handles(Redriving.redrive)
    async def redrive(self, message: NewMessage) -> Sent:
        data = self._contract.redrive(message.data, now=self._clock.time())
        sent: Sent = await self.send(structs.replace(message, data=data))
        return sent

    @handles(Redriving.redrive_message)
    async def redrive_message(self, row_id: int, again: Redrive | None) -> Sent:
        again = again or Redrive()
        row = await run_in_threadpool(self._messages.find_row, row_id)
        found = await run_in_threadpool(self._messages.read_original, row)
        stream = again.stream or found.origin
        if stream is None:
            why = f"message #{row_id} was in no stream that it could go back to; name one to send it to"
            raise ApiError(HTTPStatus.CONFLICT, "no_origin", why)
        data = found.data if again.data is None else again.data
        sent: Sent = await self.redrive(NewMessage(stream, data, row.partition_key))
        return sent
