"""Nothing that anybody outside can set drives the terminal of whoever looks at it."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import httpx
import pika
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.installed_extensions import list_ports
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.text.visible_text import visible, visible_lines
from sandbox.cli import main
from tests.sandbox.cli.conftest import needed_by

EVIL = "\x1b]52;c;cm0gLXJmIH4K\x07\x1b[2J\u202e\x9b7m\x08\r\x85\u2066\x7f"
"""OSC 52 writes to the clipboard, CSI 2J clears, RLO turns what follows; then CSI in 8 bits, and others."""
NAME = EVIL.replace("\r", "")
"""RabbitMQ takes line breaks out of the names of queues, and pika then waits for the name that it sent."""
_OWN_STYLES = re.compile(r"\x1b\[(?:0|1|2|3\d|1;3\d|3\d;1)m")


class Terminal(io.TextIOWrapper):
    """A terminal that keeps what it was sent."""

    def __init__(self) -> None:
        self.sent = io.BytesIO()
        super().__init__(self.sent, encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True


@pytest.fixture(scope="module")
def visited() -> Iterator[Embedded]:
    """A sandbox that somebody visited who writes the same into every field that there is."""
    settings = Settings(aws_port=0, control_port=0, amqp_port=0, amqp="embedded", data_dir=None)
    with embedded(settings) as emulator:
        visit_kinesis(emulator)
        visit_amqp(emulator)
        visit_http(emulator)
        with Client(emulator.control) as client:
            client.drain_audit()
        yield emulator


def visit_kinesis(emulator: Embedded) -> None:
    header = {
        "messageId": EVIL,
        "correlationId": EVIL,
        "messageClass": EVIL,
        "messageType": EVIL,
        "errorCode": EVIL,
        "errorDescription": EVIL,
        "messageTimings": {"publishedTimestamp": EVIL},
        "messageSequence": {"sequence": EVIL, "position": 1, "total": 2},
        "version": EVIL,
        EVIL: EVIL,
    }
    from botocore.config import Config

    session = boto3.Session("A" + "x" * 19, "secret", region_name="us-east-1")
    config = Config(user_agent="evil\x9b7m\u202e/1", retries={"total_max_attempts": 1})
    kinesis = session.client("kinesis", endpoint_url=emulator.aws, config=config)
    s3 = session.client("s3", endpoint_url=emulator.aws, config=Config(s3={"addressing_style": "path"}))
    with closing(kinesis), closing(s3):
        for stream in ("input", "error", "invalid"):
            for data in (json.dumps({"messageHeader": header, "messageBody": {EVIL: EVIL}}), EVIL):
                for raw in (data.encode(), json.dumps(header, ensure_ascii=False).encode()):
                    kinesis.put_record(StreamName=stream, PartitionKey="k" + EVIL, Data=raw)
        iterator = kinesis.get_shard_iterator(
            StreamName="input", ShardId="shardId-000000000000", ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        kinesis.get_records(ShardIterator=iterator)
        s3.create_bucket(Bucket="things")
        s3.put_object(Bucket="things", Key=f"k{EVIL}".replace("\r", ""), Body=EVIL.encode())


def visit_amqp(emulator: Embedded) -> None:
    parameters = pika.URLParameters(str(emulator.broker.url))
    parameters.client_properties = {"product": EVIL, "connection_name": EVIL}
    with closing(pika.BlockingConnection(parameters)) as connection:
        channel = connection.channel()
        channel.queue_declare("q" + NAME)
        channel.exchange_declare("x" + NAME, "topic")
        properties = pika.BasicProperties(message_id=EVIL, type=EVIL, app_id=EVIL, headers={EVIL: EVIL})
        channel.basic_publish("", "q" + NAME, EVIL.encode(), properties)
        channel.basic_publish("x" + NAME, EVIL, EVIL.encode(), properties, mandatory=True)
        channel.basic_publish("", "nowhere" + NAME, EVIL.encode(), properties)


def visit_http(emulator: Embedded) -> None:
    who = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": "rdss"}
    with httpx.Client(trust_env=False, headers=who) as http:
        for port in (emulator.control, emulator.aws, *(emulator.urls[name] for name, _ in list_ports())):
            http.get(port, headers={"Host": "evil\u009b7m.example".encode("latin-1")})
            http.get(port, headers={"Origin": "http://evil\u009b7m.example".encode("latin-1")})
        if queues := emulator.urls.get("queues"):
            http.put(f"{queues}/v2/queues/jobs", json={"k": EVIL})
            messages = {"messages": [{"body": EVIL, "ttl": 600}]}
            http.post(f"{queues}/v2/queues/jobs/messages", json=messages)
        if topics := emulator.urls.get("topics"):
            command = {"cmd": "publish", "topic": "t" + EVIL, "data": {"id": EVIL}, "client_name": EVIL}
            http.post(f"{topics}/topics/commands", json=command)
    with Client(emulator.control) as client:
        client.add_fault(NewFault(type="error", channel=EVIL, attributes={"message": EVIL}))


COMMANDS: dict[tuple[str, ...], bool] = {
    ("messages",): True,
    ("messages", "--json"): True,
    ("messages", "--raw"): True,
    ("messages", "--audit", "stream"): True,
    ("claim", "list", "error"): False,
    ("claim", "error"): False,
    ("claim", "error", "--json"): False,
    ("events", "--tail", "1000"): True,
    ("events", "--tail", "1000", "--json"): True,
    ("logs", "--tail", "1000"): True,
    ("diagnose",): False,
    ("diagnose", "--json"): False,
    ("readers",): False,
    ("readers", "--json"): False,
    ("fault", "list"): True,
    ("fault", "list", "--json"): True,
    ("status",): True,
    ("status", "--json"): False,
    ("topic", "list"): False,
    ("snapshot", "list"): False,
    ("prune", "--dry-run", "--keep", "1GB"): False,
    ("claim", EVIL): True,
    ("messages", "--filter", EVIL): True,
    ("logs", EVIL): True,
    (EVIL,): True,
    ("fault", "remove", EVIL): True,
    ("fault", "add", EVIL): True,
    ("snapshot", "save", EVIL): True,
    ("snapshot", "load", EVIL): True,
    ("status", "--control", EVIL): False,
}
"""Every command that prints what others set, and whether the whole of it is in what it prints."""


@pytest.mark.parametrize("where", ["terminal", "pipe"])
@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=needed_by(each[0]), id=visible(" ".join(each))) for each in COMMANDS]
)
def test_no_command_prints_what_a_terminal_obeys(
    command: tuple[str, ...], where: str, visited: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown as escapes, on a terminal and, but for the bytes of messages, in a pipe."""
    alone = command[0] == EVIL or "--control" in command or command == ("logs", EVIL)
    control = () if alone else ("--control", visited.control)
    terminal = Terminal()
    if where == "pipe":
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", terminal)
    main((*command, *control))
    printed = terminal.sent.getvalue().decode()
    if "--raw" in command and where == "pipe":
        assert EVIL in printed
        return
    left = _OWN_STYLES.sub("", printed)
    assert left == visible_lines(left)
    if COMMANDS[command]:
        assert re.search(r"(\\u00|\\x)1b\]52;c;cm0gLXJmIH4K(\\u000|\\x0)7", left), left


def test_json_in_a_pipe_is_the_same_json(visited: Embedded, sandbox: Callable[..., Any]) -> None:
    """What a program reads has the characters themselves."""
    ran = sandbox("fault", "list", "--json", "--control", visited.control)
    assert EVIL in list_texts(json.loads(ran.out))


def list_texts(value: Any) -> list[str]:
    """Every text in a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    return [text for each in value for text in list_texts(each)] if isinstance(value, list) else [value]


def test_escapes_are_those_of_json() -> None:
    """Also beyond the first 65,536 characters; what can be printed stays as it is."""
    text = "a\x1b\x9b\u202e\U000e0041\n\ud83d ok é 漢 😀"
    assert visible(text) == "a\\u001b\\u009b\\u202e\\udb40\\udc41\\u000a\\ud83d ok é 漢 😀"
    assert visible_lines("a\n\tb\x1b") == "a\n\tb\\u001b"
    assert json.loads(f'"{visible(text)}"') == text


def test_styles_are_left_out_where_they_are_not_wanted(
    visited: Embedded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On a terminal the titles of a table are bold; in a pipe and with NO_COLOR they are not."""
    del tmp_path
    for wanted in (True, False):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setenv("NO_COLOR", "" if wanted else "1")
        main(("fault", "list", "--control", visited.control))
        assert (b"\x1b[1m" in terminal.sent.getvalue()) is wanted
