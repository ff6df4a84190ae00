"""Replacing payloads in bodies by references to payload files, on a background thread."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from isal.isal_zlib import crc32

from emulator.buckets.objects.piece_table import PieceId
from emulator.journal.payloads import FoundPayloads, Payloads
from emulator.journal.spliced import Find, Splice, payloads_in
from emulator.machine.resident_memory import give_back_now

_LOOK_SECONDS: Final = 1.0
_CALM_SECONDS: Final = 2.0
"""Real seconds: this work goes on while the sandbox's clock stands still."""
_LEAST_BYTES: Final = 256
_AT_ONCE_BYTES: Final = 4 << 20
_MOST_WAITING: Final = 10_000
_MISSING: Final = 0.05
"""A body that lacks more than this part of its payloads is looked at again later."""
_LOOKS: Final = 2
"""How many times a body is looked at again at most."""


class _Look(NamedTuple):
    """A piece to look at, and how many times it was looked at before."""

    piece: PieceId
    before: int


class Sharing:
    """Looks at each new piece, and again when a payload file has a payload that was missing.

    ``read`` reads a piece, and ``replace`` stores it with references to payload files.
    """

    def __init__(
        self,
        read: Callable[[PieceId], bytes],
        replace: Callable[[PieceId, bytes, tuple[int, ...]], bool],
        payloads: Payloads,
        find: Find,
    ) -> None:
        self._read = read
        self._replace = replace
        self._payloads = payloads
        self._find = find
        # A SimpleQueue, because the garbage collector may call ``let_go`` in the middle of a ``put`` on the
        # same thread. Other queues would deadlock on their lock.
        self._news: SimpleQueue[PieceId | tuple[int, ...] | None] = SimpleQueue()
        self._fresh: list[_Look] = []
        self._waiting: OrderedDict[int, list[_Look]] = OrderedDict()
        self._closed = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        payloads.on_new_file(lambda: self._news.put(None))

    def look_at(self, piece: PieceId) -> None:
        """Queue a new piece, to be looked at."""
        if piece.size < _LEAST_BYTES:
            return
        self._news.put(piece)
        with self._starting:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._run, name="sharing", daemon=True)
                self._thread.start()

    def let_go(self, files: tuple[int, ...]) -> None:
        """Queue payload files that a piece no longer refers to, to be released."""
        self._news.put(files)

    def close(self) -> None:
        """Stop after the present body."""
        self._closed.set()
        self._news.put(None)
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._closed.is_set():
            if self._wait_for_news():
                for looks in self._portions():
                    self._share(looks)
                give_back_now()

    def _wait_for_news(self) -> bool:
        """Take what is queued. Returns whether to look now: new payload files exist, or nothing is new."""
        try:
            more = self._take(self._news.get(timeout=_CALM_SECONDS if self._fresh else None))
        except Empty:
            return True
        if more:
            self._closed.wait(_LOOK_SECONDS)
        with suppress(Empty):
            while True:
                more = self._take(self._news.get_nowait()) or more
        return more

    def _take(self, news: PieceId | tuple[int, ...] | None) -> bool:
        """Handle one item of the queue. Returns whether it says that there is a new payload file."""
        if isinstance(news, PieceId):
            self._fresh.append(_Look(news, 0))
        elif news is not None:
            self._payloads.release(news)
        return news is None

    def _portions(self) -> Iterator[list[_Look]]:
        """The pieces to look at, in portions of 4 MiB: one search of the files serves many payloads."""
        known = self._payloads.known(self._waiting.keys()) if self._waiting else ()
        ready = [look for key in known for look in self._waiting.pop(key)] + self._fresh
        self._fresh = []
        portion: list[_Look] = []
        size = 0
        for look in ready:
            if self._closed.is_set():
                return
            portion.append(look)
            size += look.piece.size
            if size >= _AT_ONCE_BYTES:
                yield portion
                portion, size = [], 0
        if portion:
            yield portion

    def _share(self, looks: list[_Look]) -> None:
        with self._payloads.working:
            keys = {look: keys for look in looks if (keys := self._keys(look.piece))}
            found = self._payloads.find(set().union(*keys.values()))
            try:
                for look, keys_of_piece in keys.items():
                    missing = [key for key in keys_of_piece if key not in found.pieces]
                    if len(missing) <= _MISSING * len(keys_of_piece) or look.before >= _LOOKS:
                        self._splice(look.piece, found)
                    else:
                        again = look._replace(before=look.before + 1)
                        self._waiting.setdefault(missing[-1], []).append(again)
            finally:
                self._payloads.release(found.files)
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)

    def _keys(self, piece: PieceId) -> array[int]:
        """The keys of the payloads at a piece; none when it is gone or unreadable.

        A reader of the object gets the error.
        """
        with suppress(OSError, ValueError):
            text = self._read(piece)
            return array("I", [crc32(data) for _, _, data, _ in payloads_in(text, self._find)])
        return array("I")

    def _splice(self, piece: PieceId, found: FoundPayloads) -> None:
        """Replace the found payloads of a piece by references. On an error the piece stays as it is."""
        with suppress(OSError, ValueError):
            text = self._read(piece)
            splice, at = Splice(), 0
            payloads = payloads_in(text, self._find)
            data = [data for _, _, data, _ in payloads]
            shared = self._payloads.verify([found.pieces.get(crc32(each)) for each in data], data)
            for (begin, end, _, in_base64), place in zip(payloads, shared, strict=True):
                if place is not None:
                    splice.add_literal(text[at:begin])
                    splice.add_piece(*place, in_base64)
                    at = end
            splice.add_literal(text[at:])
            files, done = splice.files, False
            self._payloads.hold(files)
            try:
                done = bool(files) and self._replace(piece, splice.encode(0, len(text)), files)
            finally:
                if not done:
                    self._payloads.release(files)
