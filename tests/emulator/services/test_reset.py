"""A reset empties every service, and what it emptied does not come back with the next start."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from rdss_sandbox.client import Client
from tests.emulator.services.conftest import Running, Start
from tests.emulator.services.test_damage import fill, found


def by_control(running: Running) -> None:
    with Client(running.emulator.control) as control:
        control.reset()


def by_moto(running: Running) -> None:
    assert httpx.post(f"{running.emulator.aws}/moto-api/reset", trust_env=False).json() == {"status": "ok"}


def everything(running: Running) -> dict[str, Any]:
    client = running.client
    return {
        "tables": client("dynamodb").list_tables()["TableNames"],
        "queues": [url.rpartition("/")[2] for url in client("sqs").list_queues().get("QueueUrls", ())],
        "topics": client("sns").list_topics()["Topics"],
        "parameters": client("ssm").describe_parameters()["Parameters"],
        "alarms": client("cloudwatch").describe_alarms()["MetricAlarms"],
        "mine": [each["Name"] for each in client("s3").list_buckets()["Buckets"] if each["Name"] == "mine"],
    }


NOTHING = {"tables": [], "queues": [], "topics": [], "parameters": [], "alarms": [], "mine": []}


@pytest.mark.parametrize("reset", [by_control, by_moto])
def test_everything_is_gone_for_good_and_new_things_stay(reset: Any, start: Start) -> None:
    with start() as running:
        fill(running)
        reset(running)
        assert everything(running) == NOTHING
    with start() as running:
        assert everything(running) == NOTHING
        fill(running)
        before = everything(running)
    with start() as running:
        assert everything(running) == before
    with start() as running:
        reset(running)
        assert everything(running) == NOTHING
        fill(running)
    with start() as running:
        assert all(len(values) == 9 for values in found(running)[0].values())
