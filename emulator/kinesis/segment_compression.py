"""Compressing complete segments on a background thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from emulator.kinesis.stored_records import data_spans
from emulator.machine.resident_memory import give_back_now

if TYPE_CHECKING:
    from emulator.journal import Segments
    from emulator.journal.segment import Segment
    from emulator.kinesis.stream_registry import Registry

_CALM_SECONDS: Final = 1.0
_CALMS: Final = 10
_QUIET_SECONDS: Final = 3.0
_RETRY_SECONDS: Final = 0.05
_PAUSE_SECONDS: Final = 0.04
"""All in real seconds: packing goes on while the sandbox's clock stands still. The pause is taken for each
MiB that is packed while streams are in use, so that their users get most of the processor."""
_LEAST_BYTES: Final = 1 << 16
_MUCH_BYTES: Final = 1 << 21
"""After a segment of this size, free memory is given back to the system: packing leaves megabytes of it."""
_TAIL: Final = 8
_QUIET_TAIL: Final = 32
"""A shard's last segment is packed when it is at least one part in this many of the shard.

A fixed size would give a big shard many small files.
"""


class Packing:
    """Packs full segments, and a shard's last one when it is a large part of the shard or nothing arrives.

    The first ``wake`` starts the thread. Every operation on a stream sets ``in_use``.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.in_use = False
        self._woken = threading.Event()
        self._closed = threading.Event()
        self._pausing = threading.Event()
        self._passing = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Note that records were written. Callers hold the registry's lock."""
        # The usual case while many records come: nothing is locked, and no thread is woken.
        if self._woken.is_set():
            return
        self._woken.set()
        if self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(target=self._run, name="packing", daemon=True)
            self._thread.start()

    def pack(self, tail: int = _QUIET_TAIL) -> None:
        """Pack the full segments, and last ones that are one part in ``tail`` of a shard. Raises OSError."""
        with self._passing:
            with self._registry.lock:
                for records in self._registry.records():
                    records.roll(max(_LEAST_BYTES, records.size // tail))
            while not (self._closed.is_set() or self._pausing.is_set()) and (found := self._coldest()):
                records, segment = found
                size = segment.storage.end
                self._pack(records, segment)
                if size >= _MUCH_BYTES:
                    give_back_now()
                if self.in_use:
                    self.in_use = False
                    self._closed.wait(_PAUSE_SECONDS * size / (1 << 20))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pack nothing while the context lasts. Callers must not hold the registry's lock."""
        # Set first: a pass that is under way then ends with its segment, and not with all of them.
        self._pausing.set()
        with self._passing:
            self._pausing.clear()
            yield

    def close(self) -> None:
        """Stop after the present segment. Callers must not hold the registry's lock: packing needs it."""
        self._closed.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _pack(self, records: Segments, segment: Segment) -> None:
        # The long part runs without the lock. Only the exchange of the files needs it, and has to wait while
        # the segment is synced.
        packed = segment.pack(data_spans)
        while True:
            with self._registry.lock:
                if records.replace(segment, packed):
                    return
            if self._closed.wait(_RETRY_SECONDS):
                packed.delete()
                return

    def _run(self) -> None:
        unpacked = False
        while not self._closed.is_set():
            self._woken.wait(_QUIET_SECONDS if unpacked else None)
            quiet = not self._woken.is_set()
            # Before the pass: what is written during it asks for another one.
            self._woken.clear()
            if not quiet:
                self._wait_for_calm()
            try:
                self.pack(_QUIET_TAIL if quiet else _TAIL)
            except OSError as error:
                # An unpacked segment only takes more room. It is tried again after the next record.
                self._registry.events.emit("journal.unpacked", why=str(error))
            give_back_now()
            unpacked = not quiet

    def _wait_for_calm(self) -> None:
        """Return when nothing was written for a second, or after ten seconds of load."""
        for _ in range(_CALMS):
            self._closed.wait(_CALM_SECONDS)
            if not self._woken.is_set():
                return
            self._woken.clear()

    def _coldest(self) -> tuple[Segments, Segment] | None:
        with self._registry.lock:
            for records in self._registry.records():
                if (segment := records.cold) is not None:
                    return records, segment
        return None
