"""Compressing the records that a shard adds nothing to any more, on a thread of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from emulator.journal import Segments
    from emulator.journal.segment import Segment
    from emulator.kinesis.registry import Registry

_LOOK_SECONDS: Final = 10.0
_QUIET_SECONDS: Final = 15.0
"""Real seconds both: housekeeping goes on when the sandbox's clock stands still."""
_LEAST_BYTES: Final = 1 << 18


class Packing:
    """Packs full segments after a while, and a shard's last one when nothing was written for a while.

    The thread is started by the first ``wake``.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._woken = threading.Event()
        self._closed = threading.Event()
        self._passing = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Something was written. Called with the registry's lock."""
        if self._woken.is_set():
            return
        self._woken.set()
        if self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(target=self._run, name="packing", daemon=True)
            self._thread.start()

    def pack(self, *, everything: bool = False) -> None:
        """Pack what is full; with ``everything`` what is not, too, but for little. Raises OSError."""
        with self._passing:
            if everything:
                with self._registry.lock:
                    for records in self._registry.records():
                        records.roll(_LEAST_BYTES)
            while not self._closed.is_set() and (found := self._coldest()):
                records, segment = found
                packed = segment.pack()
                with self._registry.lock:
                    if not records.settle(segment, packed):
                        return

    def close(self) -> None:
        """Stop after the segment under way. Not to be called with the registry's lock."""
        self._closed.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _run(self) -> None:
        unpacked = False
        while not self._closed.is_set():
            self._woken.wait(_QUIET_SECONDS if unpacked else None)
            quiet = not self._woken.is_set()
            self._woken.clear()
            self._closed.wait(0.0 if quiet else _LOOK_SECONDS)
            try:
                self.pack(everything=quiet)
            except OSError as error:
                # What is not packed takes more room, and is looked at again after the next record.
                self._registry.events.emit("journal.unpacked", why=str(error))
            unpacked = not quiet

    def _coldest(self) -> tuple[Segments, Segment] | None:
        with self._registry.lock:
            for records in self._registry.records():
                if (segment := records.cold) is not None:
                    return records, segment
        return None
