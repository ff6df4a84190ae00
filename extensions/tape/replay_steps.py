"""What a replay does, in order: the entries of a tape as puts of several messages, reshards and refusals.

Which messages go in one call is settled by the tape and by the speed that was asked for, and by nothing that
happens meanwhile, so that a fault strikes the same ones each time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from emulator.kinesis.batches import MOST_RECORDS
from rdss_sandbox.shapes.tape import TapedChannel, TapedMessage, TapedRefusal, TapeEntry

_CALL_SECONDS: Final = 0.02
"""Messages that come within so many real seconds go in one call."""


class Puts(NamedTuple):
    """Messages of one channel that are put in one call, at the time of the first."""

    at: float
    channel: str
    messages: list[TapedMessage]


Step: TypeAlias = Puts | TapedChannel | TapedRefusal


def list_steps(entries: Iterable[TapeEntry], speed: float | None) -> Iterator[Step]:
    """The steps at a speed, in seconds of the tape per real second; None is as fast as they are taken."""
    together = None if speed is None else _CALL_SECONDS * speed
    waiting: dict[str, Puts] = {}
    began = 0.0
    for entry in entries:
        if isinstance(entry, TapedMessage):
            full = entry.channel in waiting and len(waiting[entry.channel].messages) == MOST_RECORDS
            if waiting and (full or (together is not None and entry.at >= began + together)):
                yield from waiting.values()
                waiting = {}
            if not waiting:
                began = entry.at
            waiting.setdefault(entry.channel, Puts(entry.at, entry.channel, [])).messages.append(entry)
        elif isinstance(entry, TapedChannel | TapedRefusal):
            yield from waiting.values()
            waiting = {}
            yield entry
    yield from waiting.values()
