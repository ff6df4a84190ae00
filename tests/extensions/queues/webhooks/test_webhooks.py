"""Subscribers of queues, told over HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from extensions.queues.engine import Address
from extensions.queues.engine.subscription import Subscription
from extensions.queues.settings import QueueSettings
from extensions.queues.webhooks.notifier import Notifier
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.queues import PROJECT
from rdss_sandbox.shapes.topology import Topology
from tests.extensions.queues.webhooks.conftest import Subscriber

TOPOLOGY = Topology(streams={"input": 1, "error": 1}, archives={"error": "rdss-error"})
WHO = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": PROJECT}


def settings(**given: Any) -> Settings:
    return Settings(aws_port=0, control_port=0, data_dir=None, topology=TOPOLOGY, **given)


@pytest.fixture
def clock() -> Clock:
    return Clock(frozen_at=1_790_000_000.0)


@pytest.fixture
def emulator(clock: Clock) -> Iterator[Embedded]:
    with embedded(settings(), clock) as emulator:
        yield emulator


@pytest.fixture
def ask(emulator: Embedded) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{emulator.urls['queues']}/v2/queues", headers=WHO) as client:
        yield client


def subscribe(ask: httpx.Client, url: str, queue: str = "hook", **options: Any) -> str:
    made = ask.post(f"/{queue}/subscriptions", json={"subscriber": url, "ttl": 3600, "options": options})
    assert made.status_code == 201
    return str(made.json()["subscription_id"])


def post(ask: httpx.Client, *bodies: Any, queue: str = "hook") -> None:
    messages = [{"body": body, "ttl": 120} for body in bodies]
    assert ask.post(f"/{queue}/messages", json={"messages": messages}).status_code == 201


def test_a_message_is_told_and_stays_in_the_queue(ask: httpx.Client, subscriber: Subscriber) -> None:
    """With its body, its ttl and its queue's name."""
    subscribe(ask, subscriber.url)
    post(ask, {"n": 1})
    told = subscriber.next()
    assert told.body == {
        "body": {"n": 1},
        "ttl": 120,
        "queue_name": "hook",
        "Message_Type": "Notification",
    }
    assert ask.get("/hook/messages?echo=true").json()["messages"][0]["body"] == {"n": 1}


def test_a_subscriber_says_how_it_wants_to_be_told(ask: httpx.Client, subscriber: Subscriber) -> None:
    """Headers of its own, and a text of its own around the message."""
    subscribe(
        ask,
        subscriber.url,
        post_headers={"X-Token": "secret"},
        post_data='{"text": "$zaqar_message$", "from": "queue"}',
    )
    post(ask, 7)
    told = subscriber.next()
    assert told.headers["X-Token"] == "secret"
    assert (told.body["text"]["body"], told.body["from"]) == (7, "queue")


def test_who_fails_is_tried_again_and_waited_for_on_the_clock(
    ask: httpx.Client, subscriber: Subscriber, clock: Clock, emulator: Embedded
) -> None:
    """Four tries at once; the fifth after five seconds of the clock, and no sooner."""
    subscriber.answers = [500, 503, 500, 500]
    waiting = threading.Event()

    def note(event: Event) -> None:
        if event.kind == "queue.notification_failed" and event.fields["again"]:
            waiting.set()

    with emulator.components.events.subscribed(note):
        subscribe(ask, subscriber.url)
        post(ask, 1)
        assert waiting.wait(60)
    for _ in range(4):
        subscriber.next()
    clock.advance(4.9)
    post(ask, 2)
    assert subscriber.next().body["body"] == 2
    assert subscriber.idle
    clock.advance(0.2)
    assert subscriber.next().body["body"] == 1


@pytest.mark.parametrize("status", [200, 204, 302, 404, 499])
def test_an_answer_that_is_meant_ends_it(
    ask: httpx.Client, subscriber: Subscriber, emulator: Embedded, status: int
) -> None:
    """Whatever is not a failure of the subscriber's server is an answer: nothing comes again."""
    subscriber.answers = [status]
    done = threading.Event()
    with emulator.components.events.subscribed(
        lambda event: done.set() if event.kind == "queue.notified" else None
    ):
        subscribe(ask, subscriber.url)
        post(ask, 1)
        assert done.wait(60)
    subscriber.next()
    assert subscriber.idle


def test_after_the_last_retry_the_event_says_so(ask: httpx.Client, emulator: Embedded, clock: Clock) -> None:
    """Fifteen tries in all, each with its reason; the last says that there will be no other."""
    failed: list[dict[str, Any]] = []
    tried, over = threading.Semaphore(0), threading.Event()

    def note(event: Event) -> None:
        if event.kind == "queue.notification_failed":
            failed.append(event.fields)
            if event.fields["again"] is None:
                over.set()
            tried.release()

    with emulator.components.events.subscribed(note):
        subscribe(ask, "http://127.0.0.1:1/nobody")
        post(ask, 1)
        while not over.is_set():
            assert tried.acquire(timeout=60)
            clock.advance(failed[-1]["again"] or 0)
    assert [each["attempt"] for each in failed] == list(range(1, 16))
    assert "ConnectError" in failed[0]["why"]


def test_who_unsubscribes_is_told_no_more(ask: httpx.Client, subscriber: Subscriber) -> None:
    """Another subscriber still is."""
    id_ = subscribe(ask, subscriber.url)
    subscribe(ask, f"{subscriber.url}/other")
    ask.delete(f"/hook/subscriptions/{id_}")
    post(ask, 1)
    subscriber.next()
    post(ask, 2)
    assert subscriber.next().body["body"] == 2
    assert subscriber.idle


def test_what_lands_in_the_error_queue_is_told(
    ask: httpx.Client, subscriber: Subscriber, emulator: Embedded
) -> None:
    """A view tells its subscribers of the stream's records, though nobody asks the queue."""
    subscribe(ask, subscriber.url, queue="error")
    record = {"StreamName": "error", "Data": b'{"n": 1}', "PartitionKey": "1"}
    emulator.components.streams.call("PutRecord", record, emulator.components.home)
    told = subscriber.next()
    assert (told.body["queue_name"], told.body["body"]) == ("error", {"n": 1})


def test_subscriptions_that_must_be_confirmed(
    subscriber: Subscriber, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The subscriber is asked, agrees with the signed request that it was sent, and is told from then on.

    So it is too when the notifier comes to what was posted before only after the agreement.
    """
    agreed, subscriptions = threading.Event(), Notifier._subscriptions

    def wait_for_agreement(notifier: Notifier, at: Address) -> Iterator[Subscription]:
        assert agreed.wait(60)
        return subscriptions(notifier, at)

    monkeypatch.setattr(Notifier, "_subscriptions", wait_for_agreement)
    with (
        embedded(settings(extensions=(QueueSettings(confirm_subscriptions=True),)), clock) as emulator,
        httpx.Client(base_url=f"{emulator.urls['queues']}/v2/queues", headers=WHO) as ask,
    ):
        id_ = subscribe(ask, subscriber.url)
        question = subscriber.next().body
        assert question["Message_Type"] == "SubscriptionConfirmation"
        post(ask, "too soon")
        signed = {name: question[name] for name in question if name.startswith("URL-")}
        answer = httpx.put(
            f"{emulator.urls['queues']}{question['URL-Paths']}",
            headers=WHO | signed,
            json=question["SubscribeBody"],
        )
        assert answer.status_code == 204
        assert ask.get(f"/hook/subscriptions/{id_}").json()["confirmed"] is True
        agreed.set()
        post(ask, "now")
        assert subscriber.next().body["body"] == "now"
        assert subscriber.idle
