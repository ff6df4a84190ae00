"""Recordings: what passes the ports, for who writes it to a tape."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.api.endpoint import DELETE, GET, POST, Mode, Subject
from rdss_sandbox.api.parameters import Id
from rdss_sandbox.shapes.recordings import Recording, RecordingList

PASSED: Final = "application/vnd.msgpack"
_ONE: Final = {"no_such_recording": 404}


class Recordings(Subject[Mode], at="/recordings"):
    """Recordings: what clients and channels say to each other, as it passes."""

    @GET("")
    def list(self) -> RecordingList:
        """The recordings under way."""

    @POST("", status=201, errors={"too_many_recordings": 409})
    def begin(self) -> Recording:
        """Begin to keep what passes, until it is taken. One that nobody takes from for a minute ends."""

    @GET("/{id}/passed", media_type=PASSED, errors=_ONE)
    def take(self, number: Id) -> bytes:
        """Take what passed since the last time: an array of MessagePack, of the shapes ``Passed``."""

    @DELETE("/{id}", errors=_ONE)
    def end(self, number: Id) -> RecordingList:
        """End a recording; what was not taken is gone."""
