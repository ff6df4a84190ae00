"""A stack of a contract that is no RDSS: its document goes into the containers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

import pika
import pytest

from rdss_sandbox.client import Client
from tests.compose.stack import bring_up

pytestmark = [pytest.mark.compose, pytest.mark.xdist_group("compose"), pytest.mark.timeout(900)]
DOCUMENT: Final = Path(__file__).parents[1] / "sandbox" / "contract" / "orders.yaml"


def test_a_stack_works_by_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams and queues are those that it declares, and commands and containers judge by it."""
    shutil.copy(DOCUMENT, tmp_path / "asyncapi.yaml")
    with bring_up(tmp_path, "--contract", "asyncapi.yaml") as stack:
        with Client(stack.said["control"], token=stack.said["token"]) as client:
            status = client.status()
        assert status.contract == "orders 1.2.0"
        assert {each.name: each.open_shards for each in status.streams} == {
            "orders.placed": 2,
            "orders.rejected": 1,
            "audit": 1,
        }
        with pika.BlockingConnection(pika.URLParameters(stack.said["amqp"])) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            channel.basic_publish("events", "order.placed", b"{}", mandatory=True)
            assert channel.basic_get("billing", auto_ack=True)[2] == b"{}"
        samples = stack.command("message", "sample", "--count", "6", "--seed", "3")
        (tmp_path / "messages.json").write_text(samples.stdout)
        assert stack.command("send", "messages.json").returncode == 0
        (tmp_path / "bad.json").write_text('{"kind": "placed"}\n')
        assert stack.command("send", "--as-is", "bad.json").returncode == 0
        received = [json.loads(line) for line in stack.command("receive", "--json").stdout.splitlines()]
        assert [each["rejected"]["code"] for each in received if "rejected" in each] == ["invalid"]
        assert len(received) == 7
        monkeypatch.setenv("SANDBOX_CONTRACT_FOLDER", str(tmp_path / ".sandbox" / "contract"))
        monkeypatch.setenv("SANDBOX_CONTRACT", "/etc/sandbox/contract/asyncapi.yaml")
        sample = ("--entrypoint", "sandbox", "pipeline", "message", "sample", "--type", "placed")
        made = stack.compose("run", "--rm", "--no-deps", "--build", *sample)
        assert made.returncode == 0, made.stderr
        assert json.loads(made.stdout.splitlines()[-1])["kind"] == "placed"
