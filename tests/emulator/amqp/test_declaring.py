"""Every declaration and refusal of the tables, as RabbitMQ answers it, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.amqp.wire import methods
from tests.emulator.amqp.calls import queue
from tests.emulator.amqp.declaring_cases import CONSUMERS, EXCHANGES, QUEUES
from tests.emulator.amqp.differences import answer_of
from tests.emulator.amqp.raw_client import RawClient

CASES = QUEUES | EXCHANGES | CONSUMERS


@pytest.mark.parametrize("case", CASES)
def test_what_is_asked_is_answered_as_rabbitmq_does(
    client: RawClient, case: str, version: tuple[int, ...]
) -> None:
    """The last answer of each case; an older server gives its own where that is known."""
    asked, expected = CASES[case]
    answers: list[Any] = [client.ask(method) for method in asked]
    assert answers[-1] == answer_of(version, case, expected)


def test_a_queue_without_a_name_gets_one(client: RawClient) -> None:
    """amq.gen- and 22 characters, another each time."""
    names = [client.ask(queue("", exclusive=True)).queue for _ in range(2)]
    assert [(name[:8], len(name)) for name in names] == [("amq.gen-", 30)] * 2
    assert names[0] != names[1]


def test_what_needs_no_answer_gets_none(client: RawClient) -> None:
    """With nowait, only the next question is answered."""
    assert client.ask(queue(nowait=True)) is None
    assert client.settle() == []
    assert client.ask(queue(passive=True)) == methods.QueueDeclareOk("q1", 0, 0)
