"""SQS's queues and messages, as keys and values. What was in flight is visible again when it is restored."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.journal import Change
from emulator.rng import new_uuid
from emulator.services.packing import make, pack, unpack
from emulator.services.places import Places
from emulator.services.swept_values import READING, SweptValues
from emulator.services.touched import Touched, note_touched

_NAME: Final = "sqs"
_MESSAGE_OPERATIONS: Final = (
    "SendMessage",
    "ReceiveMessage",
    "DeleteMessage",
    "ChangeMessageVisibility",
    "PurgeQueue",
)
_APART: Final = frozenset(
    (
        "_messages",
        "_pending_messages",
        "deleted_messages",
        "_messages_lock",
        "dead_letter_queue",
        "lambda_event_source_mappings",
    )
)
_RECEIPTS_KEPT: Final = 10_000
"""How many deleted messages a queue knows by their receipt handles, so that they can be deleted again."""
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode


class SqsState:
    """SQS in moto. A queue has an identity; a message knows the queue that it is in, and its place there."""

    name = _NAME

    def __init__(self) -> None:
        self._settings = SweptValues()
        self._deleted: defaultdict[str, OrderedDict[str, bytes]] = defaultdict(OrderedDict)

    def install(self) -> None:
        from moto.sqs import models

        queues: Any = models.Queue
        messages: Any = models.Message
        backends: Any = models.SQSBackend
        if getattr(queues.add_message, "touches", False):
            return
        add, delete, purge = queues.add_message, queues.delete_message, backends.purge_queue
        received, change = messages.mark_received, messages.change_visibility

        def add_message(queue: Any, message: Any) -> None:
            # A dead letter is the same object in another queue, and is to be gone from the one it leaves.
            _touch(message)
            _identify(queue)
            message.kept_in, message.kept_at = queue.kept_as, _places.next()
            note_touched(_NAME, (queue.kept_as, message))
            add(queue, message)
            if queue.fifo_queue and message not in queue._messages:  # noqa: SLF001 -- it was a duplicate
                message.kept_in = None

        def delete_message(queue: Any, receipt_handle: str) -> None:
            found = [each for each in queue._messages if each.had_receipt_handle(receipt_handle)]  # noqa: SLF001
            _take_out(found)
            delete(queue, receipt_handle)

        def purge_queue(backend: Any, queue_name: str) -> None:
            queue = backend.get_queue(queue_name)
            found = list(queue._messages)  # noqa: SLF001
            purge(backend, queue_name)
            _take_out(found)

        def mark_received(message: Any, *given: Any, **named: Any) -> None:
            _touch(message)
            received(message, *given, **named)

        def change_visibility(message: Any, *given: Any, **named: Any) -> None:
            _touch(message)
            change(message, *given, **named)

        changed: Any = add_message
        changed.touches = True
        queues.add_message, queues.delete_message, backends.purge_queue = changed, delete_message, purge_queue
        messages.mark_received, messages.change_visibility = mark_received, change_visibility

    def restore(self, values: Mapping[bytes, bytes]) -> None:
        from moto.sqs.models import Message

        queues: dict[str, Any] = {}
        messages: list[tuple[str, Any]] = []
        for key, value in values.items():
            kind, *names = _decode(key)
            if kind == "queue":
                self._settings.note([(key, value)])
                queues[names[2]] = _restore_queue(names, unpack(value))
            elif kind == "message":
                messages.append((names[0], make(Message, {**unpack(value), "visible_at": 0.0})))
            else:
                self._deleted[names[0]][names[1]] = value
        for identity, message in sorted(messages, key=lambda each: each[1].kept_at):
            if identity in queues:
                message.kept_in = identity
                _places.use(message.kept_at)
                queues[identity]._messages.append(message)  # noqa: SLF001 -- where moto has them
        for identity in [*self._deleted]:
            if identity not in queues:
                del self._deleted[identity]
                continue
            for receipts in self._deleted[identity].values():
                queues[identity].deleted_messages.update(unpack(receipts))
        _connect_dead_letters(queues.values())

    def changes(self, touched: Touched, units: Iterable[Any]) -> Iterator[Change]:
        action = touched.action
        about_messages = action.startswith(_MESSAGE_OPERATIONS)
        if touched.service == _NAME and not about_messages and not action.startswith(READING):
            yield from self._settings.sweep(_settings())
        for identity, message in units:
            if touched.outdated and not _is_there(identity, message):
                continue
            key = _encode(("message", identity, message.id))
            if message.kept_in == identity:
                yield key, _message_value(message)
                continue
            yield key, None
            if message.kept_in is None and message.receipt_handle:
                yield from self._note_deleted(identity, message)

    def everything(self) -> Iterator[Change]:
        yield from _settings()
        for queue in _queues():
            for message in tuple(queue._messages):  # noqa: SLF001
                if vars(message).get("kept_in") is None:
                    continue
                yield _encode(("message", queue.kept_as, message.id)), _message_value(message)
            for message_id, receipts in self._deleted[queue.kept_as].items():
                yield _deleted_key(queue.kept_as, message_id), receipts

    def settle(self) -> None:
        self._settings.settle()

    def forget(self) -> None:
        self._settings.forget()
        self._deleted.clear()

    def _note_deleted(self, identity: str, message: Any) -> Iterator[Change]:
        """Store the receipt handles of a message that was deleted, and drop the oldest beyond the limit."""
        deleted = self._deleted[identity]
        deleted[message.id] = pack([each for each in message.all_receipt_handles if each])
        yield _deleted_key(identity, message.id), deleted[message.id]
        if len(deleted) > _RECEIPTS_KEPT:
            yield _deleted_key(identity, deleted.popitem(last=False)[0]), None


_places: Final = Places()
# Requests that find a queue at once must give it one identity.
_identifying: Final = threading.Lock()


def _deleted_key(identity: str, message_id: str) -> bytes:
    return _encode(("deleted", identity, message_id))


def _identify(queue: Any) -> None:
    with _identifying:
        if "kept_as" not in vars(queue):
            queue.kept_as = new_uuid()


def _touch(message: Any) -> None:
    """Note that a message changes. One of a sandbox that stores nothing is in no stored queue."""
    if (queue := vars(message).get("kept_in")) is not None:
        note_touched(_NAME, (queue, message))


def _is_there(identity: str, message: Any) -> bool:
    """Whether a message is in a queue of now, not in one of before a load."""
    found = (queue for queue in _queues() if queue.kept_as == identity)
    return any(each is message for queue in found for each in tuple(queue._messages))  # noqa: SLF001


def _take_out(messages: list[Any]) -> None:
    for message in messages:
        _touch(message)
        message.kept_in = None


def _queues() -> Iterator[Any]:
    from moto.sqs.models import sqs_backends

    backend: Any
    for _, _, backend in sqs_backends.iter_backends():
        for queue in tuple(backend.queues.values()):
            _identify(queue)
            yield queue


def _settings() -> Iterator[tuple[bytes, bytes]]:
    for queue in _queues():
        attributes = {name: value for name, value in vars(queue).items() if name not in _APART}
        key = _encode(("queue", queue.account_id, queue.region, queue.kept_as))
        yield key, pack(attributes)


def _message_value(message: Any) -> bytes:
    # Of a copy, for another thread may receive the message meanwhile.
    return pack({name: value for name, value in dict(vars(message)).items() if name != "kept_in"})


def _restore_queue(names: list[Any], attributes: dict[str, Any]) -> Any:
    from moto.sqs.models import Queue, sqs_backends

    account, region, _ = names
    fresh = {
        "_messages": [],
        "_pending_messages": set(),
        "deleted_messages": set(),
        "_messages_lock": threading.Condition(),
        "dead_letter_queue": None,
        "lambda_event_source_mappings": {},
    }
    queue = make(Queue, {**attributes, **fresh})
    sqs_backends[account][region].queues[queue.name] = queue
    return queue


def _connect_dead_letters(queues: Iterable[Any]) -> None:
    by_arn = {queue.queue_arn: queue for queue in queues}
    for queue in by_arn.values():
        policy = getattr(queue, "redrive_policy", None)
        if policy:
            queue.dead_letter_queue = by_arn.get(policy["deadLetterTargetArn"])
