"""The control API's recordings: what passes the ports, for who writes it to a tape."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec
from starlette.responses import Response

from emulator.listeners.control.endpoint_routing import ApiError, handles, translate_errors
from emulator.streams.wiretap import Listener, TooManyListenersError, Wiretap
from extensions.tape.tape_format import join_array
from rdss_sandbox.api.recordings import PASSED, Recordings
from rdss_sandbox.shapes.recordings import Recording, RecordingList

_encode: Final = msgspec.msgpack.Encoder().encode


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
    def take(self, number: int) -> Response:
        passed = self._find(number).take(self._wiretap.clock.time())
        return Response(join_array([_encode(each) for each in passed]), media_type=PASSED)

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
