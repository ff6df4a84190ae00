"""Reads the lines of a pipe as they come, and at once when it is asked what has been written so far."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Final

_LONGEST_LINE: Final = 1 << 20
_CHUNK: Final = 1 << 16
_MOST_CHUNKS: Final = 16
"""More than a pipe holds, so that a writer without end does not keep the one that drains it."""
_LOOK_MILLISECONDS: Final = 200


class LineReader:
    """Hands each line to ``on_line``: on a thread of its own, or on that of the caller of ``drain``."""

    def __init__(self, pipe: IO[bytes], on_line: Callable[[str], object]) -> None:
        self._pipe = pipe
        self._on_line = on_line
        self._lock = threading.Lock()
        self._unfinished = b""
        self._ended = False
        os.set_blocking(pipe.fileno(), False)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def drain(self) -> None:
        """Hand over every whole line that has been written by now."""
        with self._lock:
            for _ in range(_MOST_CHUNKS):
                if self._ended:
                    return
                try:
                    chunk = os.read(self._pipe.fileno(), _CHUNK)
                except BlockingIOError:
                    return
                self._take(chunk)

    def join(self, seconds: float) -> None:
        """Wait until everything is read up to the end of the pipe, for at most ``seconds``."""
        self._thread.join(seconds)

    def close(self) -> None:
        """Stop reading, and close the pipe."""
        with self._lock:
            self._ended = True
            self._pipe.close()

    def _follow(self) -> None:
        poll = select.poll()
        poll.register(self._pipe.fileno(), select.POLLIN)
        while not self._ended:
            # A pipe that is closed meanwhile is noticed at the next look.
            with suppress(OSError):
                poll.poll(_LOOK_MILLISECONDS)
            self.drain()

    def _take(self, chunk: bytes) -> None:
        if not chunk:
            self._ended = True
            lines, self._unfinished = [self._unfinished] if self._unfinished else [], b""
        else:
            *lines, self._unfinished = (self._unfinished + chunk).split(b"\n")
        if len(self._unfinished) >= _LONGEST_LINE:
            # A line is cut at a megabyte, so that a client that never ends one cannot fill this process.
            lines, self._unfinished = [*lines, self._unfinished], b""
        for line in lines:
            self._on_line(line.decode(errors="replace").rstrip("\r"))
