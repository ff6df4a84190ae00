"""Flushes that the calls of an event loop share: while one is under way, others write for the next."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Final

from emulator.kinesis.stream import Shard, Stream
from emulator.machine.flush_delay import FlushDelay

_FLUSHING: Final = ThreadPoolExecutor(1, "group-commit")
_Touched = list[tuple[Stream, Shard]]


class GroupCommit:
    """What was written by calls that did not wait for the disk themselves, and who waits for it.

    ``flush`` returns when shards are on the disk, or raises ``KinesisError``. ``tell`` is then told which
    were touched. All but ``gathers`` is for the thread of one loop.
    """

    def __init__(self, flush: Callable[[list[Shard]], None], tell: Callable[[_Touched], None]) -> None:
        self._flush = flush
        self._tell = tell
        self._local = threading.local()
        self._written: dict[Shard, None] = {}
        self._touched: _Touched = []
        self._next: asyncio.Future[None] | None = None
        self._waiting = 0
        self._delay = FlushDelay()
        self._due: asyncio.Handle | None = None
        self._flushing = False

    @property
    def gathers(self) -> bool:
        """Whether the calls of this thread are gathered now."""
        return getattr(self._local, "gathers", False)

    @contextmanager
    def gathering(self) -> Iterator[None]:
        """Gather what calls write in the block, which does not await. ``wait`` afterwards."""
        self._local.gathers = True
        try:
            yield
        finally:
            self._local.gathers = False

    def add(self, written: list[Shard], touched: _Touched) -> None:
        """Gather what a call has written, and whose readers are to look again."""
        self._written.update(dict.fromkeys(written))
        self._touched += touched

    async def wait(self) -> None:
        """Return when all that was gathered so far is on the disk. Raises ``KinesisError``."""
        if not self._written and not self._touched:
            return
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            # Those who wait may all be gone by then.
            self._next.add_done_callback(lambda done: done.exception())
        self._waiting += 1
        self._plan(self._next)
        await asyncio.shield(self._next)

    def _plan(self, group: asyncio.Future[None]) -> None:
        """Have a group flushed, when the one before is and those who are expected have come."""
        if self._flushing:
            return
        if self._due is not None:
            self._due.cancel()
        # Behind those whose requests are there already.
        left = self._delay.left(self._waiting)
        self._due = group.get_loop().call_later(left, self._begin, group)

    def _begin(self, group: asyncio.Future[None]) -> None:
        self._delay.note_begin(self._waiting)
        written, touched = list(self._written), self._touched
        self._written, self._touched, self._next, self._waiting = {}, [], None, 0
        self._due, self._flushing = None, True

        def end(error: BaseException | None) -> None:
            self._flushing = False
            self._delay.note_end(self._waiting)
            if error is None:
                self._tell(touched)
                group.set_result(None)
            else:
                group.set_exception(error)
            if self._next is not None:
                self._plan(self._next)

        def pass_on(flushed: Future[None]) -> None:
            # The loop may have ended meanwhile.
            with suppress(RuntimeError):
                group.get_loop().call_soon_threadsafe(end, flushed.exception())

        _FLUSHING.submit(self._flush, written).add_done_callback(pass_on)
