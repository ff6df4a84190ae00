"""Sequences: messages in several parts, with the parts that have arrived."""

from __future__ import annotations

import msgspec

from emulator.listeners.control.routing import handles
from emulator.message_index.index import MessageIndex
from rdss_sandbox.api.messages import Sequences
from rdss_sandbox.shapes.sequences import SequencePage

_CATCH_UP_SECONDS = 0.1


class SequenceResources:
    """``/sequences``."""

    def __init__(self, index: MessageIndex) -> None:
        self._index = index

    @handles(Sequences.sequences)
    def sequences(self, *, offset: int, limit: int, matching: str, unfinished: bool) -> SequencePage:
        indexed = self._index.catch_up(_CATCH_UP_SECONDS)
        page = self._index.sequences(matching, unfinished=unfinished, offset=offset, limit=limit)
        return page if indexed else msgspec.structs.replace(page, indexed=False)
