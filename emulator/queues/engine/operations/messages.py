"""Messages: posted, looked at, deleted, popped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from emulator.queues.engine import checks
from emulator.queues.engine.address import Address
from emulator.queues.engine.changes import Posted, QueueSet, Removed
from emulator.queues.engine.errors import (
    ClaimNotThereError,
    MessageClaimedError,
    MessageNotClaimedError,
    MessageNotThereError,
)
from emulator.queues.engine.message import Found, Message
from emulator.queues.engine.metadata import DEFAULT_DELAY, DEFAULT_TTL
from emulator.queues.engine.queue import Queue
from emulator.queues.engine.source import message_id
from emulator.queues.engine.store import Store
from emulator.rng import new_uuid
from rdss_sandbox.shapes.queue_limits import DEFAULT_MESSAGE_TTL, DEFAULT_PAGE


class NewMessage(NamedTuple):
    """A message to post: its JSON text, and seconds to live and to wait, None for the queue's own."""

    body: bytes
    ttl: int | None = None
    delay: int | None = None


class Messages:
    """Operations on messages."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def post(self, at: Address, new: Sequence[NewMessage], client: str) -> list[str]:
        """Put messages into the queue, which is made if it is not there; their ids in the same order.

        What is posted to a view goes through its channel, which sets their ttl and delay. Raises
        ``BadValueError`` and ``SourceUnavailableError``.
        """
        with self._store.opened(at) as now:
            queue = self._store.queue(at, now)
            messages = _made(queue, new, client, now)
            source = self._store.sources.get(at)
            if source is None:
                return self._keep(at, messages, now, made=queue is None)
        refs = source.publish([each.body for each in new])
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

        Those that are held, and those that are delayed, are left out unless asked for. Raises
        ``QueueNotThereError``, and ``BadValueError`` for the limit.
        """
        checks.page_limit(limit)
        with self._store.opened(at) as now:
            queue = self._store.existing(at, now)

            def wanted(message: Message) -> bool:
                return (
                    message.client != not_from
                    and (claimed or queue.holder(message) is None)
                    and (delayed or message.ready <= now)
                )

            return queue.page(after, limit, wanted)

    def get(self, at: Address, id_: str) -> Found:
        """Raises ``MessageNotThereError``."""
        found = self.find(at, [id_])
        if not found:
            raise MessageNotThereError(at, id_)
        return found[0]

    def find(self, at: Address, ids: Iterable[str]) -> list[Found]:
        """Those of the messages that are there."""
        with self._store.opened(at) as now:
            queue = self._store.queue(at, now)
            messages = (queue.get(id_) for id_ in ids) if queue else ()
            return [queue.found(message) for message in messages if queue and message]

    def known(self, at: Address, ids: Iterable[str]) -> list[Message]:
        """Those of the messages that the queue has already: a view's channel is not asked for more."""
        with self._store.lock:
            queue = self._store.queue(at, self._store.now())
            messages = (queue.get(id_) for id_ in ids) if queue else ()
            return [message for message in messages if message]

    def delete(self, at: Address, id_: str, claim: str | None = None) -> None:
        """Delete a message, which may be gone already; the ``claim`` that holds it must be given.

        Raises ``MessageNotClaimedError`` for a claim given where nobody holds the message; for one that is
        held
        ``ClaimNotThereError`` where the claim has expired, ``MessageClaimedError`` where it is another's or
        none.
        """
        with self._store.opened(at) as now:
            queue = self._store.queue(at, now)
            message = queue.get(id_) if queue else None
            if queue is None or message is None:
                return
            _may_delete(queue, message, claim)
            self._remove(queue, [message], now, "message_deleted", claim=claim)

    def delete_many(self, at: Address, ids: Sequence[str]) -> None:
        """Delete those that are there, whoever holds them.

        Raises ``BadValueError`` for none or over 20 ids.
        """
        checks.message_ids(ids)
        with self._store.opened(at) as now:
            queue = self._store.queue(at, now)
            found = {id_: message for id_ in ids if queue and (message := queue.get(id_))}
            if queue and found:
                self._remove(queue, list(found.values()), now, "message_deleted", claim=None)

    def pop(self, at: Address, limit: int) -> list[Message]:
        """The oldest messages that nobody holds, deleted as they are given. Raises ``BadValueError``."""
        checks.popped(limit)
        with self._store.opened(at) as now:
            queue = self._store.queue(at, now)
            messages = queue.take(limit) if queue else []
            if queue and messages:
                try:
                    self._remove(queue, messages, now, "messages_popped")
                except OSError:
                    queue.put_back(messages)
                    raise
            return messages

    def _keep(self, at: Address, messages: list[Message], now: float, *, made: bool) -> list[str]:
        missing = [QueueSet(at, {})] if made else []
        self._store.commit(now, *missing, Posted(at, messages))
        if made:
            self._store.tell("created", at)
        ids = [message.id for message in messages]
        client = messages[0].client if messages else ""
        self._store.tell("messages_posted", at, client=client, messages=ids)
        return ids

    def _remove(
        self, queue: Queue, messages: list[Message], now: float, told_as: str, **fields: str | None
    ) -> None:
        self._store.commit(now, Removed(queue.at, [message.number for message in messages]))
        self._store.tell(told_as, queue.at, messages=[message.id for message in messages], **fields)
        self._store.left(queue.at, messages)


def _made(queue: Queue | None, new: Sequence[NewMessage], client: str, now: float) -> list[Message]:
    """The messages to be, with the queue's own ttl and delay where they have none.

    Raises ``BadValueError``.
    """
    metadata = queue.metadata if queue else {}
    number = queue.number if queue else 1
    own_ttl = metadata.get(DEFAULT_TTL) or DEFAULT_MESSAGE_TTL
    own_delay = metadata.get(DEFAULT_DELAY) or 0
    messages: list[Message] = []
    for each in new:
        ttl = own_ttl if each.ttl is None else each.ttl
        delay = own_delay if each.delay is None else each.delay
        checks.message_ttl(ttl)
        checks.message_delay(delay)
        messages.append(
            Message(number, new_uuid(), each.body, ttl, now, now + ttl, now + delay, client=client)
        )
        number += 1
    return messages


def _may_delete(queue: Queue, message: Message, claim: str | None) -> None:
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
