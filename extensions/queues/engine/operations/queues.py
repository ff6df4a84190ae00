"""Operations on queues: create, delete, metadata, statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from extensions.queues.engine import queue_metadata
from extensions.queues.engine.address import Address
from extensions.queues.engine.message_queue import LiveQueue
from extensions.queues.engine.queue_changes import QueueGone, QueueSet, Removed, Unsubscribed
from extensions.queues.engine.queued_message import QueuedMessage
from extensions.queues.engine.store import QueueStore


class Stats(NamedTuple):
    """Numbers of claimed and free messages. ``oldest`` and ``newest`` are None in an empty queue."""

    claimed: int
    free: int
    oldest: QueuedMessage | None
    newest: QueuedMessage | None

    @property
    def total(self) -> int:
        return self.claimed + self.free


class ListedQueue(NamedTuple):
    """A queue in a list."""

    name: str
    metadata: dict[str, Any]


class Overview(NamedTuple):
    """A summary of a queue. ``claims`` counts the claims that hold messages.

    ``delayed`` of the messages that ``stats`` counts as free, as Zaqar does, cannot be claimed yet.
    """

    at: Address
    stats: Stats
    delayed: int
    claims: int
    subscriptions: int
    view: bool

    @property
    def free(self) -> int:
        """The number of messages that can be claimed now."""
        return self.stats.free - self.delayed


class QueueOperations:
    """Operations on queues."""

    def __init__(self, store: QueueStore) -> None:
        self._store = store

    def create(self, at: Address, metadata: Mapping[str, Any] | None = None) -> bool:
        """Create the queue. Returns False for an existing one, which stays. Raises ``BadValueError``."""
        queue_metadata.check(metadata or {})
        with self._store.lock:
            if at in self._store.state.queues:
                return False
            self._store.commit(self._store.now(), QueueSet(at, dict(metadata or {})))
            self._store.emit("created", at)
            return True

    def exists(self, at: Address) -> bool:
        with self._store.lock:
            return at in self._store.state.queues

    def metadata(self, at: Address) -> dict[str, Any]:
        """The metadata that was set, without defaults. Raises ``QueueNotThereError``."""
        with self._store.lock:
            return dict(self._store.require_queue(at, self._store.now()).metadata)

    def set_metadata(self, at: Address, metadata: Mapping[str, Any]) -> None:
        """Replace the metadata. Raises ``QueueNotThereError`` and ``BadValueError``."""
        queue_metadata.check(metadata)
        with self._store.refreshed(at) as now:
            self._store.require_queue(at, now)
            self._store.commit(now, QueueSet(at, dict(metadata)))

    def patch(self, at: Address, operations: Sequence[Any]) -> dict[str, Any]:
        """Patch the metadata and return it. Raises ``QueueNotThereError``, and as ``metadata.patch``."""
        with self._store.refreshed(at) as now:
            result = queue_metadata.patch(self._store.require_queue(at, now).metadata, operations)
            self._store.commit(now, QueueSet(at, result))
            return result

    def delete(self, at: Address) -> None:
        """Delete the queue and everything in it. A view goes on with the next arrivals of its channel."""
        with self._store.lock:
            queue = self._store.state.queues.get(at)
            if queue is None:
                return
            messages = list(queue.messages)
            self._store.commit(self._store.now(), QueueGone(at))
            self._store.emit("deleted", at, messages=len(messages))
            self._store.report_gone(at, messages)

    def page(self, project: str, after: str = "", name: str = "") -> list[ListedQueue]:
        """The project's queues after ``after`` whose names contain ``name``, sorted by name."""
        with self._store.lock:
            found = sorted(
                at.name
                for at in self._store.state.queues
                if at.project == project and at.name > after and name in at.name
            )
            queues = self._store.state.queues
            return [ListedQueue(each, queues[Address(project, each)].metadata) for each in found]

    def stats(self, at: Address) -> Stats:
        """The numbers of a queue. Raises ``QueueNotThereError``."""
        with self._store.refreshed(at) as now:
            return _build_stats(self._store.require_queue(at, now))

    def overview(self) -> list[Overview]:
        """Every queue of every project, by project and name."""
        with self._store.lock:
            now = self._store.now()
            queues = [
                queue for at in sorted(self._store.state.queues) if (queue := self._store.find_queue(at, now))
            ]
            return [_build_overview(queue, view=queue.at in self._store.sources) for queue in queues]

    def purge(self, at: Address, *, messages: bool, subscriptions: bool) -> None:
        """Remove all messages (claimed ones too), all subscriptions, or both. Creates no queue."""
        with self._store.refreshed(at) as now:
            queue = self._store.find_queue(at, now)
            if queue is None:
                return
            gone = list(queue.messages) if messages else []
            unsubscribed = list(queue.subscriptions) if subscriptions else []
            changes = [Unsubscribed(at, id_) for id_ in unsubscribed]
            self._store.commit(now, *changes, Removed(at, [message.number for message in gone]))
            self._store.emit("purged", at, messages=len(gone), subscriptions=len(unsubscribed))
            self._store.report_gone(at, gone)


def _build_stats(queue: LiveQueue) -> Stats:
    total = len(queue.messages)
    return Stats(queue.claimed, total - queue.claimed, queue.messages.oldest(), queue.messages.newest())


def _build_overview(queue: LiveQueue, *, view: bool) -> Overview:
    holding = sum(1 for claim in queue.claims.values() if claim.numbers)
    return Overview(queue.at, _build_stats(queue), queue.delayed, holding, len(queue.subscriptions), view)
