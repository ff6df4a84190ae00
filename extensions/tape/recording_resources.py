"""The control API's recordings: what passes the ports, for who writes it to a tape."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import StreamingResponse

from emulator.listeners.control.endpoint_routing import ApiError, handles, translate_errors
from emulator.streams.wiretap import Listener, TooManyListenersError, Wiretap
from extensions.tape.tape_format import begin_array
from rdss_sandbox.api.recordings import PASSED, Recordings
from rdss_sandbox.shapes.recordings import Passed, Recording, RecordingList

_encode: Final = msgspec.msgpack.Encoder().encode
_PIECE_BYTES: Final = 64 << 10


class RecordingResources:
    """``/recordings``."""

    def __init__(self, wiretap: Wiretap) -> None:
        self._wiretap = wiretap

    @handles(Recordings.list)
    def list(self) -> RecordingList:
        return self._list()

    @handles(Recordings.begin)
    def begin(self) -> Recording:
        with translate_errors((TooManyListenersError, HTTPStatus.CONFLICT, "too_many_recordings")):
            return Recording(self._wiretap.listen().number)

    @handles(Recordings.take)
    def take(self, number: int) -> StreamingResponse:
        passed = self._find(number).take(self._wiretap.clock.time())
        return StreamingResponse(_encode_pieces(passed), media_type=PASSED)

    @handles(Recordings.end)
    def end(self, number: int) -> RecordingList:
        self._wiretap.leave(self._find(number))
        return self._list()

    def _list(self) -> RecordingList:
        listeners = self._wiretap.list_listeners()
        return RecordingList(tuple(Recording(each.number, each.waiting) for each in listeners))

    def _find(self, number: int) -> Listener:
        for each in self._wiretap.list_listeners():
            if each.number == number:
                return each
        why = f"there is no recording {number}: it has ended, or nobody took from it for a minute"
        raise ApiError(HTTPStatus.NOT_FOUND, "no_such_recording", why)


async def _encode_pieces(passed: list[Passed]) -> AsyncIterator[bytes]:
    """Encode an array of MessagePack piece by piece: as a whole it would cost a relay twice as much."""
    pieces, size = [begin_array(len(passed))], 0
    for each in passed:
        piece = _encode(each)
        if size + len(piece) > _PIECE_BYTES:
            yield b"".join(pieces)
            pieces, size = [], 0
        # A long one is alone then, and joined without a copy.
        pieces.append(piece)
        size += len(piece)
    yield b"".join(pieces)
