"""Queues themselves: their being there, their metadata, their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from emulator.queues.engine import metadata as queue_metadata
from emulator.queues.engine.address import Address
from emulator.queues.engine.changes import QueueGone, QueueSet, Removed, Unsubscribed
from emulator.queues.engine.message import Message
from emulator.queues.engine.queue import Queue
from emulator.queues.engine.store import Store


class Stats(NamedTuple):
    """How many messages there are, of them held and not; ``oldest`` and ``newest`` None in an empty queue."""

    claimed: int
    free: int
    oldest: Message | None
    newest: Message | None

    @property
    def total(self) -> int:
        return self.claimed + self.free


class Listed(NamedTuple):
    """A queue in a list."""

    name: str
    metadata: dict[str, Any]


class Overview(NamedTuple):
    """A queue in one line: where it is, its messages, and how many claims hold any of them."""

    at: Address
    stats: Stats
    claims: int
    subscriptions: int
    view: bool


class Queues:
    """Operations on queues."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, at: Address, metadata: Mapping[str, Any] | None = None) -> bool:
        """Have the queue; False when it was there, which leaves it as it is. Raises ``BadValueError``."""
        queue_metadata.check(metadata or {})
        with self._store.lock:
            if at in self._store.state.queues:
                return False
            self._store.commit(self._store.now(), QueueSet(at, dict(metadata or {})))
            self._store.tell("created", at)
            return True

    def exists(self, at: Address) -> bool:
        with self._store.lock:
            return at in self._store.state.queues

    def metadata(self, at: Address) -> dict[str, Any]:
        """What was set, without defaults. Raises ``QueueNotThereError``."""
        with self._store.lock:
            return dict(self._store.existing(at, self._store.now()).metadata)

    def set_metadata(self, at: Address, metadata: Mapping[str, Any]) -> None:
        """Replace the metadata. Raises ``QueueNotThereError`` and ``BadValueError``."""
        queue_metadata.check(metadata)
        with self._store.opened(at) as now:
            self._store.existing(at, now)
            self._store.commit(now, QueueSet(at, dict(metadata)))

    def patch(self, at: Address, operations: Sequence[Any]) -> dict[str, Any]:
        """The metadata after the operations; see ``metadata.patched``, whose errors it raises.

        Raises ``QueueNotThereError``.
        """
        with self._store.opened(at) as now:
            result = queue_metadata.patched(self._store.existing(at, now).metadata, operations)
            self._store.commit(now, QueueSet(at, result))
            return result

    def delete(self, at: Address) -> None:
        """Delete the queue and all that is in it; a view begins again with what its channel brings next."""
        with self._store.lock:
            queue = self._store.state.queues.get(at)
            if queue is None:
                return
            messages = list(queue.messages)
            self._store.commit(self._store.now(), QueueGone(at))
            self._store.tell("deleted", at, messages=len(messages))
            self._store.left(at, messages)

    def page(self, project: str, after: str = "", name: str = "") -> list[Listed]:
        """The project's queues by name, those after ``after`` whose names contain ``name``."""
        with self._store.lock:
            found = sorted(
                at.name
                for at in self._store.state.queues
                if at.project == project and at.name > after and name in at.name
            )
            queues = self._store.state.queues
            return [Listed(each, queues[Address(project, each)].metadata) for each in found]

    def stats(self, at: Address) -> Stats:
        """Raises ``QueueNotThereError``."""
        with self._store.opened(at) as now:
            return _stats(self._store.existing(at, now))

    def overview(self) -> list[Overview]:
        """Every queue of every project, by project and name."""
        with self._store.lock:
            now = self._store.now()
            queues = [
                queue for at in sorted(self._store.state.queues) if (queue := self._store.queue(at, now))
            ]
            return [_overview(queue, view=queue.at in self._store.sources) for queue in queues]

    def purge(self, at: Address, *, messages: bool, subscriptions: bool) -> None:
        """Remove all messages, held or not, or all subscriptions, or both. A missing queue stays missing."""
        with self._store.opened(at) as now:
            queue = self._store.queue(at, now)
            if queue is None:
                return
            gone = list(queue.messages) if messages else []
            unsubscribed = list(queue.subscriptions) if subscriptions else []
            changes = [Unsubscribed(at, id_) for id_ in unsubscribed]
            self._store.commit(now, *changes, Removed(at, [message.number for message in gone]))
            self._store.tell("purged", at, messages=len(gone), subscriptions=len(unsubscribed))
            self._store.left(at, gone)


def _stats(queue: Queue) -> Stats:
    total = len(queue.messages)
    return Stats(queue.claimed, total - queue.claimed, queue.messages.oldest(), queue.messages.newest())


def _overview(queue: Queue, *, view: bool) -> Overview:
    holding = sum(1 for claim in queue.claims.values() if claim.numbers)
    return Overview(queue.at, _stats(queue), holding, len(queue.subscriptions), view)
