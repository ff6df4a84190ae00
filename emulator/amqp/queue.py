"""A queue: what waits in it, who consumes it, and when what is in it expires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from emulator.amqp.message import Entry, Message, count_attempts
from emulator.amqp.queue_arguments import QUORUM, QueueArguments
from emulator.amqp.ready_messages import ReadyMessages
from emulator.amqp.turn import ITEMS_OF_A_STEP, Steps
from emulator.amqp.wire.field_tables import Table
from emulator.journal import DamagedLogError

_MOST_TOGETHER: Final = 64
_MOST_BYTES: Final = 1 << 16
"""Messages, and bytes of their bodies, that one consumer gets at once."""


class ConsumerChannel(Protocol):
    """The channel of a consumer."""

    @property
    def is_writable(self) -> bool:
        """Whether the client reads what it is sent."""

    @property
    def room(self) -> int:
        """How many deliveries that must be acknowledged the channel takes."""

    def deliver(self, consumer: Consumer, entries: Sequence[Entry], messages: Sequence[Message]) -> None: ...
    def notify_cancel(self, consumer: Consumer) -> None: ...


@dataclass(slots=True, eq=False)
class Consumer:
    """A consumer. ``prefetch`` 0 means no limit; ``unacked`` deliveries wait for their acknowledgement."""

    tag: str
    channel: ConsumerChannel
    queue: Queue
    no_ack: bool = False
    exclusive: bool = False
    prefetch: int = 0
    priority: int = 0
    unacked: int = 0
    arguments: Table = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Whether it takes a message now."""
        if not self.channel.is_writable:
            return False
        return self.room > 0

    @property
    def room(self) -> int:
        """How many messages its prefetch, and that of its channel, leave room for."""
        if self.no_ack:
            return ITEMS_OF_A_STEP
        room = self.channel.room
        return min(room, self.prefetch - self.unacked) if self.prefetch else room


class QueueHost(Protocol):
    """What a queue needs of its virtual host."""

    def elapsed(self) -> float: ...
    def load(self, entry: Entry) -> Message: ...
    def keep(self, entry: Entry, message: Message) -> None: ...
    def release(self, entries: Sequence[Entry]) -> None:
        """Give up the messages in memory that are stored."""

    def settle(self, queue: Queue, entries: Sequence[Entry]) -> None:
        """Forget messages for good."""

    def dead_letter(self, queue: Queue, entry: Entry, reason: str) -> None:
        """Send the message on to the queue's dead letter exchange, and settle it."""

    def plan(self, queue: Queue, due: float) -> None:
        """Call the queue's ``run_due`` at this moment."""

    def go_on(self, queue: Queue) -> None:
        """Call the queue's ``proceed`` soon, after other work."""

    @property
    def is_turn_over(self) -> bool:
        """Whether others should have their turn."""


class Delivery(NamedTuple):
    """A message that waits for its acknowledgement. Without a ``consumer`` it was taken by a get."""

    entry: Entry
    queue: Queue
    consumer: Consumer | None


class Queue:
    """A queue. ``id`` is different for each that was ever made. ``owner`` has it for itself alone.

    Messages are numbered as they arrive; one that comes back takes the place of its number.
    """

    def __init__(
        self,
        host: QueueHost,
        identity: int,
        name: str,
        *,
        arguments: QueueArguments,
        table: Table,
        durable: bool,
        auto_delete: bool,
        owner: object,
    ) -> None:
        self._host = host
        self.id = identity
        self.name = name
        self.arguments = arguments
        self.table = table
        self.durable = durable
        self.auto_delete = auto_delete
        self.owner = owner
        self.consumers: list[Consumer] = []
        self.unacked = 0
        self.deleted = False
        self.last_number = 0
        self._ready: dict[int, ReadyMessages] = {0: ReadyMessages()}
        self._ready_bytes = 0
        self._active: Consumer | None = None
        self._planned: float | None = None
        self._used_at = host.elapsed()
        self.touch()

    @property
    def is_quorum(self) -> bool:
        return self.arguments.type == QUORUM

    @property
    def ready(self) -> int:
        """How many messages wait for a consumer."""
        return sum(map(len, self._ready.values()))

    @property
    def ready_bytes(self) -> int:
        return self._ready_bytes

    @property
    def exclusive_consumer(self) -> Consumer | None:
        return next((each for each in self.consumers if each.exclusive), None)

    @property
    def active_consumer(self) -> Consumer | None:
        """The consumer that gets all messages of a queue with a single active one."""
        return self._active

    # Time

    def touch(self) -> None:
        """Note that the queue is used, which puts its own expiry off."""
        self._used_at = self._host.elapsed()
        if self.arguments.expires is not None:
            self._host.plan(self, self._used_at + self.arguments.expires / 1000)

    @property
    def is_unused(self) -> bool:
        """Whether its own expiry has come."""
        expires = self.arguments.expires
        if expires is None or self.consumers:
            return False
        return self._host.elapsed() >= self._used_at + expires / 1000

    def run_due(self) -> None:
        """Do what is due by now: drop messages that have expired."""
        self._planned = None
        self.dispatch()

    def proceed(self) -> None:
        """Go on with what the last turn left."""
        self._drop_overflow()
        self.dispatch()

    def expiry_of(self, message: Message) -> float | None:
        """When a message that arrives now expires; None for never."""
        given = [each for each in (message.ttl, self.arguments.message_ttl) if each is not None]
        return self._host.elapsed() + min(given) / 1000 if given else None

    # Messages in

    def refuses(self, message: Message) -> bool:
        """Whether the queue is full, and turns away what arrives."""
        if self.arguments.overflow == "drop-head":
            return False
        limit, most = self.arguments.max_length, self.arguments.max_bytes
        if limit is not None and self.ready + 1 > limit:
            return True
        return most is not None and self._ready_bytes + len(message.body) > most

    def take(self, entry: Entry, message: Message) -> None:
        """Take a new message."""
        self._host.keep(entry, message)
        if not self._waiting(message.priority).append(entry):
            self._host.release((entry,))
        self._ready_bytes += entry.size
        # First to a consumer that is ready: what it takes is not beyond a limit of what waits.
        self.dispatch(entry)
        if self._drop_overflow():
            self._plan_expiry()

    @property
    def takes_all(self) -> bool:
        """Whether it takes whatever comes, in one order, for as long as it lasts."""
        limits = self.arguments
        return (
            limits.max_length is limits.max_bytes is limits.message_ttl is None
            and not limits.max_priority
            and not self.deleted
        )

    def take_together(self, entries: list[Entry]) -> None:
        """Take new messages that are in memory already, or stored. It ``takes_all``, and none expires."""
        if reduced := self._waiting(0).extend(entries):
            self._host.release(reduced)
        for entry in entries:
            self._ready_bytes += entry.size
        if self.consumers:
            self.dispatch()

    def restore(self, entry: Entry, priority: int) -> None:
        """Take a message that an earlier process stored."""
        self.last_number = max(self.last_number, entry.number)
        self._waiting(priority).append(entry)
        self._ready_bytes += entry.size

    def put_back(self, entries: list[Entry]) -> None:
        """Take messages back that were delivered and not acknowledged, each at its own place."""
        if self.deleted:
            self._host.settle(self, entries)
            return
        self.unacked -= len(entries)
        by_priority: dict[int, list[Entry]] = {}
        limit = self.arguments.delivery_limit
        for entry in entries:
            entry.redelivered = True
            entry.attempts += 1
            if limit is not None and entry.attempts > limit:
                self._host.dead_letter(self, entry, "delivery_limit")
                continue
            # Without priorities the message need not come from the disk for this.
            priority = self._host.load(entry).priority if self.arguments.max_priority else 0
            by_priority.setdefault(priority, []).append(entry)
            self._ready_bytes += entry.size
        for priority, group in by_priority.items():
            self._waiting(priority).put_back(group)
        self._host.go_on(self)

    # Messages out

    def get(self) -> Entry | None:
        """Take the first message out; None when there is none. The caller counts it as unacked."""
        self.touch()
        self._drop_expired(None)
        waiting = self._first_waiting()
        if waiting is None:
            return None
        entry = self._pop(waiting)
        # What has expired behind it is at the head now, and no longer counted.
        self._drop_expired(None)
        return entry

    def load(self, entry: Entry) -> Message:
        """The message as it is delivered: a quorum queue says how often it came back before."""
        message = self._host.load(entry)
        return count_attempts(message, entry.attempts) if self.is_quorum and entry.attempts else message

    def dispatch(self, fresh: Entry | None = None) -> None:
        """Hand messages to the consumers that are ready. ``fresh`` has just come, and expires only after."""
        while not self.deleted and self._drop_expired(fresh):
            waiting = self._first_waiting()
            consumer = self._choose_consumer() if waiting is not None else None
            if waiting is None or consumer is None:
                break
            consumer.channel.deliver(consumer, *self._pop_for(consumer, waiting))
            if self._host.is_turn_over:
                self._host.go_on(self)
                break
        self._drop_fresh(fresh)
        self._plan_expiry()

    def settle(self, entries: Sequence[Entry]) -> None:
        """Forget messages that were acknowledged."""
        self.unacked -= len(entries)
        self._host.settle(self, entries)

    def discard(self, entry: Entry) -> None:
        """Give up a message that a consumer rejected: it is dead-lettered, unless its queue is gone."""
        self.unacked -= 1
        if self.deleted:
            self._host.settle(self, (entry,))
        else:
            self._host.dead_letter(self, entry, "rejected")

    def purge(self) -> Steps:
        """Forget all messages that wait now."""
        # Put aside at once: what comes while the purge takes its turns is none of it.
        drained, self._ready = self._ready, {0: ReadyMessages()}
        self._ready_bytes = 0
        for waiting in drained.values():
            for number, entry in enumerate(waiting.drain(), 1):
                self._host.settle(self, (entry,))
                if not number % ITEMS_OF_A_STEP:
                    yield

    # Consumers

    def add_consumer(self, consumer: Consumer) -> None:
        self.touch()
        self.consumers.append(consumer)
        self.consumers.sort(key=lambda each: -each.priority)
        self._activate()
        self._host.go_on(self)

    def remove_consumer(self, consumer: Consumer) -> bool:
        """Remove a consumer; return whether that was the last of a queue that goes with it."""
        self.touch()
        self.consumers.remove(consumer)
        if self._active is consumer:
            self._active = None
            self._activate()
        self._host.go_on(self)
        return self.auto_delete and not self.consumers

    def notify_consumers(self) -> None:
        """Tell the consumers that the queue was deleted."""
        for consumer in tuple(self.consumers):
            consumer.channel.notify_cancel(consumer)

    def _activate(self) -> None:
        """Name the single active consumer where there is none: one of a higher priority waits its turn."""
        if self.arguments.single_active and self._active is None and self.consumers:
            self._active = self.consumers[0]

    def _choose_consumer(self) -> Consumer | None:
        """The consumer whose turn it is, of the highest priority that takes a message."""
        if self.arguments.single_active:
            return self._active if self._active is not None and self._active.is_ready else None
        for place, consumer in enumerate(self.consumers):
            if consumer.is_ready:
                if len(self.consumers) > 1:
                    self._move_behind_equals(place, consumer)
                return consumer
        return None

    def _move_behind_equals(self, place: int, consumer: Consumer) -> None:
        del self.consumers[place]
        behind = place
        while behind < len(self.consumers) and self.consumers[behind].priority >= consumer.priority:
            behind += 1
        self.consumers.insert(behind, consumer)

    # Inside

    def _waiting(self, priority: int) -> ReadyMessages:
        """The messages that wait with a priority. Without x-max-priority all have the same."""
        level = min(priority, self.arguments.max_priority)
        found = self._ready.get(level)
        if found is None:
            found = self._ready[level] = ReadyMessages()
            # The highest first, as they are delivered.
            self._ready = dict(sorted(self._ready.items(), reverse=True))
        return found

    def _first_waiting(self) -> ReadyMessages | None:
        for waiting in self._ready.values():
            if len(waiting):
                return waiting
        return None

    def _pop(self, waiting: ReadyMessages) -> Entry:
        entry = waiting.pop()
        self._ready_bytes -= entry.size
        return entry

    def _pop_for(self, consumer: Consumer, waiting: ReadyMessages) -> tuple[list[Entry], list[Message]]:
        """Take the first message out, and those behind it where they would go to the same consumer."""
        entries = [self._pop(waiting)]
        messages = [self.load(entries[0])]
        others = len(self.consumers) > 1 and not self.arguments.single_active
        most, left = 1 if others else min(consumer.room, _MOST_TOGETHER), _MOST_BYTES - entries[0].size
        while len(entries) < most and (first := waiting.first) is not None:
            left -= first.size
            if first.expires is not None or left < 0:
                break
            try:
                message = self.load(first)
            except DamagedLogError:
                # By itself, it keeps nobody from the others.
                break
            entries.append(self._pop(waiting))
            messages.append(message)
        return entries, messages

    def _drop_expired(self, fresh: Entry | None) -> bool:
        """Dead-letter what has expired at the heads; return False when there is more than for one turn."""
        now = self._host.elapsed()
        for waiting in tuple(self._ready.values()):
            while (first := waiting.first) is not None and first is not fresh:
                if first.expires is None or first.expires > now:
                    break
                self._host.dead_letter(self, self._pop(waiting), "expired")
                if self._host.is_turn_over:
                    self._host.go_on(self)
                    return False
        return True

    def _drop_fresh(self, fresh: Entry | None) -> None:
        """Dead-letter a message that came with no time to live and found no consumer."""
        if fresh is not None and fresh.expires is not None and not self.deleted:
            self._drop_expired(None)

    def _drop_overflow(self) -> bool:
        """Dead-letter what is beyond the queue's limits; return whether there was anything."""
        limit, most = self.arguments.max_length, self.arguments.max_bytes
        if limit is None and most is None:
            return False
        dropped = False
        while (limit is not None and self.ready > limit) or (most is not None and self._ready_bytes > most):
            # What would be delivered next goes, of the highest priority.
            waiting = self._first_waiting()
            if waiting is None:
                break
            dropped = True
            self._host.dead_letter(self, self._pop(waiting), "maxlen")
            if self._host.is_turn_over:
                self._host.go_on(self)
                break
        return dropped

    def _plan_expiry(self) -> None:
        """Have ``run_due`` called when the first of the heads expires."""
        due = None
        for waiting in self._ready.values():
            head = waiting.first
            if head is not None and head.expires is not None and (due is None or head.expires < due):
                due = head.expires
        if due is not None and (self._planned is None or due < self._planned):
            self._planned = due
            self._host.plan(self, due)
