"""The virtual host: exchanges, queues and bindings by their names, and how a message finds its queues."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from emulator.amqp.dead_letters import bury, is_cycle
from emulator.amqp.exchange import EXCHANGE, QUEUE, Binding, BindingKey, Destination, Exchange
from emulator.amqp.message import Entry, Message
from emulator.amqp.queue import Queue
from emulator.amqp.queue_arguments import QueueArguments, read_arguments
from emulator.amqp.refusals import not_found
from emulator.amqp.store.definitions import Bound, DefinitionLog, ExchangeMade, LastId, QueueMade
from emulator.amqp.store.message_file import MessageOnDisk, Places
from emulator.amqp.store.message_store import MessageStore
from emulator.amqp.turn import ITEMS_OF_A_STEP, Steps, StepsTo, Turn
from emulator.amqp.wire.field_tables import Table, encode_table
from emulator.amqp.wire.properties import Properties
from emulator.clock import Clock
from emulator.priority_queue import PriorityQueue

NAME: Final = "/"
MAX_MESSAGE_SIZE: Final = 16 << 20
"""Bytes of a body: the default of RabbitMQ 4.0."""
PREDECLARED: Final = {
    "": "direct",
    "amq.direct": "direct",
    "amq.fanout": "fanout",
    "amq.topic": "topic",
    "amq.headers": "headers",
    "amq.match": "headers",
    "amq.rabbitmq.trace": "topic",
}


class VirtualHost:
    """Exchanges, queues and their messages. It calls ``wake`` when it has more to do, now or later.

    It is the host of its queues. What it does ends with the ``turn``; the rest is done in later ones.
    """

    def __init__(
        self, clock: Clock, definitions: DefinitionLog, store: MessageStore, wake: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._wake = wake
        self.max_message_size = MAX_MESSAGE_SIZE
        self.definitions = definitions
        self.store = store
        self.exchanges: dict[str, Exchange] = {}
        self.queues: dict[str, Queue] = {}
        self.reply_queues: dict[str, Queue] = {}
        self.last_id = 0
        self.turn = Turn()
        self._due: PriorityQueue[Queue] = PriorityQueue()
        self._busy: dict[Queue, None] = {}
        self._bound_to: dict[Destination, dict[tuple[Exchange, BindingKey], Binding]] = {}
        self._left: deque[Steps] = deque()
        self._is_working = False
        self._add_predeclared()

    # Exchanges and queues

    def find_exchange(self, name: str) -> Exchange:
        """Return an exchange. Raises RefusedError 404."""
        found = self.exchanges.get(name)
        if found is None:
            raise not_found("exchange", name, NAME)
        return found

    def find_queue(self, name: str) -> Queue:
        """Return a queue. Raises RefusedError 404."""
        found = self.queues.get(name)
        if found is None:
            raise not_found("queue", name, NAME)
        return found

    def dead_letter_to(self, name: str, target: str) -> None:
        """Send the dead letters of a queue to another one, as a policy does. Raises RefusedError 404.

        The arguments that the queue was declared with stay, so that it can be declared again.
        """
        queue = self.find_queue(name)
        queue.arguments = queue.arguments._replace(dead_letter_exchange="", dead_letter_key=target)

    def add_exchange(self, exchange: Exchange) -> None:
        if exchange.durable:
            # Written first: what the disk does not take must not be there for anyone.
            self.definitions.add(describe_exchange(exchange))
        self.exchanges[exchange.name] = exchange

    def remove_exchange(self, exchange: Exchange) -> None:
        """Remove an exchange, and the bindings from it and to it."""
        if exchange.durable:
            bindings = [(exchange, binding) for binding in exchange.bindings.values()]
            bindings += self._list_bindings(Destination(EXCHANGE, exchange.name))
            self.definitions.remove(describe_exchange(exchange), *self._describe_bindings(bindings))
        del self.exchanges[exchange.name]
        for key, binding in exchange.bindings.items():
            self._forget_bound(exchange, key, binding)
        # It is found by its name no more, so the log loses none of its bindings a second time.
        self._unbind_all(Destination(EXCHANGE, exchange.name))

    def add_queue(
        self,
        name: str,
        arguments: QueueArguments,
        table: Table,
        *,
        durable: bool,
        auto_delete: bool,
        owner: object,
    ) -> Queue:
        """Create a queue. One that is exclusive ends with its owner's connection, so it is not stored."""
        self.last_id += 1
        queue = Queue(
            self,
            self.last_id,
            name,
            arguments=arguments,
            table=table,
            durable=durable,
            auto_delete=auto_delete,
            owner=owner,
        )
        if is_stored(queue):
            self.definitions.add(describe_queue(queue), LastId(queue.id))
        self.queues[name] = queue
        return queue

    def remove_queue(self, queue: Queue) -> int:
        """Remove a queue, and return how many messages waited in it. The caller notifies its consumers."""
        if is_stored(queue):
            bindings = self._list_bindings(Destination(QUEUE, queue.name))
            self.definitions.remove(describe_queue(queue), *self._describe_bindings(bindings))
        del self.queues[queue.name]
        queue.deleted = True
        self._busy.pop(queue, None)
        count = queue.ready
        if count:
            self.do(queue.purge())
        self._unbind_all(Destination(QUEUE, queue.name))
        return count

    def add_reply_queue(self, name: str, owner: object) -> Queue:
        """Create the queue of one channel's direct replies, which clients can only publish to."""
        self.last_id += 1
        queue = Queue(
            self,
            self.last_id,
            name,
            arguments=read_arguments({}),
            table={},
            durable=False,
            auto_delete=False,
            owner=owner,
        )
        self.reply_queues[name] = queue
        return queue

    def remove_reply_queue(self, queue: Queue) -> None:
        """Remove the queue of a channel's direct replies, and the answers in it."""
        del self.reply_queues[queue.name]
        queue.deleted = True
        self.do(queue.purge())

    # Bindings

    def bind(self, source: Exchange, binding: Binding) -> None:
        if not source.bind(binding):
            return
        self._bound_to.setdefault(binding.destination, {})[source, binding.key] = binding
        if self._is_stored_binding(source, binding):
            self.definitions.add(describe_binding(source, binding))

    def unbind(self, source: Exchange, binding: Binding) -> None:
        """Remove a binding. An exchange that deletes itself goes with the last of its bindings."""
        if not source.unbind(binding):
            return
        self._forget_bound(source, binding.key, binding)
        if self._is_stored_binding(source, binding):
            self.definitions.remove(describe_binding(source, binding))
        if source.auto_delete and not source.bindings and source.name in self.exchanges:
            self.remove_exchange(source)

    def _unbind_all(self, destination: Destination) -> None:
        for source, binding in self._list_bindings(destination):
            self.unbind(source, binding)

    def _list_bindings(self, destination: Destination) -> list[tuple[Exchange, Binding]]:
        """The bindings to a destination, each with its source."""
        return [(source, binding) for (source, _), binding in self._bound_to.get(destination, {}).items()]

    def _describe_bindings(self, bindings: Iterable[tuple[Exchange, Binding]]) -> Iterator[Bound]:
        """Describe those that are stored."""
        return (describe_binding(*each) for each in bindings if self._is_stored_binding(*each))

    def _forget_bound(self, source: Exchange, key: BindingKey, binding: Binding) -> None:
        bound = self._bound_to[binding.destination]
        del bound[source, key]
        if not bound:
            del self._bound_to[binding.destination]

    def _is_stored_binding(self, source: Exchange, binding: Binding) -> bool:
        kind, name = binding.destination
        if kind == EXCHANGE:
            end = self.exchanges.get(name)
            return source.durable and end is not None and end.durable
        queue = self.queues.get(name)
        return source.durable and queue is not None and is_stored(queue)

    # Messages

    def route(self, exchange: Exchange, keys: Iterable[str], properties: bytes) -> StepsTo[list[Queue]]:
        """Find the queues that a message reaches, each once, by way of other exchanges if need be."""
        keys = tuple(keys)
        # The usual case needs no walk.
        if not exchange.name and len(keys) == 1 and (only := self._named(keys[0])) is not None:
            return [only]
        found: dict[Queue, None] = {}
        visits = {exchange.name}
        waiting = [exchange]
        while waiting:
            source = waiting.pop()
            matched = False
            for end in self._match(source, keys, properties):
                if end is None:
                    yield
                    continue
                matched = True
                kind, name = end
                if kind == QUEUE:
                    if (queue := self._named(name)) is not None:
                        found[queue] = None
                # Exchanges may be bound in a circle.
                elif name not in visits and name in self.exchanges:
                    visits.add(name)
                    waiting.append(self.exchanges[name])
            alternate = source.alternate
            if not matched and alternate in self.exchanges and alternate not in visits:
                visits.add(alternate)
                waiting.append(self.exchanges[alternate])
            if waiting:
                yield
        return list(found)

    def find_ends(self, exchange: Exchange, key: str, properties: bytes) -> StepsTo[list[Queue]]:
        """The queues that a declared exchange sends all messages to with this key and these properties.

        It is empty where there are other exchanges on the way, or where each message has another end.
        """
        if exchange.type == "x-local-random":
            return []
        found: dict[Queue, None] = {}
        for end in self._match(exchange, (key,), properties):
            if end is None:
                yield
                continue
            queue = self.queues.get(end.name) if end.kind == QUEUE else None
            if queue is None:
                return []
            found[queue] = None
        return list(found)

    def _named(self, name: str) -> Queue | None:
        """The queue that the default exchange knows by a name."""
        found = self.queues.get(name)
        return self.reply_queues.get(name) if found is None else found

    def _match(
        self, source: Exchange, keys: tuple[str, ...], properties: bytes
    ) -> Iterable[Destination | None]:
        if not source.name:
            return (Destination(QUEUE, key) for key in keys if self._named(key) is not None)
        headers = Properties(properties).headers() if source.type == "headers" else {}
        return source.match(keys, headers)

    def publish(self, message: Message, queues: list[Queue]) -> StepsTo[bool]:
        """Put a message into queues; return False when one of them is full and refuses. Raises OSError."""
        taken = True
        for at in range(0, len(queues), ITEMS_OF_A_STEP):
            if at:
                yield
            takers = []
            for queue in queues[at : at + ITEMS_OF_A_STEP]:
                # It may have gone in a turn between the routing and this one.
                if queue.deleted:
                    continue
                if not queue.refuses(message):
                    takers.append(queue)
                    continue
                taken = False
                if queue.arguments.overflow == "reject-publish-dlx":
                    self.do(self._send_on(queue, message, "maxlen"))
            if takers:
                self._put(message, takers)
        return taken

    def _put(self, message: Message, queues: list[Queue]) -> None:
        places = []
        entries = []
        for queue in queues:
            queue.last_number += 1
            expires = queue.expiry_of(message)
            entries.append(Entry(queue.last_number, None, size=len(message.body), expires=expires))
            # A quorum queue stores all of its messages, whatever their delivery mode.
            if is_stored(queue) and (message.persistent or queue.is_quorum):
                wall = None if expires is None else expires - self.elapsed() + self._clock.time()
                places.append((queue.id, queue.last_number, wall))
        if self.store.is_durable and (places or self.store.is_short_of_memory):
            reference = self.store.append((MessageOnDisk(places, message),), len(queues))
            for entry in entries:
                entry.reference = reference
        for queue, entry in zip(queues, entries, strict=True):
            queue.take(entry, message)

    def put_together(self, messages: Sequence[Message], queues: Sequence[Queue]) -> None:
        """Put messages that do not expire into queues that take all. Raises OSError: none is there.

        They are written in one go, and the first of them is delivered when all have their place.
        """
        stored: list[MessageOnDisk] = []
        is_kept = False
        keeping = [queue for queue in queues if is_stored(queue)]
        # In loops: a comprehension is a call, and mostly there is one message for one queue.
        for at, each in enumerate(messages, 1):
            places: Places = []
            for queue in keeping:
                if each.persistent or queue.is_quorum:
                    places.append((queue.id, queue.last_number + at, None))
            is_kept = is_kept or bool(places)
            stored.append(MessageOnDisk(places, each))
        reference = 0
        if self.store.is_durable and (is_kept or self.store.is_short_of_memory):
            reference = self.store.append(stored, len(queues))
        for queue in queues:
            entries: list[Entry] = []
            for at, each in enumerate(messages):
                queue.last_number += 1
                entries.append(Entry(queue.last_number, None, len(each.body), reference and reference + at))
            self.store.keep_together(entries, messages)
            queue.take_together(entries)

    # What queues need

    def elapsed(self) -> float:
        return self._clock.elapsed()

    def load(self, entry: Entry) -> Message:
        return self.store.load(entry)

    def keep(self, entry: Entry, message: Message) -> None:
        self.store.keep(entry, message)

    def release(self, entries: Sequence[Entry]) -> None:
        self.store.release(entries)

    def settle(self, queue: Queue, entries: Sequence[Entry]) -> None:
        self.store.settle(queue.id, entries, durable=is_stored(queue))

    def note_delivered(self, queue: Queue, entries: Sequence[Entry]) -> None:
        """Note that messages are out with a consumer, and need not be in memory if they are stored."""
        if is_stored(queue):
            self.store.note_delivered(queue.id, entries)

    def dead_letter(self, queue: Queue, entry: Entry, reason: str) -> None:
        if queue.arguments.dead_letter_exchange is None:
            self.settle(queue, (entry,))
        else:
            self.do(self._move_on(queue, entry, reason))

    def _move_on(self, queue: Queue, entry: Entry, reason: str) -> Steps:
        yield from self._send_on(queue, self.store.load(entry), reason)
        # Last: if the process ends before it, the message comes twice and is not lost.
        self.settle(queue, (entry,))

    def _send_on(self, queue: Queue, message: Message, reason: str) -> Steps:
        exchange = self.exchanges.get(queue.arguments.dead_letter_exchange or "")
        if queue.arguments.dead_letter_exchange is None or exchange is None:
            return
        key = queue.arguments.dead_letter_key
        letter = bury(message, queue.name, reason, exchange=exchange.name, key=key, now=self._clock.time())
        keys = (*letter.routing_keys, *letter.hidden_keys)
        targets = yield from self.route(exchange, keys, letter.properties)
        yield from self.publish(letter, [target for target in targets if not is_cycle(letter, target.name)])

    def plan(self, queue: Queue, due: float) -> None:
        earlier = self._due.lowest
        self._due.add(due, queue)
        if earlier is None or due < earlier:
            self._wake()

    def go_on(self, queue: Queue) -> None:
        if not self._busy:
            self._wake()
        self._busy[queue] = None

    # Time and turns

    @property
    def is_turn_over(self) -> bool:
        return self.turn.is_over

    def do(self, steps: Steps) -> None:
        """Do the steps behind all that are left: now as far as the turn goes, and the rest later."""
        self._left.append(steps)
        # A dead letter may bring the next: a chain of them must not be as many calls within each other.
        if not self._is_working:
            self._do_what_is_left()

    def _do_what_is_left(self) -> None:
        self._is_working = True
        try:
            while self._left and not self.turn.is_over:
                steps = self._left.popleft()
                if not self.turn.run(steps):
                    self._left.appendleft(steps)
        finally:
            self._is_working = False
            if self._left:
                self._wake()

    @property
    def next_due(self) -> float | None:
        """When ``run_due`` has something to do, by ``Clock.elapsed``; None for never."""
        return self._due.lowest

    @property
    def is_busy(self) -> bool:
        """Whether ``proceed`` has something to do."""
        return bool(self._busy or self._left) or self.store.is_busy

    def proceed(self) -> None:
        """Do what is left for a turn, let queues hand out messages for another, and files shrink for one."""
        self.turn.begin()
        self._do_what_is_left()
        self.turn.begin()
        for _ in range(len(self._busy)):
            queue = next(iter(self._busy), None)
            if queue is None:
                break
            del self._busy[queue]
            queue.proceed()
            if self.turn.is_over:
                break
        self.turn.begin()
        self.store.proceed(self.turn)

    def run_due(self) -> Iterator[Queue]:
        """Drop what has expired by now, for one turn; yield the queues that were unused for too long."""
        self.turn.begin()
        now = self.elapsed()
        while (due := self._due.lowest) is not None and due <= now:
            queue = self._due.pop()
            if queue.deleted:
                continue
            if queue.is_unused:
                yield queue
            else:
                queue.run_due()
            if self.turn.is_over:
                break

    def clear(self) -> None:
        """Remove every queue and every exchange that was declared, and all messages."""
        for queue in tuple(self.queues.values()):
            self.remove_queue(queue)
        for queue in self.reply_queues.values():
            self.do(queue.purge())
        self.exchanges.clear()
        self._add_predeclared()
        self.store.clear()
        self.definitions.clear()

    def _add_predeclared(self) -> None:
        for name, type_ in PREDECLARED.items():
            self.exchanges[name] = Exchange(name, type_, internal=name == "amq.rabbitmq.trace")


def is_stored(queue: Queue) -> bool:
    """Whether a queue outlives the process."""
    return queue.durable and queue.owner is None


def describe_exchange(exchange: Exchange) -> ExchangeMade:
    arguments = encode_table(exchange.arguments)
    return ExchangeMade(exchange.name, exchange.type, exchange.auto_delete, exchange.internal, arguments)


def describe_queue(queue: Queue) -> QueueMade:
    return QueueMade(queue.id, queue.name, queue.auto_delete, encode_table(queue.table))


def describe_binding(source: Exchange, binding: Binding) -> Bound:
    kind, name = binding.destination
    return Bound(source.name, kind, name, binding.routing_key, encode_table(binding.arguments))
