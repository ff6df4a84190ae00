"""Sequences: messages in several parts, with the parts that have arrived."""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from emulator.listeners.control.endpoint_routing import ApiError, handles
from emulator.listeners.control.message_content import render_content, render_verdict
from emulator.message_index.index import MessageIndex
from rdss_sandbox.api.messages import Sequences
from rdss_sandbox.shapes.sequences import JoinedSequence, SequencePage
from schemas.contract import Contract

_CATCH_UP_SECONDS = 0.1
_MOST_JOINED = 200


class SequenceResources:
    """``/sequences``."""

    def __init__(self, index: MessageIndex, contract: Contract) -> None:
        self._index = index
        self._contract = contract

    @handles(Sequences.sequences)
    def sequences(self, *, offset: int, limit: int, matching: str, unfinished: bool) -> SequencePage:
        indexed = self._index.catch_up(_CATCH_UP_SECONDS)
        page = self._index.sequences(matching, unfinished=unfinished, offset=offset, limit=limit)
        return page if indexed else msgspec.structs.replace(page, indexed=False)

    @handles(Sequences.joined)
    def joined(self, sequence: str, *, stream: str) -> JoinedSequence:
        self._index.catch_up(_CATCH_UP_SECONDS)
        rows = self._index.parts(sequence, stream, limit=_MOST_JOINED + 1)
        judge = self._contract.sequences
        if not rows or judge is None:
            raise ApiError(
                HTTPStatus.NOT_FOUND, "no_such_sequence", f"{stream} has no parts of a sequence {sequence}"
            )
        if len(rows) > _MOST_JOINED:
            why = f"more than {_MOST_JOINED} parts of {sequence} came: read them, and join them yourself"
            raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_many_parts", why)
        parts = (data for row in rows if (data := self._index.data(row)) is not None)
        whole, verdict = judge.judge_parts(parts, now=max(row.time for row in rows))
        content = render_content(whole, self._contract)
        return JoinedSequence(**render_verdict(verdict), **content)
