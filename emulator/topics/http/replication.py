"""What an upstream sandbox sends on: a shipment of its log in a body, answered with how far that led."""

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


async def taken_over(service: TopicService, user: str, receive: Receive) -> Response:
    """Take the shipment over in the name of ``user``. Raises ApiError for what is none."""
    try:
        shipment = _decode(await whole_body(receive, _MOST_BYTES))
    except BodyTooLongError:
        why = f"a shipment has {_MOST_BYTES >> 20} MiB at most"
        raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", why) from None
    except msgspec.MsgspecError as error:
        raise ApiError(HTTPStatus.BAD_REQUEST, "bad_shipment", str(error)) from None
    # It may be long, and must not keep everybody else waiting.
    position = await asyncio.to_thread(_received, service, user, shipment)
    return Response(_encode(position), HTTPStatus.OK, media_type=JSON)


def _received(service: TopicService, user: str, shipment: Shipment) -> Position:
    return service.open().replication.receive(user, shipment)
