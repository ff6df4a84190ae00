"""Headers over AMQP, of a document whose events are told apart and known by them: no other place has any."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel

from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import MessageRow
from rdss_sandbox.testing import Sandbox

DOCUMENT: Final = Path(__file__).with_name("readings.yaml")
_READ: Final = {
    "cloudEvents:id": "1",
    "cloudEvents:source": "/house",
    "cloudEvents:specversion": "1.0",
    "cloudEvents:type": "meter.read",
}


@pytest.fixture
def readings() -> Iterator[Sandbox]:
    """A sandbox of the document."""
    with Sandbox(contract=str(DOCUMENT), seed=3) as sandbox:
        yield sandbox


@pytest.fixture
def broker(readings: Sandbox) -> Iterator[BlockingChannel]:
    """A channel of a plain client."""
    with pika.BlockingConnection(pika.URLParameters(readings.amqp)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel


def _publish(broker: BlockingChannel, body: bytes = b'{"kwh":3}', **headers: Any) -> None:
    broker.basic_publish("meters", "meter.read", body, pika.BasicProperties(headers=_READ | headers))


def _take(broker: BlockingChannel, queue: str) -> tuple[dict[str, Any], bytes]:
    _, properties, body = broker.basic_get(queue, auto_ack=True)
    headers = {name: value for name, value in properties.headers.items() if name != "partition-key"}
    return headers, body


def _rows(sandbox: Sandbox, count: int = 1) -> list[MessageRow]:
    """The messages of the exchange, once there are so many."""
    rows: list[MessageRow] = []

    def came() -> bool:
        rows[:] = sandbox.client.messages(matching="stream:meters").messages
        return len(rows) == count

    sandbox.wait_until(came)
    return rows


def _run(sandbox: Sandbox, folder: Path, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    variables = {"SANDBOX_CONTROL": sandbox.control, "SANDBOX_CONTRACT": str(DOCUMENT)}
    return subprocess.run(
        [sys.executable, "-m", "sandbox", *words],
        cwd=folder,
        env={**os.environ, **variables},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("headers", "code", "why"),
    [
        ({}, None, ""),
        ({"floor": 12}, "invalid", "$message.header#/floor"),
        ({"cloudEvents:specversion": "0.3"}, "invalid", "$message.header#/cloudEvents:specversion"),
        ({"cloudEvents:type": "meter.stolen"}, "unknown-type", "$message.header#/cloudEvents:type"),
        ({"cloudEvents:type": "meter.failed"}, "invalid", "/kwh"),
        (
            {"cloudEvents:expirytime": "2001-01-01T00:00:00Z"},
            "expired",
            "$message.header#/cloudEvents:expirytime",
        ),
    ],
)
def test_what_passes_is_judged_by_its_headers(
    headers: dict[str, Any], code: str | None, why: str, readings: Sandbox, broker: BlockingChannel
) -> None:
    """The index has id and type from them, and the verdict names the header that is wrong."""
    _publish(broker, **headers)
    (row,) = _rows(readings)
    assert (row.message_id, row.message_type) == ("1", ({**_READ, **headers})["cloudEvents:type"])
    verdict = readings.client.verdict(row.id)
    assert verdict.code == code
    assert [each.path for each in verdict.violations] == ([why] if why else [])


def test_a_message_without_headers_lacks_them(readings: Sandbox, broker: BlockingChannel) -> None:
    """Its transport has headers: that it has none is wrong, as it would not be on a stream."""
    broker.basic_publish("meters", "meter.read", b'{"kwh":3}')
    (row,) = _rows(readings)
    assert readings.client.verdict(row.id).code == "unknown-type"


def test_commands_send_and_receive_headers(
    readings: Sandbox, broker: BlockingChannel, tmp_path: Path
) -> None:
    """A sample goes out with its headers and comes back with them; what is refused has them around it."""
    over = ("--kind", "rabbitmq", "--channel", "readings")
    made = _run(readings, tmp_path, "message", "sample", "--count", "2", "--seed", "3").stdout
    checked = _run(readings, tmp_path, "message", "validate", "-", stdin=made)
    assert checked.returncode == 0, checked.stdout
    assert _run(readings, tmp_path, "send", *over, "-", stdin=made).returncode == 0
    texts = [json.loads(line) for line in made.splitlines()]
    assert _take(broker, "readings")[0] == texts[0]["x-sandbox-headers"]
    _publish(broker, floor=12)
    ran = _run(readings, tmp_path, "receive", *over, "--json")
    received, refused = (json.loads(line) for line in ran.stdout.splitlines())
    assert received == texts[1]
    assert refused["rejected"]["code"] == "invalid"
    _, body = _take(broker, "readings.refused")
    assert json.loads(body)["message"] == {"x-sandbox-headers": {**_READ, "floor": 12}, "message": {"kwh": 3}}
    (inside,) = re.findall(rb'"message":({"x-sandbox-headers.*})}', body)
    again = _run(readings, tmp_path, "send", *over, "--as-is", "-", stdin=inside.decode())
    assert again.returncode == 0, again.stderr
    assert _take(broker, "readings") == ({**_READ, "floor": 12}, b'{"kwh":3}')


def test_a_document_without_streams_names_its_queues(readings: Sandbox, tmp_path: Path) -> None:
    """Where nothing is said of the kind, a stream is meant, and there may be none."""
    for words in (("send", "-"), ("receive",)):
        ran = _run(readings, tmp_path, *words)
        assert ran.returncode == 2
        assert "no stream 'input'" in ran.stderr
        assert "; with --kind rabbitmq the queues readings, readings.refused" in ran.stderr


def test_a_fault_matches_by_what_headers_name(readings: Sandbox, broker: BlockingChannel) -> None:
    """The message with the id in its header is made bad, and no other."""
    match = {"cloudEvents:id": "2"}
    readings.client.add_fault(
        NewFault("mutate", channel="meters", attributes={"code": "invalid"}, when={"match": match})
    )
    for number in ("1", "2"):
        _publish(broker, **{"cloudEvents:id": number})
    assert _take(broker, "readings") == ({**_READ, "cloudEvents:id": "1"}, b'{"kwh":3}')
    assert [readings.client.verdict(row.id).code for row in _rows(readings, 2)] == [None, "invalid"]


@pytest.mark.parametrize("direction", ["publish", "deliver"])
def test_headers_are_broken_in_every_way_and_others_stay(
    direction: str, readings: Sandbox, broker: BlockingChannel
) -> None:
    """One rule of one header or of the payload; what a header's table has beside it keeps type and value."""
    code, count = {"code": "invalid"}, 200
    channel = "meters" if direction == "publish" else "readings"
    readings.client.add_fault(NewFault("mutate", channel=channel, direction=direction, attributes=code))
    others = {"at": datetime(2026, 1, 2, tzinfo=UTC), "deep": {"a": [1, b"\xff"]}, "partition-key": "k"}
    headers = {**_READ, "floor": 4, "cloudEvents:expirytime": "2126-01-01T00:00:00Z", **others}
    properties = pika.BasicProperties(headers=headers, app_id="a meter", content_type="application/json")
    for _ in range(count):
        broker.basic_publish("meters", "meter.read", b'{"kwh":3}', properties)
    broken: dict[str, list[Any]] = {}
    for _ in range(count):
        _, came, body = broker.basic_get("readings", auto_ack=True)
        assert (came.app_id, came.content_type) == ("a meter", "application/json")
        wrong = [name for name in headers if came.headers.get(name) != headers[name]]
        assert len(wrong) == (body == b'{"kwh":3}')
        for name in wrong:
            broken.setdefault(name, []).append(came.headers.get(name))
    assert broken.keys() == headers.keys() - others.keys() - {"cloudEvents:type"}
    for value in (-1, 10, "seventeen", [4]):
        assert value in broken["floor"]
    assert None in broken["cloudEvents:id"]


def test_bad_samples_break_each_rule_of_headers(readings: Sandbox, tmp_path: Path) -> None:
    """What is required is missing, a type, a constant, a format, a bound; one at a time."""
    words = ("message", "sample", "--type", "meter.read", "--bad", "invalid", "--count", "150", "--seed", "3")
    made = _run(readings, tmp_path, *words).stdout
    judged = _run(readings, tmp_path, "message", "validate", "-", "--json", stdin=made)
    found = [json.loads(line)["violations"] for line in judged.stdout.splitlines()]
    at = "$message.header#/cloudEvents:"
    assert {(one["path"], one["rule"]) for one, *_ in found} >= {
        *((at + name, "required") for name in ("id", "source", "specversion")),
        *((at + name, "type") for name in ("id", "source", "time", "expirytime")),
        (f"{at}id", "minLength"),
        (f"{at}specversion", "const"),
        (f"{at}time", "format"),
        *(("$message.header#/floor", rule) for rule in ("minimum", "maximum", "type")),
        ("/kwh", "required"),
    }
