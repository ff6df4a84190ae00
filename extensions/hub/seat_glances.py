"""What can be told of a seat at a glance, from the picture that its watch page draws."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import msgspec

from emulator.http.asgi import Headers
from emulator.relay.aws.connections import UpstreamLostError, UpstreamUnreachableError
from extensions.hub.hub_api import SeatGlance
from extensions.hub.seats import Seat
from rdss_sandbox.shapes.picture import Picture

_SECONDS: Final = 1.0
"""For a seat to answer. One that is busy for longer is shown without."""
_PATH: Final = b"/picture"
_decode = msgspec.json.Decoder(Picture).decode


async def glance_at(seat: Seat) -> SeatGlance | None:
    """What its sandbox does just now; None for one that is asleep, or does not answer in time.

    It does not keep the seat awake.
    """
    if seat.running is None or (connections := seat.connections_to("control")) is None:
        return None
    headers: Headers = [(b"host", b"localhost"), (b"authorization", b"Bearer " + seat.person.token.encode())]
    with suppress(TimeoutError, UpstreamLostError, UpstreamUnreachableError, msgspec.DecodeError):
        async with asyncio.timeout(_SECONDS):
            reply = await connections.ask("GET", _PATH, headers)
            picture = _decode(await reply.whole())
            findings = [f"{each.harm}: {each.said}" for each in picture.findings]
            return SeatGlance(
                records=sum(each.put for each in picture.streams if not each.aside),
                rate=sum(each.rate for each in picture.streams if not each.aside),
                faults=tuple(each.name for each in picture.faults),
                finding=findings[-1] if findings else "",
                error=picture.error.said if picture.error is not None else "",
            )
    return None
