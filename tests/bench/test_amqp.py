"""The AMQP benchmark measures our own broker, RabbitMQ, and RabbitMQ behind the relay."""

from __future__ import annotations

import pytest

from tests.bench import amqp
from tests.bench.rows import US


@pytest.mark.rabbitmq
def test_every_measure_is_taken_of_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the six, for all three."""
    monkeypatch.setattr(amqp, "CONFIRMED", 20)
    rows = list(amqp.measure(messages=50, rounds=1))
    measures = {row.measure for row in rows if row.subject == US}
    assert len(measures) == 6
    assert measures == {row.measure for row in rows if row.subject == "RabbitMQ"}
    assert measures == {row.measure for row in rows if row.subject == amqp.RELAYED}
    assert all(row.value > 0 for row in rows)
