"""Takes what comes to a stream into the queue that is a view on it: looking at the queue changes nothing."""

from __future__ import annotations

import threading
from typing import Final

from emulator.background_worker import BackgroundWorker
from emulator.events import Events
from emulator.streams.stream_service import StreamService
from extensions.queues.engine import Address, QueueEngine, SourceUnavailableError
from rdss_sandbox.shapes.queues import PROJECT

_NAME: Final = "arrivals"


class Arrivals:
    """Has the queues take new records at once; what a fault holds back comes with the next record or look."""

    def __init__(self, queues: QueueEngine, streams: StreamService, events: Events) -> None:
        self._queues = queues
        self._events = events
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._worker = BackgroundWorker(_NAME, [self._take], self._emit_failure)
        self._unsubscribe = streams.on_records(self._note_records)

    def close(self) -> None:
        self._unsubscribe()
        self._worker.close()

    def _note_records(self, stream: str, _shard: str) -> None:
        if self._queues.has_view(stream):
            with self._lock:
                self._changed.add(stream)
            self._worker.wake()

    def _take(self) -> int:
        with self._lock:
            changed, self._changed = self._changed, set()
        for stream in changed:
            try:
                self._queues.refresh(Address(PROJECT, stream))
            except SourceUnavailableError:  # whoever looks at the queue is told
                continue
        return 0

    def _emit_failure(self, error: Exception) -> None:
        self._events.emit("queues.failed", why=str(error) or repr(error))
