"""Sequences: messages in several parts, with the parts that have arrived."""

from __future__ import annotations

from typing import Annotated

import msgspec

from emulator.listeners.control.routing import Asked, Route
from emulator.message_index.index import MessageIndex
from rdss_sandbox.shapes.sequences import SequencePage

_CATCH_UP_SECONDS = 0.1


class SequenceQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sequences of the messages that match ``filter``, from the ``offset``-th on."""

    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 100
    filter: str = ""
    unfinished: bool = False


class SequenceResources:
    """``/sequences``."""

    def __init__(self, index: MessageIndex) -> None:
        self._index = index

    def routes(self) -> list[Route]:
        summary = "The messages in several parts, and which of them came"
        return [Route("GET", "/sequences", summary, self._page, SequencePage, SequenceQuery)]

    def _page(self, asked: Asked[SequenceQuery, None]) -> SequencePage:
        self._index.catch_up(_CATCH_UP_SECONDS)
        query = asked.query
        return self._index.sequences(
            query.filter, unfinished=query.unfinished, offset=query.offset, limit=query.limit
        )
