"""Readers: who reads which shard, and how many records are unread."""

from __future__ import annotations

import msgspec

from emulator.kinesis import KinesisError
from emulator.listeners.control.routing import handles
from emulator.listeners.control.streams import count_unread
from emulator.streams.catalogue import Catalogue, ListedStream
from emulator.streams.service import StreamService
from rdss_sandbox.api.streams import Streams
from rdss_sandbox.shapes.readers import Reader, ReaderList


class ReaderResources:
    """``/readers``."""

    def __init__(self, streams: StreamService, catalogue: Catalogue) -> None:
        self._streams = streams
        self._catalogue = catalogue

    @handles(Streams.readers)
    def readers(self, stream: str | None) -> ReaderList:
        listed = [each for each in self._catalogue.list_streams() if stream in (None, each.label)]
        found = [(each.label, self._readers(each)) for each in listed]
        readers = tuple(
            msgspec.structs.replace(reader, stream=label) for label, some in found for reader in some or ()
        )
        waiting = {each.label: count_unread(each.view) for each in listed}
        return ReaderList(
            readers,
            known=not any(some is None for _, some in found),
            unread={label: count for label, count in waiting.items() if count is not None},
        )

    def _readers(self, listed: ListedStream) -> list[Reader] | None:
        try:
            return self._streams.readers(listed.view.name, listed.scope)
        except KinesisError:
            return []  # the stream was deleted after it was listed
