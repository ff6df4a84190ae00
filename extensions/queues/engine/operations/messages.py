"""Operations on messages: post, read, delete, pop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from emulator.rng import new_uuid
from extensions.queues.engine import bounds as checks
from extensions.queues.engine.address import Address
from extensions.queues.engine.message_queue import LiveQueue
from extensions.queues.engine.queue_changes import Posted, QueueSet, Removed
from extensions.queues.engine.queue_errors import (
    ClaimNotThereError,
    MessageClaimedError,
    MessageNotClaimedError,
    MessageNotThereError,
)
from extensions.queues.engine.queue_metadata import DEFAULT_DELAY, DEFAULT_TTL
from extensions.queues.engine.queued_message import AT_ONCE, Found, QueuedMessage
from extensions.queues.engine.store import QueueStore
from extensions.queues.engine.view_source import message_id
from rdss_sandbox.shapes.queue_limits import DEFAULT_MESSAGE_TTL, DEFAULT_PAGE


class MessageToPost(NamedTuple):
    """A message to post: its JSON text, ttl and delay in seconds; None takes the queue's defaults."""

    body: bytes
    ttl: int | None = None
    delay: int | None = None


class MessageOperations:
    """Operations on messages."""

    def __init__(self, store: QueueStore) -> None:
        self._store = store

    def post(self, at: Address, new: Sequence[MessageToPost], client: str) -> list[str]:
        """Post messages and return their ids in the same order. A missing queue is created.

        Messages to a view go through its channel, which sets their ttl and delay. Raises
        ``BadValueError`` and ``SourceUnavailableError``.
        """
        with self._store.refreshed(at) as now:
            queue = self._store.find_queue(at, now)
            messages = _build_messages(queue, new, client, now)
            source = self._store.sources.get(at)
            if source is None:
                return self._post(at, messages, now, made=queue is None)
        # Without the lock, for a channel may take long.
        refs = source.publish([each.body for each in new])
        # Whoever posts finds the message at once.
        self._store.refresh(at)
        return [message_id(at, ref) for ref in refs]

    def page(
        self,
        at: Address,
        *,
        after: int = 0,
        limit: int = DEFAULT_PAGE,
        not_from: str | None = None,
        claimed: bool = False,
        delayed: bool = False,
    ) -> list[Found]:
        """Messages with numbers above ``after``, oldest first, without those that ``not_from`` posted.

        Claimed and delayed messages are left out, unless ``claimed`` or ``delayed`` asks for them. Raises
        ``QueueNotThereError``, and ``BadValueError`` for the limit.
        """
        checks.page_limit(limit)
        with self._store.refreshed(at) as now:
            queue = self._store.require_queue(at, now)

            def wanted(message: QueuedMessage) -> bool:
                return (
                    message.client != not_from
                    and (claimed or queue.holder(message) is None)
                    and (delayed or message.ready <= now)
                )

            return queue.page(after, limit, wanted)

    def get(self, at: Address, id_: str) -> Found:
        """One message. Raises ``MessageNotThereError``."""
        found = self.find(at, [id_])
        if not found:
            raise MessageNotThereError(at, id_)
        return found[0]

    def find(self, at: Address, ids: Iterable[str]) -> list[Found]:
        """The messages with these ids, without missing ones."""
        with self._store.refreshed(at) as now:
            queue = self._store.find_queue(at, now)
            messages = (queue.get(id_) for id_ in ids) if queue else ()
            return [queue.describe(message) for message in messages if queue and message]

    def find_taken(self, at: Address, ids: Iterable[str]) -> list[QueuedMessage]:
        """As ``find``, but without refreshing a view from its channel."""
        with self._store.lock:
            queue = self._store.find_queue(at, self._store.now())
            messages = (queue.get(id_) for id_ in ids) if queue else ()
            return [message for message in messages if message]

    def delete(self, at: Address, id_: str, claim: str | None = None) -> None:
        """Delete a message, if it is there. The ``claim`` that holds it must be given.

        Raises ``MessageNotClaimedError`` when a claim is given but none holds the message. When one holds it,
        raises ``ClaimNotThereError`` for an expired claim, and ``MessageClaimedError`` for another or none.
        """
        with self._store.refreshed(at) as now:
            queue = self._store.find_queue(at, now)
            message = queue.get(id_) if queue else None
            if queue is None or message is None:
                return
            _check_claim(queue, message, claim)
            self._remove(queue, [message], now, "message_deleted", claim=claim)

    def delete_many(self, at: Address, ids: Sequence[str]) -> None:
        """Delete messages, also claimed ones. Missing ones are skipped.

        Raises ``BadValueError`` for no ids, or more than 20.
        """
        checks.message_ids(ids)
        with self._store.refreshed(at) as now:
            queue = self._store.find_queue(at, now)
            found = {id_: message for id_ in ids if queue and (message := queue.get(id_))}
            if queue and found:
                self._remove(queue, list(found.values()), now, "message_deleted", claim=None)

    def pop(self, at: Address, limit: int) -> list[QueuedMessage]:
        """Delete and return the oldest free messages. Raises ``BadValueError``."""
        checks.pop_limit(limit)
        with self._store.refreshed(at) as now:
            queue = self._store.find_queue(at, now)
            messages = queue.take(limit) if queue else []
            if queue and messages:
                try:
                    self._remove(queue, messages, now, "messages_popped")
                except OSError:
                    queue.put_back(messages)
                    raise
            return messages

    def _post(self, at: Address, messages: list[QueuedMessage], now: float, *, made: bool) -> list[str]:
        missing = [QueueSet(at, {})] if made else []
        self._store.commit(now, *missing, Posted(at, messages))
        if made:
            self._store.emit("created", at)
        ids = [message.id for message in messages]
        client = messages[0].client if messages else ""
        self._store.emit("messages_posted", at, client=client, messages=ids)
        return ids

    def _remove(
        self, queue: LiveQueue, messages: list[QueuedMessage], now: float, event: str, **fields: str | None
    ) -> None:
        self._store.commit(now, Removed(queue.at, [message.number for message in messages]))
        self._store.emit(event, queue.at, messages=[message.id for message in messages], **fields)
        self._store.report_gone(queue.at, messages)


def _build_messages(
    queue: LiveQueue | None, new: Sequence[MessageToPost], client: str, now: float
) -> list[QueuedMessage]:
    """Build the messages, with the queue's ttl and delay as defaults. Raises ``BadValueError``."""
    metadata = queue.metadata if queue else {}
    number = queue.number if queue else 1
    own_ttl = metadata.get(DEFAULT_TTL) or DEFAULT_MESSAGE_TTL
    own_delay = metadata.get(DEFAULT_DELAY) or 0
    messages: list[QueuedMessage] = []
    for each in new:
        ttl = own_ttl if each.ttl is None else each.ttl
        delay = own_delay if each.delay is None else each.delay
        checks.message_ttl(ttl)
        checks.message_delay(delay)
        ready = now + delay if delay else AT_ONCE
        messages.append(
            QueuedMessage(number, new_uuid(), each.body, ttl, now, now + ttl, ready, client=client)
        )
        number += 1
    return messages


def _check_claim(queue: LiveQueue, message: QueuedMessage, claim: str | None) -> None:
    holder = queue.holder(message)
    if claim is None:
        if holder is not None:
            raise MessageClaimedError(message.id)
    elif holder is None:
        raise MessageNotClaimedError(message.id)
    elif claim not in queue.claims:
        raise ClaimNotThereError(queue.at, claim)
    elif holder.id != claim:
        raise MessageClaimedError(message.id)
