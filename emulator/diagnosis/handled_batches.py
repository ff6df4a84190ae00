"""The recorder of handlers: which batches they were handed, and what they wrote to services meanwhile.

Who hands over a batch begins it under a trace, as AWS names one in the header ``X-Amzn-Trace-Id``. An SDK
puts that on each request, so that what is written is known to be of this batch. Memory is bounded: the last
batches of ``MOST_RECORDS``, with the bytes of ``MOST_PENDING``, that are judged when somebody asks.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.recorded_batches import BatchSource, Effect, HandedRecord, HandledBatch

MOST_RECORDS: Final = 10_000
MOST_OPEN: Final = 1_000
MOST_PENDING: Final = 500
_LONGEST: Final = 64 << 10
_MOST_OF_A_BATCH: Final = 20
"""Records of one batch whose bytes are kept, and bytes of one record."""
_MOST_REJECTED: Final = 10_000


class HandledBatches:
    """The batches of every handler. Thread-safe.

    ``list_sources``, which whoever hands over batches sets, gives where they come from.
    """

    def __init__(self) -> None:
        self.handed = 0
        self.list_sources: Callable[[], Iterable[BatchSource]] = tuple
        self._lock = threading.Lock()
        self._open: dict[str, list[Effect]] = {}
        self._batches: deque[HandledBatch] = deque()
        self._records = 0
        self._pending: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._bad: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._rejected: OrderedDict[str, None] = OrderedDict()

    def begin(self, trace: str) -> None:
        """Note that a handler has a batch from now on."""
        self.handed += 1
        self._open[trace] = []
        if len(self._open) > MOST_OPEN:
            # An invocation that is cancelled never ends its trace.
            self._open.pop(next(iter(self._open)), None)

    def has(self, trace: str) -> bool:
        """Whether a batch with this trace is under way."""
        return trace in self._open

    def note_effects(self, trace: str, effects: Iterable[Effect]) -> None:
        """Note what was written under a trace, before the handler has its answer."""
        if (there := self._open.get(trace)) is not None:
            there.extend(effects)

    def end(self, trace: str, batch: HandledBatch, data: Mapping[str, bytes]) -> None:
        """Note how a batch ended, with the bytes of its records by number."""
        effects = self._open.pop(trace, [])
        written = frozenset[str]().union(*(each.ids for each in effects))
        left = [each for each in batch.records if each.message_id not in written]
        with self._lock:
            self._batches.append(replace(batch, effects=tuple(effects)))
            self._records += len(batch.records)
            while self._records > MOST_RECORDS and len(self._batches) > 1:
                self._records -= len(self._batches.popleft().records)
            for each in left[:_MOST_OF_A_BATCH]:
                if len(held := data.get(each.number, b"")) <= _LONGEST:
                    self._pending[batch.handler, each.number] = held
            while len(self._pending) > MOST_PENDING:
                self._pending.popitem(last=False)

    def note_event(self, event: Event) -> None:
        """Note messages that came to a queue for what is rejected: a subscriber of the event stream."""
        if event.kind == "message.rejected" and (rejected := event.fields.get("message_id")):
            self._rejected[rejected] = None
            if len(self._rejected) > _MOST_REJECTED:
                self._rejected.popitem(last=False)

    def snapshot(self, judge: Callable[[bytes], str]) -> tuple[HandledBatch, ...]:
        """The batches so far. ``judge`` says what is wrong with a message, empty for nothing.

        A record that was rejected elsewhere is an effect of its batch.
        """
        with self._lock:
            batches = tuple(self._batches)
            # Of a handler that writes nothing nothing is known, and to judge costs more than all else here.
            writing = {each.handler for each in batches if each.effects}
            pending = {key: data for key, data in self._pending.items() if key[0] in writing}
            for key in pending:
                del self._pending[key]
        for key, data in pending.items():
            self._bad[key] = judge(data)
            if len(self._bad) > MOST_RECORDS:
                self._bad.popitem(last=False)
        return tuple(self._complete(batch) for batch in batches)

    def clear(self) -> None:
        """Forget what has ended."""
        with self._lock:
            self._batches.clear()
            self._records = 0
            self._pending.clear()
            self._bad.clear()
            self._rejected.clear()

    def _complete(self, batch: HandledBatch) -> HandledBatch:
        records = tuple(self._judged(batch.handler, each) for each in batch.records)
        ids = frozenset(each.message_id for each in records if each.message_id in self._rejected)
        known = frozenset(each for each in ids if each is not None)
        elsewhere = (Effect("the queues of rejected messages", "", known),) if known else ()
        return replace(batch, records=records, effects=(*batch.effects, *elsewhere))

    def _judged(self, handler: str, record: HandedRecord) -> HandedRecord:
        bad = self._bad.get((handler, record.number), "")
        return replace(record, bad=bad) if bad else record
