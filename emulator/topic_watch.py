"""The latest changes of topics, for those who look now and then instead of subscribing."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from emulator.clock import Clock
from emulator.topic_resources import TopicChange, TopicChangePage
from emulator.topics import Session
from emulator.topics.commands import SowAndSubscribe
from emulator.topics.messages import Ack, Message, OofMessage, PublishMessage

_KEPT: Final = 1_000
_WATCHED: Final = 8
_NULL: Final = msgspec.Raw(b"null")

Open: TypeAlias = Callable[[Callable[[Message], None]], Session]


class TopicWatch:
    """Subscribes, in a session that ``opened`` gives, to what is asked for, from then on until it is not.

    The last ``_KEPT`` changes of the last ``_WATCHED`` subscriptions are kept. Thread-safe.
    """

    def __init__(self, opened: Open, clock: Clock) -> None:
        self._open = opened
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def changes(self, topic: str, filter_: str, after: int, limit: int) -> TopicChangePage:
        """Up to ``limit`` changes numbered above ``after``, oldest first. ValueError for a bad filter."""
        with self._lock:
            kept = self._kept.pop((topic, filter_), None)
            if kept is None:
                kept = self._subscribed(topic, filter_)
            self._kept[topic, filter_] = kept
            if len(self._kept) > _WATCHED:
                self._kept.popitem(last=False)[1].session.close()
        return kept.page(after, limit)

    def close(self) -> None:
        with self._lock:
            for kept in self._kept.values():
                kept.session.close()
            self._kept.clear()

    def _subscribed(self, topic: str, filter_: str) -> _Kept:
        kept = _Kept(self._clock)
        kept.session = self._open(kept.take)
        kept.session.execute(
            SowAndSubscribe(topic=topic, filter=filter_, opts="oof", sub_id="changes", ack_type="processed")
        )
        if kept.refused:
            kept.session.close()
            raise ValueError(kept.refused)
        return kept


class _Kept:
    """What one subscription was sent, numbered from 1."""

    session: Session

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changes: deque[TopicChange] = deque(maxlen=_KEPT)
        self._last = 0
        self.refused = ""

    def take(self, message: Message) -> None:
        if isinstance(message, Ack) and message.status == "failure":
            self.refused = message.reason
        elif isinstance(message, PublishMessage | OofMessage):
            self._last += 1
            self._changes.append(self._change(message))

    def page(self, after: int, limit: int) -> TopicChangePage:
        held = [change for change in tuple(self._changes) if change.id > after]
        return TopicChangePage(tuple(held[:limit]), self._last)

    def _change(self, message: PublishMessage | OofMessage) -> TopicChange:
        change = TopicChange(
            id=self._last,
            time=self._clock.time(),
            cmd="publish",
            topic=message.topic,
            sow_key=message.sow_key or None,
            correlation_id=message.correlation_id or None,
            data=message.data or _NULL,
        )
        if isinstance(message, OofMessage):
            return msgspec.structs.replace(change, cmd="oof", reason=message.reason)
        return msgspec.structs.replace(
            change, user_id=message.user_id or None, bookmark=message.bookmark or None
        )
