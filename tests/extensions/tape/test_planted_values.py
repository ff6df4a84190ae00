"""What a sandbox writes while it is recorded: nothing of it has a personal value."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.channels.kinesis import KinesisChannel, connect
from emulator.clock import Clock
from emulator.settings.settings import Settings
from extensions.tape.recording import record_sandbox
from extensions.tape.redaction import Redactor
from extensions.tape.tape_format import FORMAT
from extensions.tape.tape_reader import TapeFile
from extensions.tape.tape_writer import TapeWriter
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.streams import Reshard
from rdss_sandbox.shapes.tape import TapedMessage, TapeMark
from schemas.rdss.contract import RDSS
from tests.extensions.tape.test_redaction import PLANTED, plant, search, unpack
from tests.waiting import wait_until

_AT_ONCE = 100


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Embedded]:
    """A sandbox in front of another one, which stands for AWS and keeps nothing on the disk."""
    with ExitStack() as stack:
        upstream = stack.enter_context(
            embedded(Settings(aws_port=0, control_port=0, data_dir=None, amqp="none"))
        )
        settings = Settings(
            aws_port=0, control_port=0, data_dir=tmp_path / "data", amqp="none", upstream_aws=upstream.aws
        )
        yield stack.enter_context(embedded(settings))


def test_no_file_of_the_sandbox_has_a_planted_value(relay: Embedded, tmp_path: Path) -> None:
    """Of two thousand, in a relay that is watched, struck, resharded and read: tape, events and logs."""
    redactor = Redactor(RDSS, patterns=[rf"{PLANTED}\d+"])
    path = tmp_path / "day.tape"
    messages = list(plant())
    stop = threading.Event()

    def record() -> None:
        with (
            Client(relay.control) as client,
            TapeWriter(path, TapeMark(FORMAT, "1", 0.0), redactor.redact) as tape,
        ):
            record_sandbox(client, tape, stop.is_set, Clock())

    thread = threading.Thread(target=record)
    thread.start()
    try:
        with Client(relay.control) as client, closing(connect(relay.aws)) as kinesis:
            wait_until(lambda: client.recordings.list().recordings)
            for at in range(0, len(messages), _AT_ONCE):
                records: Any = [
                    {"Data": raw, "PartitionKey": key[:256]} for raw, key in messages[at : at + _AT_ONCE]
                ]
                kinesis.put_records(StreamName="input", Records=records)
                client.messages(matching=f"id:{PLANTED}*")
            client.add_fault(NewFault("duplicate", channel="input", when={"first": 3}))
            bad = messages[-1][0].replace(b'"messageId"', f'"{PLANTED}0000"'.encode())
            for body in (bad, messages[-1][0][:-20]):
                kinesis.put_record(StreamName="input", Data=body, PartitionKey=f"{PLANTED}0001")
            client.reshard("input", Reshard("split"))
            with closing(KinesisChannel(kinesis, "input", clock=Clock())) as reader:
                assert reader.read(limit=10_000)
    finally:
        stop.set()
        thread.join()
    taped = [each for each in TapeFile.open(path).read() if isinstance(each, TapedMessage)]
    assert len(taped) >= len(messages) + 2
    # What is no JSON is left out, however often it came.
    assert 1 <= sum(each.body is None for each in taped) <= 2
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert len(files) > 3
    assert [(each, found) for each in files for found in search(each.read_bytes())] == []
    assert not list(search(unpack(path)))
