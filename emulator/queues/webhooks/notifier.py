"""Delivers new messages of queues to their subscribers, and retries failed deliveries."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final

from emulator.clock import Clock
from emulator.events import Events
from emulator.queues.engine import Address, QueueEngine, QueuesError
from emulator.queues.engine.errors import SubscriptionNotThereError
from emulator.queues.engine.subscription import Subscription
from emulator.queues.webhooks.retries import choose_policy, list_waits
from emulator.queues.webhooks.webhook_requests import Notification, build_confirmation, build_message
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.queue_limits import PAGE
from rdss_sandbox.shapes.queues import PROJECT

if TYPE_CHECKING:
    import httpx

_POSTED: Final = ("queue.messages_posted", "queue.messages_arrived")
_MOST_REQUESTS: Final = 16
_ANSWER_SECONDS: Final = 10.0
_IDLE_SECONDS: Final = 3600.0


@dataclass(slots=True)
class _Job:
    """A notification, its subscription, and the waits before its remaining retries, in seconds."""

    at: Address
    subscription: str
    message: str | None
    notification: Notification
    left: list[float]
    attempt: int = 1


@dataclass(order=True, slots=True)
class _Due:
    when: float
    number: int
    job: _Job = field(compare=False)


class Notifier:
    """Notifies subscribers of the messages in queue events. ``start`` it when the queues' port answers.

    With ``confirming``, a subscriber is notified only after it has agreed. Retries wait on the clock.
    """

    def __init__(
        self, queues: QueueEngine, clock: Clock, events: Events, *, confirming: bool = False
    ) -> None:
        self._queues = queues
        self._clock = clock
        self._events = events
        self._confirming = confirming
        self._numbers = count()
        self._news: list[Event] = []
        self._changed_streams: set[str] = set()
        self._due: list[_Due] = []
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_MOST_REQUESTS)
        self._has_subscribers = any(each.subscriptions for each in queues.queues.overview())
        self._woken = False
        self._closed = False
        self._http: httpx.Client | None = None
        self._thread = threading.Thread(target=self._run, name="notifications", daemon=True)

    def start(self) -> None:
        """Begin to notify of messages that are posted from now on."""
        self._thread.start()

    def close(self) -> None:
        """Stop. Pending retries are dropped."""
        self._closed = True
        self._wake()
        self._thread.join(_ANSWER_SECONDS)
        if self._http is not None:
            self._http.close()

    def note_event(self, event: Event) -> None:
        """Note an event for the thread, and return at once."""
        subscribed = event.kind == "queue.subscribed"
        self._has_subscribers |= subscribed
        if subscribed or (self._has_subscribers and event.kind in _POSTED):
            with self._lock:
                self._news.append(event)
            self._wake()

    def note_records(self, stream: str, _shard: str) -> None:
        """Note that a stream has new records, since a view on it may have subscribers. Returns at once."""
        if self._has_subscribers and self._queues.has_view(stream):
            with self._lock:
                self._changed_streams.add(stream)
            self._wake()

    def _wake(self) -> None:
        self._woken = True
        self._clock.nudge()

    def _run(self) -> None:
        while not self._closed:
            self._woken = False
            self._process_news()
            while job := self._pop_due():
                self._send(job)
            self._clock.wait(self._pause_seconds(), lambda: self._woken)

    def _process_news(self) -> None:
        with self._lock:
            news, self._news = self._news, []
            changed, self._changed_streams = self._changed_streams, set()
        if any(any(self._subscriptions(Address(PROJECT, stream))) for stream in changed):
            # On another thread, since a channel may be slow. The arrivals are events, which come back here.
            threading.Thread(target=self._queues.refresh_views, name="views", daemon=True).start()
        for event in news:
            at = Address(event.fields["project"], event.fields["queue"])
            if event.kind == "queue.subscribed":
                self._ask_for_confirmation(at, event.fields["subscription"])
            else:
                self._plan_notifications(at, event.fields["messages"])

    def _pop_due(self) -> _Job | None:
        with self._lock:
            due = self._due and self._due[0].when <= self._clock.time()
            return heapq.heappop(self._due).job if due else None

    def _pause_seconds(self) -> float:
        with self._lock:
            return max(self._due[0].when - self._clock.time(), 0.0) if self._due else _IDLE_SECONDS

    def _plan_notifications(self, at: Address, ids: list[str]) -> None:
        subscriptions = [each for each in self._subscriptions(at) if each.confirmed or not self._confirming]
        if not subscriptions:
            return
        metadata = self._queues.queues.metadata(at)
        for message in self._queues.messages.find_taken(at, ids):
            for each in subscriptions:
                retries = list_waits(choose_policy(metadata, each.options))
                self._schedule(_Job(at, each.id, message.id, build_message(at, each, message), retries), 0.0)

    def _ask_for_confirmation(self, at: Address, id_: str) -> None:
        if not self._confirming:
            return
        path = f"/v2/queues/{at.name}/subscriptions/{id_}/confirm"
        try:
            subscription = self._queues.subscriptions.get(at, id_)
        except SubscriptionNotThereError:
            return
        question = build_confirmation(at, subscription, self._queues.sign(at, [path], ["PUT"], None))
        self._schedule(_Job(at, id_, None, question, list_waits({})), 0.0)

    def _subscriptions(self, at: Address) -> Iterator[Subscription]:
        after = ""
        while page := self._queues.subscriptions.page(at, after=after, limit=PAGE.most):
            yield from page
            after = page[-1].id

    def _schedule(self, job: _Job, wait: float) -> None:
        with self._lock:
            heapq.heappush(self._due, _Due(self._clock.time() + wait, next(self._numbers), job))

    def _send(self, job: _Job) -> None:
        """Deliver on its own thread, so that a slow subscriber does not delay the others."""
        self._slots.acquire()
        threading.Thread(target=self._deliver, args=(job,), name="notification", daemon=True).start()

    def _deliver(self, job: _Job) -> None:
        why = self._post(job.notification)
        self._slots.release()
        if self._closed:
            return
        fields = {
            "project": job.at.project,
            "queue": job.at.name,
            "subscription": job.subscription,
            "subscriber": job.notification.url,
            "message": job.message,
            "attempt": job.attempt,
        }
        if why is None:
            self._events.emit("queue.notified", **fields)
            return
        again = job.left.pop(0) if job.left and self._is_subscribed(job) else None
        if again is not None:
            job.attempt += 1
            self._schedule(job, again)
        self._events.emit("queue.notification_failed", **fields, why=why, again=again)
        self._wake()

    def _is_subscribed(self, job: _Job) -> bool:
        """Whether the subscription still exists."""
        try:
            self._queues.subscriptions.get(job.at, job.subscription)
        except QueuesError:
            return False
        return True

    def _post(self, notification: Notification) -> str | None:
        """Send the request. Returns why it failed, or None. An answer below 500 is not retried."""
        if not notification.url.startswith("http"):
            return "there is no mail here: nothing was sent"  # mailto:
        import httpx

        from emulator.http.outgoing import checked_client

        with self._lock:
            if self._http is None:
                self._http = checked_client(self._queues.destinations, _ANSWER_SECONDS)
        try:
            answer = self._http.post(
                notification.url, content=notification.body, headers=dict(notification.headers)
            )
        except (httpx.HTTPError, httpx.InvalidURL, ValueError, RuntimeError) as error:
            return f"{type(error).__name__}: {error}"
        return None if 200 <= answer.status_code < 500 else f"it answered {answer.status_code}"
