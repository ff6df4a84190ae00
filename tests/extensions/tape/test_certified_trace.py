"""The trace of a certificate as a tape: what passed between the kit and the client."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest
from pika import BlockingConnection, URLParameters

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from extensions.tape.tape_opening import Tape, open_tape
from extensions.tape.tape_reader import BadTapeError
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.tape import TapedChannel, TapedMessage, TapedRead, TapedRefusal
from sandbox.certify.lab import INPUT, Lab, encode_history
from sandbox.certify.queue_lab import QueueLab
from sandbox.cli import main
from schemas.bound import CONTRACT
from schemas.contract import Sample


def samples(count: int) -> list[Sample]:
    assert CONTRACT.samples is not None
    return [
        Sample(each.data, CONTRACT.peek(each.data).message_id or "")
        for each in CONTRACT.samples.from_seed(3, now=1_700_000_000.0).stream(count)
    ]


def trace_of(lab: Lab, folder: Path) -> Tape:
    path = folder / "events.ndjson"
    path.write_bytes(b"".join(encode_history(lab.history)))
    return open_tape(path)


def test_the_messages_and_the_reshards_of_a_trial_are_on_its_tape(tmp_path: Path) -> None:
    """In the order of their times, byte for byte, with what the client read and was refused."""
    lab = Lab(1)
    with lab.running():
        first, second = samples(6)[:3], samples(6)[3:]
        lab.put(first)
        lab.split(lab.open_shards()[0])
        lab.put(second)
        environment = lab.environment
        client = boto3.client(
            "kinesis",
            endpoint_url=environment["AWS_ENDPOINT_URL"],
            region_name="us-east-1",
            aws_access_key_id="certify",
            aws_secret_access_key="certify",
        )
        place = {"StreamName": INPUT, "ShardId": lab.shard_of(second[0].key)}
        token = client.get_shard_iterator(**place, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
        client.get_records(ShardIterator=token)
        with pytest.raises(client.exceptions.InvalidArgumentException):
            client.get_records(ShardIterator="none")
        lab.settle_history()
    tape = trace_of(lab, tmp_path)
    entries = [*tape.read()]
    messages = [each for each in entries if isinstance(each, TapedMessage)]
    assert sorted(each.body or b"" for each in messages) == sorted(each.data for each in (*first, *second))
    assert all(each.key == CONTRACT.peek(each.body or b"").message_id for each in messages)
    assert [len(each.shards) for each in entries if isinstance(each, TapedChannel)] == [2, 3]
    (resharded,) = [each.at for each in entries if isinstance(each, TapedChannel) and len(each.shards) == 3]
    assert {each.body for each in messages if each.at < resharded} == {each.data for each in first}
    reads = [each for each in entries if isinstance(each, TapedRead)]
    assert [(each.operation, each.start) for each in reads][:2] == [
        ("GetShardIterator", "TRIM_HORIZON"),
        ("GetRecords", ""),
    ]
    (refusal,) = [each for each in entries if isinstance(each, TapedRefusal)]
    assert (refusal.operation, refusal.code) == ("GetRecords", "InvalidArgumentException")
    assert [each.at for each in entries] == sorted(each.at for each in entries)


def test_the_trace_of_a_queue_has_its_messages_too(tmp_path: Path) -> None:
    """What the kit put, and what a producer did."""
    lab = QueueLab(1)
    with lab.running():
        first, second = samples(2)
        lab.put([first])
        with BlockingConnection(URLParameters(lab.environment["SANDBOX_AMQP_URL"])) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            channel.basic_publish("", INPUT, second.data)
    messages = [each for each in trace_of(lab, tmp_path).read() if isinstance(each, TapedMessage)]
    assert [each.body for each in messages] == [first.data, second.data]


def test_a_trace_is_replayed_as_a_tape_is(tmp_path: Path) -> None:
    """Into any sandbox: the messages come again, and the stream is split where it was."""
    lab = Lab(1)
    with lab.running():
        lab.put(samples(4)[:2])
        lab.split(lab.open_shards()[0])
        lab.put(samples(4)[2:])
        lab.settle_history()
    trace_of(lab, tmp_path)
    settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp="none")
    with embedded(settings) as emulator, Client(emulator.control) as control:
        asked = [
            "replay-tape",
            str(tmp_path / "events.ndjson"),
            "--speed",
            "max",
            "--control",
            emulator.control,
        ]
        assert main(asked) == 0
        stream = control.stream(INPUT)
        assert stream.records == 4
        assert stream.open_shards == 3


def test_a_trace_without_messages_gets_a_sentence(tmp_path: Path) -> None:
    """As the events of a run of a scenario are, and a file that is something else."""
    path = tmp_path / "events.ndjson"
    path.write_text('{"id": 1, "time": 0.0, "kind": "sandbox.started", "fields": {}}\nno JSON\n')
    with pytest.raises(BadTapeError, match=r"is no tape: the events.ndjson of a certificate has messages"):
        open_tape(path)


def test_a_part_of_a_trace_is_read_by_its_times(tmp_path: Path) -> None:
    """A line that is damaged is left out, and told."""
    path = tmp_path / "events.ndjson"
    rest = '"type": "message", "channel": "input", "body": "eA=="'
    lines = [f'{{"at": {at}, {rest}}}' for at in range(5)]
    path.write_text("\n".join([*lines, '{"type": "message", "at']))
    tape = open_tape(path)
    assert [each.at for each in tape.read(1, 3)] == [1, 2]
    assert tape.troubles == [f"{path} has 1 lines that cannot be read: they are left out"]
