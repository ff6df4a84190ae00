"""The journal of queues, by which every answered claim survives the process.

It is a log of changes and not of keys and values: what a claim or a release does to a message depends on what
came before, by the clock. With keys, each claim would store its messages again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from emulator.journal import Log
from emulator.journal.reserve import spending_reserve
from extensions.queues.engine.queue_changes import (
    ChangeSet,
    ClaimReleased,
    QueueGone,
    Removed,
    Unsubscribed,
    decode,
    encode,
)
from extensions.queues.engine.queue_state import QueueState

_DELETIONS: Final = (QueueGone, ClaimReleased, Removed, Unsubscribed)
"""What makes room, sooner or later."""
# An entry is encoded and read at once, so a large state takes many of them.
_CHANGES_IN_AN_ENTRY: Final = 50


def store(log: Log, entry: ChangeSet) -> None:
    """Store the entry before returning. Raises OSError, and then nothing of it is stored."""
    write = partial(log.append, encode(entry))
    freeing = all(isinstance(change, _DELETIONS) for change in entry.changes)
    spending_reserve(log.path, write) if freeing else write()


def list_entries(state: QueueState, now: float) -> Iterator[bytes]:
    """Yield encoded entries that produce ``state`` from an empty one."""
    changes = state.list_changes()
    while batch := list(islice(changes, _CHANGES_IN_AN_ENTRY)):
        yield encode(ChangeSet(now, batch))


def replay(payload: bytes | memoryview, state: QueueState) -> float:
    """Apply an encoded entry to ``state``, and return the entry's time."""
    entry = decode(payload)
    for change in entry.changes:
        # Expiry is in no entry, and what is over by then must not take part in the change.
        state.pass_time(change, entry.time)
        state.apply(change, entry.time)
    return entry.time
