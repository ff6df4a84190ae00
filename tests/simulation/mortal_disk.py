"""The disk of a process that may die before, in or after any write, and whose writes may fail.

It stands between the process under test and the functions of ``os``, and keeps nothing back: what is written
survives the process, as it does with ``kill -9``; what a power cut takes is for the power supply. A process
that has died writes no more, whatever it tries while its calls unwind.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from emulator.rng import Draws

_CHANGES: Final = ("ftruncate", "truncate", "replace", "rename", "unlink", "fsync", "fdatasync")
_SYNCS: Final = ("fsync", "fdatasync")
_FAILING: Final = ("pwrite", "pwrite", "fsync", "fsync", "fdatasync", "ftruncate", "replace", "unlink")


class ProcessDiedError(BaseException):
    """The process ends here, as by ``kill -9``. No handler of its own may go on."""


class MortalDisk:
    """Counts what the process changes on its disk, and ends it, or fails a change, when one is reached.

    ``passes_syncs`` is for a layer below that wants to know of them.
    """

    def __init__(self, draws: Draws, tell: Callable[[str], None]) -> None:
        self._draws = draws
        self._tell = tell
        self._left: int | None = None
        self._failing: tuple[str, int] | None = None
        self._opened: dict[int, tuple[int, int]] = {}
        self.is_dead = False
        self.passes_syncs = False

    def end_after(self, changes: int) -> None:
        """End the process after so many changes."""
        self._left = changes

    def fail(self, changes: int) -> None:
        """Fail a change of a kind that is drawn, after so many of that kind."""
        self._failing = self._draws.choice(_FAILING), changes

    def spare(self) -> None:
        """Let the process live from now on, and every change succeed."""
        self._left = self._failing = None

    def reach(self) -> None:
        """Pass a point at which the process may die."""
        if self.is_dead:
            raise ProcessDiedError
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                self.die()

    def die(self) -> None:
        """End the process here."""
        self._left = None
        self.is_dead = True
        raise ProcessDiedError

    def bury(self) -> None:
        """Close what the process that died, or was closed, had open, as the system does."""
        for descriptor, file in self._opened.items():
            # Some are closed by a file object, and another file may have their number by now.
            with suppress(OSError):
                if _identify(descriptor) == file:
                    self._real["close"](descriptor)
        self._opened.clear()
        self.is_dead = False

    @contextmanager
    def installed(self, root: Path) -> Iterator[None]:
        """Stand under everything below ``root`` while the context lasts."""
        names = ("open", "close", "pwrite", "pwritev", *_CHANGES)
        self._real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in names}
        self._root = os.fspath(root)
        own = {name: self._change(name) for name in _CHANGES}
        own |= {"open": self._open, "close": self._close, "pwrite": self._pwrite, "pwritev": self._pwritev}
        try:
            for name, function in own.items():
                setattr(os, name, function)
            yield
        finally:
            for name, function in self._real.items():
                setattr(os, name, function)
            self.bury()

    def _open(self, path: Any, *rest: Any, **named: Any) -> int:
        descriptor: int = self._real["open"](path, *rest, **named)
        if isinstance(path, str | os.PathLike) and os.fspath(path).startswith(self._root):
            self._opened[descriptor] = _identify(descriptor)
        return descriptor

    def _close(self, descriptor: int) -> None:
        self._opened.pop(descriptor, None)
        self._real["close"](descriptor)

    def _change(self, name: str) -> Callable[..., Any]:
        real = self._real[name]

        def change(*given: Any, **named: Any) -> Any:
            if not self._is_ours(given[0]):
                return real(*given, **named)
            self.reach()
            self._fail_if_planned(name)
            # A kill takes nothing from the system's cache, so that a real sync would only take its time.
            return real(*given, **named) if self.passes_syncs or name not in _SYNCS else None

        return change

    def _is_ours(self, given: Any) -> bool:
        if isinstance(given, int):
            return given in self._opened
        return os.fspath(given).startswith(self._root)

    def _pwritev(self, descriptor: int, parts: Any, position: int) -> int:
        return self._pwrite(descriptor, b"".join(parts), position)

    def _pwrite(self, descriptor: int, data: bytes, position: int) -> int:
        if descriptor in self._opened:
            was_alive = not self.is_dead
            try:
                self.reach()
                self._fail_if_planned("pwrite")
            except (ProcessDiedError, OSError):
                # What of it the system had taken by then.
                if was_alive:
                    self._real["pwrite"](descriptor, data[: self._draws.randrange(len(data) + 1)], position)
                raise
        written: int = self._real["pwrite"](descriptor, data, position)
        return written

    def _fail_if_planned(self, name: str) -> None:
        if self._failing is None or self._failing[0] != name:
            return
        kind, left = self._failing
        self._failing = (kind, left - 1) if left else None
        if not left:
            self._tell(f"disk failed a {name}")
            raise OSError(self._draws.choice((errno.ENOSPC, errno.EIO)), "simulated")


def _identify(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino
