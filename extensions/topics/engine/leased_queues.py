"""Queues: each message goes to one subscriber, which leases it until it acknowledges it.

    update -> waiting --_hand_out--> leased --settle--> taken (logged)
                  ^                     |
                  +-----_give_back------+   end of lease, cancel, end of the subscription

Only ``taken`` is in the log: after a restart, leased messages wait again.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from extensions.topics.engine.command_headers import CommandOptions
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.live_topic import LiveTopic, Withdrawal
from extensions.topics.engine.outgoing_messages import PublishMessage
from extensions.topics.engine.topic_definitions import Queue
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.topic_subscription import Subscriber, Test, TopicSubscription
from extensions.topics.engine.transaction_log import LoggedChange, number_of
from extensions.topics.engine.update import Update
from rdss_sandbox.text.timestamps import timestamp

Discarded: TypeAlias = Literal["time_limit", "forced_expire", "max_cancels"]


class _Lease:
    """A message that ``holder`` has on lease."""

    __slots__ = ("holder", "update")

    def __init__(self, update: Update, holder: TopicSubscription) -> None:
        self.update = update
        self.holder = holder


class MessageQueue:
    """The unacknowledged messages of the topics of ``definition``, by number in the log."""

    def __init__(self, registry: TopicRegistry, topic: LiveTopic, definition: Queue) -> None:
        self._registry = registry
        self._topic = topic
        self._definition = definition
        self._waiting: OrderedDict[int, Update] = OrderedDict()
        self._leased: dict[int, _Lease] = {}
        self._ends: deque[tuple[float, int, _Lease]] = deque()
        self._cancels: dict[int, int] = {}
        self.takers: dict[TopicSubscription, Test | None] = {}

    def __len__(self) -> int:
        return len(self._waiting) + len(self._leased)

    def handle_update(self, update: Update) -> None:
        """Add a message to the queue."""
        self._waiting[update.number] = update
        self._watch(update)
        self._dispatch()

    def handle_withdrawal(self, withdrawal: Withdrawal) -> None:
        """Do nothing: the message of a deleted record stays in the queue."""

    def recall(self, update: Update) -> None:
        """Restore a message that was in the queue before a restart, unparsed."""
        self._waiting[update.number] = update

    def recall_taken(self, numbers: Iterable[int]) -> None:
        """Remove messages that had left the queue before a restart."""
        for number in numbers:
            self._waiting.pop(number, None)

    def finish_recall(self) -> None:
        """Finish the restoring: parse the messages and schedule their expiry."""
        # Only now: most were taken by later entries, and need not be parsed.
        for update in self._waiting.values():
            update.data = self._topic.message_type.parse(update.body)
            self._watch(update)

    def outstanding(self) -> list[Update]:
        """The unacknowledged messages, in the order of the log."""
        leased = {number: lease.update for number, lease in self._leased.items()}
        return [update for _, update in sorted((leased | self._waiting).items())]

    def join(self, subscription: TopicSubscription, test: Test | None) -> None:
        """Have ``subscription`` take messages that pass ``test``, None for all, from now on."""
        self.takers[subscription] = test
        self._dispatch()

    def leave(self, subscription: TopicSubscription) -> None:
        """Stop giving messages to ``subscription``, and return its leased messages to the queue."""
        self.takers.pop(subscription, None)
        held = [number for number, lease in self._leased.items() if lease.holder is subscription]
        self._give_back(held)

    def settle(self, session: Subscriber, bookmarks: list[str], options: CommandOptions) -> int:
        """Acknowledge, cancel or expire leased messages of ``session``; return their number.

        Raises CommandRefusedError if one of them is not on lease; then none is settled.
        """
        numbers: list[int] = []
        for bookmark in dict.fromkeys(bookmarks):
            number = number_of(bookmark)
            lease = None if number is None else self._leased.get(number)
            if number is None or lease is None or lease.holder.session is not session:
                raise CommandRefusedError(
                    "bad bookmark", f"this session has no message {bookmark[:80]!r} on lease"
                )
            numbers.append(number)
        if options.cancel:
            self._cancel(numbers)
        else:
            self._take(numbers)
            if options.expire:
                self._report_discarded(numbers, "forced_expire")
        self._dispatch()
        return len(numbers)

    def _watch(self, update: Update) -> None:
        if update.expires is not None:
            number = update.number
            self._registry.schedule.put(
                update.expires - self._registry.clock.time(), lambda: self._expire(number)
            )

    def _dispatch(self) -> None:
        """Hand out messages while a subscription can take them; without leases each makes room for more."""
        while self._hand_out(self._choose()) and not self._leases:
            pass

    @property
    def _leases(self) -> bool:
        return self._definition.semantics == "at-least-once"

    def _choose(self) -> list[tuple[Update, TopicSubscription]]:
        chosen: list[tuple[Update, TopicSubscription]] = []
        free = [one for one in self.takers if one.backlog < self._most(one) and not one.session.closed]
        for update in self._waiting.values() if free else ():
            taker = next(
                (one for one in free if (test := self.takers[one]) is None or test(update.data)), None
            )
            if taker is None:
                continue
            chosen.append((update, taker))
            taker.backlog += 1
            # Behind the others, so that all have turns.
            free.remove(taker)
            if taker.backlog < self._most(taker):
                free.append(taker)
            if not free:
                break
        return chosen

    def _most(self, taker: TopicSubscription) -> int:
        return min(taker.max_backlog, self._definition.max_backlog)

    def _hand_out(self, chosen: list[tuple[Update, TopicSubscription]]) -> bool:
        """Deliver the chosen messages; return False when there were none."""
        # At most once: what is sent must be out of the queue in the log first.
        if chosen and not self._leases and not self._take_for_good(chosen):
            return False
        messages: list[tuple[TopicSubscription, PublishMessage]] = []
        for update, taker in chosen:
            del self._waiting[update.number]
            until = self._lend(update, taker) if self._leases else ""
            messages.append((taker, self._message(update, taker, until)))
            # The last one served moves to the end, so that takers have turns.
            self.takers[taker] = self.takers.pop(taker)
        # A delivery that fails closes its session, and then its leased messages are handed out again at once.
        for taker, message in messages:
            taker.session.deliver(message)
        return bool(chosen)

    def _take_for_good(self, chosen: list[tuple[Update, TopicSubscription]]) -> bool:
        for _, taker in chosen:
            taker.backlog -= 1
        try:
            self._log_taken([update.number for update, _ in chosen])
        except CommandRefusedError as refused:
            self._registry.events.emit("topic.queue_failed", topic=self._topic.name, reason=refused.reason)
            return False
        return True

    def _message(self, update: Update, taker: TopicSubscription, until: str) -> PublishMessage:
        message = update.message(taker.sub_id, taker, whole=True)
        return msgspec.structs.replace(message, topic=self._topic.name, lease_period=until)

    def _lend(self, update: Update, taker: TopicSubscription) -> str:
        clock, seconds = self._registry.clock, self._definition.lease
        until = clock.elapsed() + seconds
        lease = _Lease(update, taker)
        self._leased[update.number] = lease
        if not self._ends:
            self._registry.schedule.put(seconds, self._end_leases)
        self._ends.append((until, update.number, lease))
        return timestamp(clock.time() + seconds)

    def _end_leases(self) -> None:
        now = self._registry.clock.elapsed()
        over: list[int] = []
        while self._ends:
            until, number, lease = self._ends[0]
            # It may have come back, and be on lease again.
            lasts = self._leased.get(number) is lease
            # All leases are as long, so they end in the order in which they began.
            if lasts and until > now:
                break
            self._ends.popleft()
            if lasts:
                over.append(number)
        if self._ends:
            self._registry.schedule.put(self._ends[0][0] - now, self._end_leases)
        self._give_back(over)

    def _give_back(self, numbers: list[int]) -> None:
        """Return these messages to their places in the queue."""
        # The latest first, so that the earliest ends up at the head.
        for number in sorted(numbers, reverse=True):
            lease = self._leased.pop(number)
            lease.holder.backlog -= 1
            self._waiting[number] = lease.update
            self._waiting.move_to_end(number, last=False)
        if numbers:
            self._dispatch()

    def _cancel(self, numbers: list[int]) -> None:
        most = self._definition.max_cancels
        for number in numbers:
            self._cancels[number] = self._cancels.get(number, 0) + 1
        worn = [one for one in numbers if most is not None and self._cancels[one] >= most]
        if worn:
            self._take(worn)
            self._report_discarded(worn, "max_cancels")
        self._give_back([one for one in numbers if one in self._leased])

    def _expire(self, number: int) -> None:
        if number not in self._waiting and number not in self._leased:
            return
        try:
            self._take([number])
        except CommandRefusedError as refused:
            self._registry.events.emit("topic.queue_failed", topic=self._topic.name, reason=refused.reason)
            # The disk may have room again by then.
            self._registry.schedule.put(1.0, lambda: self._expire(number))
            return
        self._report_discarded([number], "time_limit")
        self._dispatch()

    def _take(self, numbers: list[int]) -> None:
        """Remove these messages from the queue and log that. Raises CommandRefusedError."""
        self._log_taken(numbers)
        for number in numbers:
            self._cancels.pop(number, None)
            self._waiting.pop(number, None)
            lease = self._leased.pop(number, None)
            if lease is not None:
                lease.holder.backlog -= 1

    def _log_taken(self, numbers: list[int]) -> None:
        entry = LoggedChange("taken", self._topic.name, self._registry.clock.time(), numbers=tuple(numbers))
        self._registry.log.append(entry)

    def _report_discarded(self, numbers: list[int], reason: Discarded) -> None:
        self._registry.events.emit(
            "topic.queue_discarded", topic=self._topic.name, count=len(numbers), reason=reason
        )
