"""The latest changes of topics, for clients that poll instead of subscribing."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import Final

import msgspec

from emulator.clock import Clock
from extensions.topics.engine.client_session import ClientSession
from extensions.topics.engine.commands import SowAndSubscribe, Subscribe
from extensions.topics.engine.outgoing_messages import Ack, Message, OofMessage, PublishMessage
from extensions.topics.topics_service import TopicService
from rdss_sandbox.shapes.topics import OURS, TopicChange, TopicChangePage

_KEPT: Final = 1_000
_WATCHED: Final = 8
_ID: Final = "changes"
_NULL: Final = msgspec.Raw(b"null")


class TopicWatch:
    """Holds subscriptions for polling clients. Thread-safe.

    It keeps the last ``_KEPT`` changes of each of the ``_WATCHED`` most recently used subscriptions. After a
    reset, changes are numbered from 1 again.
    """

    def __init__(self, service: TopicService) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def changes(self, topic: str, filter_: str, after: int, limit: int) -> TopicChangePage:
        """Return up to ``limit`` changes with a number above ``after``, oldest first; subscribe if needed.

        Raises ValueError for a bad filter, and for a queue, since a subscription would take its messages.
        """
        with self._lock:
            kept = self._kept.pop((topic, filter_), None)
            if kept is None or kept.ended:
                subscription = self._subscription(topic, filter_)
                kept = _Kept(self._service.clock)
                kept.session = self._service.session(OURS, kept.take, ended=kept.end)
                kept.session.execute(subscription)
                if kept.refused:
                    self._leave(kept)
                    raise ValueError(kept.refused)
            self._kept[topic, filter_] = kept
            if len(self._kept) > _WATCHED:
                self._leave(self._kept.popitem(last=False)[1])
        return kept.page(after, limit)

    def _subscription(self, topic: str, filter_: str) -> Subscribe | SowAndSubscribe:
        known = {each.name: each for each in self._service.open().summaries()}.get(topic)
        if known is not None and known.kind == "queue":
            raise ValueError(f"{topic!r} is a queue: who watches it would take its messages")
        if known is None or known.records is None:
            return Subscribe(topic=topic, filter=filter_, sub_id=_ID, ack_type="processed")
        return SowAndSubscribe(topic=topic, filter=filter_, opts="oof", sub_id=_ID, ack_type="processed")

    def _leave(self, kept: _Kept) -> None:
        self._service.left(kept.session, kept.end)


class _Kept:
    """The messages of one subscription, numbered from 1."""

    session: ClientSession

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changes: deque[TopicChange] = deque(maxlen=_KEPT)
        self._last = 0
        self.refused = ""
        self.ended = False

    def end(self, _why: str) -> None:
        self.ended = True

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
