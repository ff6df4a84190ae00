"""Who was given a message: the reads that the diagnosis recorded, for messages of the index."""

from __future__ import annotations

from typing import Final

from emulator.diagnosis.diagnosis_service import DiagnosisService
from emulator.listeners.control.endpoint_routing import handles
from emulator.message_index.index import MessageIndex
from rdss_sandbox.api.messages import StoredMessages
from rdss_sandbox.shapes.messages import MessageRead, MessageReads

_CATCH_UP_SECONDS: Final = 0.1
_MOST_MESSAGES: Final = 200


class MessageReadResources:
    """``/messages/reads``."""

    def __init__(self, index: MessageIndex, diagnosis: DiagnosisService) -> None:
        self._index = index
        self._diagnosis = diagnosis

    @handles(StoredMessages.reads)
    def reads(self, matching: str) -> MessageReads:
        self._index.catch_up(_CATCH_UP_SECONDS)
        found = [
            MessageRead(row.id, row.stream, row.shard, client, *delivery)
            for row in self._index.page(matching, limit=_MOST_MESSAGES).messages
            for client, delivery in self._diagnosis.find_deliveries(row.sequence_number)
        ]
        return MessageReads(tuple(sorted(found, key=lambda read: read.at)), self._diagnosis.known)
