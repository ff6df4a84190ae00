"""One subscription of one session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from emulator.filters import Equality
from emulator.patterns import Pattern
from extensions.topics.engine.outgoing_messages import Message

Test: TypeAlias = Callable[[Any], bool]


class Subscriber(Protocol):
    """The receiver of messages."""

    user: str

    closed: bool

    def deliver(self, message: Message) -> None: ...


class Holdable(Protocol):
    """A record that knows which subscriptions were sent it."""

    holders: dict[TopicSubscription, None]


@dataclass(slots=True, eq=False)
class TopicSubscription:
    """The subscription ``sub_id`` of ``session``, as long as it is ``live``.

    ``pattern`` is set if ``topic`` is a regular expression. ``holds`` is the filter's test, None for all
    messages; ``by_content`` means that it reads fields, ``conditions`` how many are evaluated. ``keys``
    restricts the records, None for all. ``held`` are the records that it was sent and that need an oof
    message when they leave. ``backlog`` counts its leased messages of a queue. ``shape`` encodes the form of
    its messages: subscriptions of one session with the same shape share one message.
    """

    session: Subscriber
    sub_id: str
    topic: str
    pattern: Pattern | None = None
    holds: Test | None = None
    equalities: tuple[Equality, ...] = ()
    by_content: bool = False
    conditions: int = 0
    keys: frozenset[str] | None = None
    oof: bool = False
    delta: bool = False
    no_empties: bool = False
    timestamp: bool = False
    max_backlog: int = 1
    backlog: int = 0
    shape: int = 0
    live: bool = True
    held: set[Holdable] = field(default_factory=set)

    def set_form(self, *, timestamp: bool, delta: bool, no_empties: bool) -> None:
        self.timestamp, self.delta, self.no_empties = timestamp, delta, no_empties
        self.shape = timestamp + 2 * delta + 4 * no_empties

    def hold(self, record: Holdable) -> None:
        """Record that ``record`` was sent, unless sending it ended the subscription."""
        if not self.live:
            return
        record.holders[self] = None
        self.held.add(record)

    def forget(self, record: Holdable) -> None:
        record.holders.pop(self, None)
        self.held.discard(record)
