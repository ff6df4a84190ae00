"""What handlers do with their batches, for the diagnosis: it is told of each that an environment gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from emulator.clock import Clock
from emulator.diagnosis.handled_batches import HandledBatches
from extensions.functions.mappings.batches import failed_items
from extensions.functions.runtime.environment import Outcome
from extensions.functions.runtime.event_records import EventRecord, list_records
from rdss_sandbox.shapes.recorded_batches import HandedRecord, HandledBatch
from schemas.bound import CONTRACT

_COMPLAINT: Final = re.compile(
    r"Traceback \(most recent call last\)|\[ERROR\]|\tERROR\t|^ERROR\b|\"level\": ?\"(?:ERROR|error)\""
)


class HandlerRecorder:
    """Tells ``batches`` of invocations."""

    def __init__(self, batches: HandledBatches, clock: Clock) -> None:
        self._batches = batches
        self._clock = clock

    def begin(self, payload: bytes, trace: str) -> tuple[Sequence[EventRecord], float]:
        """Note an invocation under ``trace``; returns its records and when it began."""
        records = list_records(payload)
        if records:
            self._batches.begin(trace)
        return records, self._clock.time()

    def end(
        self, function: str, trace: str, records: Sequence[EventRecord], began: float, outcome: Outcome
    ) -> None:
        """Note what came of an invocation with a batch."""
        if not records:
            return
        numbers = [each.number for each in records]
        batch = HandledBatch(
            function,
            name_source(records[0].source),
            began,
            self._clock.time(),
            tuple(
                HandedRecord(each.number, CONTRACT.peek(each.data, each.key).message_id) for each in records
            ),
            frozenset(numbers) if outcome.error else failed_items(outcome.payload, numbers),
            _find_type(outcome.payload) if outcome.error else "",
            next((line for line in outcome.log if _COMPLAINT.search(line)), ""),
        )
        self._batches.end(trace, batch, {each.number: each.data for each in records})


def name_source(arn: str) -> str:
    """The name of a stream or a queue, by its ARN."""
    return arn.rpartition(":")[2].rpartition("/")[2]


class _Error(msgspec.Struct):
    type: str = msgspec.field(default="", name="errorType")


def _find_type(payload: bytes) -> str:
    try:
        return msgspec.json.decode(payload, type=_Error).type or "Unhandled"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "Unhandled"
