"""Having bodies refer to payloads that are in payload files, on a thread of its own."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from isal.isal_zlib import crc32

from emulator.journal.payloads import Found, Payloads
from emulator.journal.spliced import Find, Splice, payloads_in
from emulator.machine.resident_memory import give_back_now

if TYPE_CHECKING:
    from emulator.buckets.objects.bodies import Bodies
    from emulator.buckets.objects.volumes import Place

_LOOK_SECONDS: Final = 1.0
_CALM_SECONDS: Final = 2.0
"""Real seconds: housekeeping goes on when the sandbox's clock stands still."""
_LEAST_BYTES: Final = 256
_AT_ONCE_BYTES: Final = 4 << 20
_MOST_WAITING: Final = 10_000
_MISSING: Final = 0.05
"""Of what lacks more than that another look may find more, if it was not yet looked at so often:"""
_LOOKS: Final = 2


class _Look(NamedTuple):
    """A place to be looked at, and how often it was before."""

    place: Place
    before: int


class Sharing:
    """Looks at each new place, and again when a payload that it lacked is in a file."""

    def __init__(self, bodies: Bodies, payloads: Payloads, find: Find) -> None:
        self._bodies = bodies
        self._payloads = payloads
        self._find = find
        # Other queues may not be put into by what is collected while they are put into.
        self._news: SimpleQueue[Place | tuple[int, ...] | None] = SimpleQueue()
        self._fresh: list[_Look] = []
        self._waiting: OrderedDict[int, list[_Look]] = OrderedDict()
        self._closed = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        payloads.on_new_file(lambda: self._news.put(None))

    def look_at(self, place: Place) -> None:
        """Something was put at a place."""
        if place.size < _LEAST_BYTES:
            return
        self._news.put(place)
        with self._starting:
            if self._thread is None and not self._closed.is_set():
                self._thread = threading.Thread(target=self._run, name="sharing", daemon=True)
                self._thread.start()

    def let_go(self, files: tuple[int, ...]) -> None:
        """A place no longer refers to these payload files."""
        self._news.put(files)

    def close(self) -> None:
        """Stop after what is under way."""
        self._closed.set()
        self._news.put(None)
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _run(self) -> None:
        while not self._closed.is_set():
            if self._more_came():
                for looks in self._portions():
                    self._share(looks)
                give_back_now()

    def _more_came(self) -> bool:
        """Take what is new; whether it is time to look: there is more to find, or nothing new for a while."""
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

    def _take(self, news: Place | tuple[int, ...] | None) -> bool:
        """Note something new; whether it is that there is more to find."""
        if isinstance(news, tuple):
            self._payloads.release(news)
        elif news is not None:
            self._fresh.append(_Look(news, 0))
        return news is None

    def _portions(self) -> Iterator[list[_Look]]:
        """What is to be looked at: so much at once that files are looked through for many payloads."""
        known = self._payloads.known(self._waiting.keys()) if self._waiting else ()
        ready = [look for key in known for look in self._waiting.pop(key)] + self._fresh
        self._fresh = []
        portion: list[_Look] = []
        size = 0
        for look in ready:
            if self._closed.is_set():
                return
            portion.append(look)
            size += look.place.size
            if size >= _AT_ONCE_BYTES:
                yield portion
                portion, size = [], 0
        if portion:
            yield portion

    def _share(self, looks: list[_Look]) -> None:
        with self._payloads.working:
            keys = {look: keys for look in looks if (keys := self._keys(look.place))}
            found = self._payloads.find(set().union(*keys.values()))
            try:
                for look, wanted in keys.items():
                    missing = [key for key in wanted if key not in found.pieces]
                    if len(missing) <= _MISSING * len(wanted) or look.before >= _LOOKS:
                        self._splice(look.place, found)
                    else:
                        again = look._replace(before=look.before + 1)
                        self._waiting.setdefault(missing[-1], []).append(again)
            finally:
                self._payloads.release(found.files)
        while len(self._waiting) > _MOST_WAITING:
            self._waiting.popitem(last=False)

    def _keys(self, place: Place) -> array[int]:
        """Of the payloads at a place; none of what is gone or cannot be read: whoever asks for it is told."""
        with suppress(OSError, ValueError):
            text = self._bodies.read(place)
            return array("I", [crc32(data) for _, _, data, _ in payloads_in(text, self._find)])
        return array("I")

    def _splice(self, place: Place, found: Found) -> None:
        """Have a place refer to what was found. What cannot be read, or finds no space, stays as it is."""
        with suppress(OSError, ValueError):
            text = self._bodies.read(place)
            splice, at = Splice(), 0
            payloads = payloads_in(text, self._find)
            data = [data for _, _, data, _ in payloads]
            pieces = self._payloads.verify([found.pieces.get(crc32(each)) for each in data], data)
            for (begin, end, _, in_base64), piece in zip(payloads, pieces, strict=True):
                if piece is not None:
                    splice.add_literal(text[at:begin])
                    splice.add_piece(*piece, in_base64)
                    at = end
            splice.add_literal(text[at:])
            files, done = splice.files, False
            self._payloads.hold(files)
            try:
                done = bool(files) and self._bodies.splice(place, splice.encode(0, len(text)), files)
            finally:
                if not done:
                    self._payloads.release(files)
