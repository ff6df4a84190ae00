"""Receives shipments of an upstream sandbox's log, and answers with the new position."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from emulator.http.asgi import BodyTooLongError, Receive, whole_body
from emulator.listeners.control.routing import JSON, ApiError
from emulator.topics.engine.replication import Position, Shipment
from emulator.topics.service import TopicService

_MOST_BYTES: Final = 1 << 25
_decode: Final = msgspec.json.Decoder(Shipment).decode
_encode: Final = msgspec.json.Encoder().encode


async def receive_shipment(service: TopicService, user: str, receive: Receive) -> Response:
    """Receive a shipment as ``user``. Raises ApiError for one that is not valid."""
    try:
        shipment = _decode(await whole_body(receive, _MOST_BYTES))
    except BodyTooLongError:
        why = f"a shipment has {_MOST_BYTES >> 20} MiB at most"
        raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", why) from None
    except msgspec.MsgspecError as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, "bad_shipment", str(error)) from None
    # A long shipment would block the event loop.
    position = await asyncio.to_thread(_receive, service, user, shipment)
    return Response(_encode(position), HTTPStatus.OK, media_type=JSON)


def _receive(service: TopicService, user: str, shipment: Shipment) -> Position:
    return service.open().replication.receive(user, shipment)
