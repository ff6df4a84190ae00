"""Notifications of the sandbox's own buckets, on their way to the queues of an upstream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto.moto_api._internal.models import moto_api_backend
from moto.s3 import notifications
from moto.sqs.models import sqs_backends

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.engine_backend import EngineBackend
from emulator.relay.aws.bucket_notifications import BucketNotifications
from tests.emulator.loop_thread import LoopThread
from tests.emulator.services.test_being_killed import free_port
from tests.waiting import wait_until

ACCOUNT, REGION = "000000000000", "us-east-1"


@pytest.fixture
def events() -> Events:
    return Events(Clock())


@pytest.fixture
def port(events: Events) -> Iterator[int]:
    """The port of an upstream that is not there yet; buckets notify its queues."""
    found = free_port()
    sending = BucketNotifications(f"http://127.0.0.1:{found}", events)
    sending.install()
    yield found
    sending.close()
    moto_api_backend.reset()


@pytest.fixture
def app() -> Iterator[AwsApp]:
    """An AWS port, whose queues are moto's in this process."""
    clock = Clock()
    engine = Engine(None, clock, Events(clock))
    yield AwsApp(EngineBackend(engine, clock), Events(clock))
    engine.close()


def notify(queue: str, said: str) -> None:
    """What moto's S3 does after a put."""
    models: Any = notifications
    models._send_sqs_message(ACCOUNT, {"said": said}, queue, REGION)


def events_of(events: Events, kind: str) -> list[dict[str, Any]]:
    return [event.fields for event in events.since(0) if event.kind == kind]


def test_what_waits_for_the_upstream_is_sent_in_its_order(
    port: int, app: AwsApp, events: Events, loop_thread: LoopThread
) -> None:
    """It is said once that the upstream does not answer."""
    queue = sqs_backends[ACCOUNT][REGION].create_queue("news", {})
    for said in ("first", "second", "third"):
        notify("news", said)
    wait_until(lambda: bool(events_of(events, "s3.notifications.waiting")))
    loop_thread.serve(app, port)
    wait_until(lambda: len(queue.messages) == 3)
    assert [message.body for message in queue.messages] == [
        f'{{"said": "{said}"}}' for said in ("first", "second", "third")
    ]
    assert len(events_of(events, "s3.notifications.waiting")) == 1


def test_what_the_upstream_refuses_does_not_hold_up_the_others(
    port: int, app: AwsApp, events: Events, loop_thread: LoopThread
) -> None:
    """A queue that is not there is named in an event."""
    loop_thread.serve(app, port)
    queue = sqs_backends[ACCOUNT][REGION].create_queue("news", {})
    notify("nowhere", "lost")
    notify("news", "sent")
    wait_until(lambda: len(queue.messages) == 1)
    (dropped,) = events_of(events, "s3.notification.dropped")
    assert dropped["destination"] == "nowhere"


def test_moto_has_its_own_notifications_back_afterwards(events: Events) -> None:
    """Another sandbox of this process sends to its own queues."""
    before = vars(notifications)["_send_sqs_message"]
    sending = BucketNotifications("http://127.0.0.1:9", events)
    sending.install()
    assert vars(notifications)["_send_sqs_message"] is not before
    sending.close()
    assert vars(notifications)["_send_sqs_message"] is before
