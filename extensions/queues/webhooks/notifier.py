"""Delivers new messages of queues to their subscribers, and retries failed deliveries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from emulator.clock import Clock
from emulator.events import Events
from emulator.scheduler import Scheduler
from extensions.queues.engine import Address, QueueEngine, QueuesError
from extensions.queues.engine.queue_errors import SubscriptionNotThereError
from extensions.queues.engine.queue_metadata import LONGEST_DELAY, RETRY_POLICY, SHORTEST_DELAY
from extensions.queues.engine.subscription import Subscription
from extensions.queues.webhooks.webhook_requests import Notification, build_confirmation, build_message
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.queue_limits import PAGE

if TYPE_CHECKING:
    import httpx


_POSTED: Final = ("queue.messages_posted", "queue.messages_arrived")
_MOST_REQUESTS: Final = 16
_ANSWER_SECONDS: Final = 10.0


@dataclass(slots=True)
class _Job:
    """A notification, its subscription, and the waits before its remaining retries, in seconds."""

    at: Address
    subscription: str
    message: str | None
    notification: Notification
    left: list[float]
    attempt: int = 1


class Notifier:
    """Notifies subscribers of the messages in queue events.

    With ``confirming``, a subscriber is notified only after it has agreed. Retries wait on the clock.
    """

    def __init__(
        self, queues: QueueEngine, clock: Clock, events: Events, *, confirming: bool = False
    ) -> None:
        self._queues = queues
        self._events = events
        self._confirming = confirming
        self._scheduler = Scheduler(clock, "notifications", self._emit_failure)
        # Those that agreed behind the postings that the scheduler still has.
        self._agreed_since: set[str] = set()
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_MOST_REQUESTS)
        self._has_subscribers = any(each.subscriptions for each in queues.queues.overview())
        self._closed = False
        self._http: httpx.Client | None = None

    def close(self) -> None:
        """Stop. Pending retries are dropped."""
        self._closed = True
        self._scheduler.close()
        if self._http is not None:
            self._http.close()

    def note_event(self, event: Event) -> None:
        """Note an event for the scheduler, and return at once."""
        if event.kind == "queue.subscribed":
            self._has_subscribers = True
            self._scheduler.later(0.0, partial(self._ask_for_confirmation, event))
        elif event.kind == "queue.subscription_confirmed" and event.fields["confirmed"]:
            self._agreed_since.add(event.fields["subscription"])
            self._scheduler.later(0.0, partial(self._agreed_since.discard, event.fields["subscription"]))
        elif self._has_subscribers and event.kind in _POSTED:
            self._scheduler.later(0.0, partial(self._plan_notifications, event))

    def _plan_notifications(self, event: Event) -> None:
        at = Address(event.fields["project"], event.fields["queue"])
        subscriptions = [
            each
            for each in self._subscriptions(at)
            if not self._confirming or (each.confirmed and each.id not in self._agreed_since)
        ]
        if not subscriptions:
            return
        metadata = self._queues.queues.metadata(at)
        for message in self._queues.messages.find_taken(at, event.fields["messages"]):
            for each in subscriptions:
                retries = list_waits(choose_policy(metadata, each.options))
                self._send(_Job(at, each.id, message.id, build_message(at, each, message), retries))

    def _ask_for_confirmation(self, event: Event) -> None:
        if not self._confirming:
            return
        at, id_ = Address(event.fields["project"], event.fields["queue"]), event.fields["subscription"]
        path = f"/v2/queues/{at.name}/subscriptions/{id_}/confirm"
        try:
            subscription = self._queues.subscriptions.get(at, id_)
        except SubscriptionNotThereError:
            return
        question = build_confirmation(at, subscription, self._queues.sign(at, [path], ["PUT"], None))
        self._send(_Job(at, id_, None, question, list_waits({})))

    def _subscriptions(self, at: Address) -> Iterator[Subscription]:
        after = ""
        while page := self._queues.subscriptions.page(at, after=after, limit=PAGE.most):
            yield from page
            after = page[-1].id

    def _send(self, job: _Job) -> None:
        """Deliver on its own thread, so that a slow subscriber does not delay the others."""
        if self._closed:
            return
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
            self._scheduler.later(again, partial(self._send, job))
        self._events.emit("queue.notification_failed", **fields, why=why, again=again)

    def _emit_failure(self, error: Exception) -> None:
        self._events.emit("queues.failed", why=str(error) or repr(error))

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


_STEP_SECONDS: Final = 5
_DEFAULT_RETRIES: Final = 3


def choose_policy(queue: Mapping[str, Any], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Choose the retry policy: the subscription's own, unless the queue's policy forbids that."""
    of_queue = queue.get(RETRY_POLICY) or {}
    own = options.get(RETRY_POLICY) or {}
    return of_queue if of_queue.get("ignore_subscription_override") else own or of_queue


def list_waits(policy: Mapping[str, Any]) -> list[float]:
    """List the seconds to wait before each retry, in four phases.

    The retries come at once, then after the shortest delay, then after delays that grow from the shortest to
    the longest by the policy's function, then after the longest delay.
    """
    shortest = policy.get("minimum_delay") or SHORTEST_DELAY
    longest = policy.get("maximum_delay") or LONGEST_DELAY
    growing = _BACKOFFS[policy.get("retry_backoff_function") or "linear"]
    steps = max((longest - shortest) // _STEP_SECONDS, 2)
    return [
        *[0.0] * _count(policy, "retries_with_no_delay"),
        *[float(shortest)] * _count(policy, "minimum_delay_retries"),
        *[growing(shortest, longest, step, steps) for step in range(steps)],
        *[float(longest)] * _count(policy, "maximum_delay_retries"),
    ]


def _count(policy: Mapping[str, Any], name: str) -> int:
    return max(int(policy.get(name) or _DEFAULT_RETRIES), 0)


def _linear(shortest: float, longest: float, step: int, steps: int) -> float:
    return shortest + (longest - shortest) * step / steps


def _arithmetic(shortest: float, longest: float, step: int, steps: int) -> float:
    """The increase grows by the same amount each time."""
    return shortest + (longest - shortest) * step * (step + 1) / (steps * (steps + 1))


def _geometric(shortest: float, longest: float, step: int, steps: int) -> float:
    """Each delay is the one before times the same factor; the last is the longest."""
    return float(shortest * (longest / shortest) ** (step / (steps - 1)))


_BACKOFFS: Final[Mapping[str, Callable[[float, float, int, int], float]]] = {
    "linear": _linear,
    "arithmetic": _arithmetic,
    "geometric": _geometric,
    "exponential": _geometric,
}
