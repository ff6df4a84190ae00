"""The AMQP benchmark measures our broker, RabbitMQ, RabbitMQ behind the relay, and what only answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.bench import amqp, amqp_routing
from tests.bench.amqp import LOADS, Load
from tests.bench.rows import US, Row


def _measure_loads() -> Iterator[Row]:
    return amqp.measure(tuple(Load(size, body, 16) for size, body, _ in LOADS), rounds=1)


def _measure_routing() -> Iterator[Row]:
    return amqp_routing.measure(messages=20, calls=5, rounds=1)


@pytest.mark.rabbitmq
@pytest.mark.parametrize(
    ("measure", "number", "subjects"),
    [
        (_measure_loads, 36, (US, "RabbitMQ", amqp.RELAYED, amqp.LIMIT)),
        (_measure_routing, 6, (US, "RabbitMQ", amqp.RELAYED)),
    ],
)
def test_every_measure_is_taken_of_each_subject(
    measure: Callable[[], Iterator[Row]], number: int, subjects: tuple[str, ...]
) -> None:
    """Three sizes in two modes through one connection and eight; and exchanges and calls."""
    rows = list(measure())
    for subject in subjects:
        assert len({row.measure for row in rows if row.subject == subject}) == number
    assert all(row.value > 0 for row in rows)
    assert {row.subject for row in rows} == set(subjects)
