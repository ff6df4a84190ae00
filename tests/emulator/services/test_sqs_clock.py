"""SQS on the sandbox's clock."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock, stopwatch
from emulator.settings.settings import Settings
from tests.emulator.services.conftest import client_of

NOON = 1_780_000_000.0
DAY = 24 * 3600


@pytest.fixture
def emulator() -> Iterator[Embedded]:
    settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp="none")
    with embedded(settings, Clock(frozen_at=NOON)) as running:
        yield running


def queue_of(emulator: Embedded, **attributes: str) -> tuple[Any, str]:
    sqs = client_of(emulator.aws, "sqs")
    return sqs, sqs.create_queue(QueueName="timed", Attributes=attributes)["QueueUrl"]


def bodies(sqs: Any, url: str, **given: Any) -> list[str]:
    return [each["Body"] for each in sqs.receive_message(QueueUrl=url, **given).get("Messages", [])]


def test_a_message_is_hidden_until_the_clock_has_gone_on(emulator: Embedded) -> None:
    """For its visibility time-out, and before that for its delay; it is dropped after its retention."""
    sqs, url = queue_of(emulator, VisibilityTimeout="600", MessageRetentionPeriod=str(DAY))
    sqs.send_message(QueueUrl=url, MessageBody="a", DelaySeconds=300)
    clock = emulator.components.clock
    assert bodies(sqs, url) == []
    clock.advance(301)
    assert bodies(sqs, url) == ["a"]
    clock.advance(599)
    assert bodies(sqs, url) == []
    clock.advance(2)
    assert bodies(sqs, url) == ["a"]
    clock.advance(DAY)
    assert bodies(sqs, url) == []


def test_a_long_poll_ends_while_the_clock_stands(emulator: Embedded) -> None:
    """After the seconds that its client gave, and with what the clock brings meanwhile."""
    sqs, url = queue_of(emulator, VisibilityTimeout="60")
    began = stopwatch()
    assert bodies(sqs, url, WaitTimeSeconds=1) == []
    assert stopwatch() - began >= 1
    sqs.send_message(QueueUrl=url, MessageBody="a")
    assert bodies(sqs, url) == ["a"]
    found: list[str] = []
    poll = Thread(target=lambda: found.extend(bodies(sqs, url, WaitTimeSeconds=20)))
    poll.start()
    emulator.components.clock.advance(61)
    poll.join(15)
    assert found == ["a"]
