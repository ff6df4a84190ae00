"""``sandbox record`` as people run it: on a running sandbox, on a stream, on a bucket."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner, Result

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from extensions.tape.record_command import record
from extensions.tape.tape_reader import TapeFile
from rdss_sandbox.client import Client
from rdss_sandbox.files.record_lines import RecordAddress, write_line
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.streams import Reshard
from rdss_sandbox.shapes.tape import TapedChannel, TapedMessage
from sandbox.aws_endpoint import connect_s3
from schemas.bound import CONTRACT
from tests.extensions.tape.test_recording import kinesis
from tests.waiting import wait_until

START = 1_700_000_000.0


@pytest.fixture
def emulator() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, amqp_port=0)) as found:
        yield found


def run(*arguments: object) -> Result:
    return CliRunner().invoke(
        record, list(map(str, arguments)), catch_exceptions=False, standalone_mode=False
    )


def messages(path: Path) -> list[TapedMessage]:
    return [each for each in TapeFile.open(path).read() if isinstance(each, TapedMessage)]


def samples(count: int) -> list[Any]:
    assert CONTRACT.samples is not None
    return list(CONTRACT.samples.from_seed(5, now=START).stream(count))


def put(emulator: Embedded, count: int) -> list[bytes]:
    client, found = kinesis(emulator.aws), []
    for each in samples(count):
        client.put_record(StreamName="input", Data=each.data, PartitionKey=each.key)
        found.append(each.data)
    return found


def test_a_stream_is_read_in_the_order_of_arrival(emulator: Embedded, tmp_path: Path) -> None:
    """Every record of every shard, and the shards themselves, from whatever endpoint."""
    expected = put(emulator, 20)
    path = tmp_path / "stream.tape"
    run("--to", path, "--stream", "input", "--endpoint", emulator.aws, "--bodies", "whole")
    assert [each.body for each in messages(path)] == expected
    assert [each.at for each in messages(path)] == sorted(each.at for each in messages(path))
    (channel,) = [each for each in TapeFile.open(path).read() if isinstance(each, TapedChannel)]
    assert channel.channel == "input"
    assert channel.shards
    assert TapeFile.open(path).mark.source == f"the stream input at {emulator.aws}"


def test_a_stream_that_was_split_has_its_split_where_it_was(emulator: Embedded, tmp_path: Path) -> None:
    """Between the records before it and those after it; and where nothing came after it, at the end."""
    before = put(emulator, 6)
    with Client(emulator.control) as control:
        control.change_clock(ClockChange("advance", seconds=60))
        first, *_ = [each.id for each in control.stream("input").shards]
        control.reshard("input", Reshard("split", shard=first))
        after = put(emulator, 6)
        control.change_clock(ClockChange("advance", seconds=60))
        *_, last = [each.id for each in control.stream("input").shards]
        control.reshard("input", Reshard("split", shard=last))
    path = tmp_path / "split.tape"
    run("--to", path, "--stream", "input", "--endpoint", emulator.aws, "--bodies", "whole")
    entries = [*TapeFile.open(path).read()]
    counts = [len(each.shards) if isinstance(each, TapedChannel) else each.body for each in entries]  # type: ignore[union-attr]
    assert counts[0] == 2
    assert counts[-1] == 4
    split = counts.index(3)
    assert {*counts[1:split]} >= {*before}
    assert {*counts[split + 1 : -1]} <= {*after}


def test_a_stream_is_read_from_a_time_on(emulator: Embedded, tmp_path: Path) -> None:
    """What came before it is not on the tape."""
    put(emulator, 3)
    with Client(emulator.control) as control:
        later = control.change_clock(ClockChange("advance", seconds=60)).time
    expected = put(emulator, 2)
    path = tmp_path / "late.tape"
    run(
        "--to",
        path,
        "--stream",
        "input",
        "--endpoint",
        emulator.aws,
        "--bodies",
        "whole",
        "--from",
        later - 30,
    )
    assert [each.body for each in messages(path)] == expected


def test_the_audit_logs_bucket_is_read_as_its_streams_were_written(
    emulator: Embedded, tmp_path: Path
) -> None:
    """With the stream, shard and number that each message had when it came."""
    s3 = connect_s3(emulator.aws)
    lines = [
        write_line(
            RecordAddress("audit", "shardId-000000000000", str(100 + at)),
            RecordAddress("input", f"shardId-00000000000{at % 2}", str(at)).key,
            START + at,
            each.data,
            None,
        )
        for at, each in enumerate(samples(4))
    ]
    s3.put_object(
        Bucket="rdss-audit", Key="date=2023-11-14/shardId-000000000000/100-103.ndjson", Body=b"".join(lines)
    )
    path = tmp_path / "bucket.tape"
    run("--to", path, "--bucket", "rdss-audit", "--endpoint", emulator.aws, "--bodies", "whole")
    assert [(each.channel, each.shard, each.number, each.at) for each in messages(path)] == [
        ("input", f"shardId-00000000000{at % 2}", str(at), START + at) for at in range(4)
    ]
    assert [each.body for each in messages(path)] == [each.data for each in samples(4)]


def test_what_is_personal_is_replaced_unless_one_says_otherwise(emulator: Embedded, tmp_path: Path) -> None:
    """The messages have the same sizes and ids, and other names in them."""
    expected = put(emulator, 10)
    path = tmp_path / "redacted.tape"
    run("--to", path, "--stream", "input", "--endpoint", emulator.aws)
    found = messages(path)
    assert [each.body for each in found] != expected
    assert [len(each.body or b"") for each in found] == [len(each) for each in expected]
    assert [CONTRACT.peek(each.body or b"").message_id for each in found] == [
        CONTRACT.peek(each).message_id for each in expected
    ]
    assert TapeFile.open(path).mark.bodies == "redacted"


def test_bodies_can_be_left_out(emulator: Embedded, tmp_path: Path) -> None:
    """Their sizes stay, and what the contract lists of a message."""
    expected = put(emulator, 5)
    path = tmp_path / "sizes.tape"
    run("--to", path, "--stream", "input", "--endpoint", emulator.aws, "--bodies", "none")
    assert [(each.body, each.size) for each in messages(path)] == [(None, len(each)) for each in expected]
    assert [each.header["id"] for each in messages(path)] == [
        CONTRACT.peek(each).message_id for each in expected
    ]


def test_a_stream_that_is_not_there_gets_a_sentence(emulator: Embedded, tmp_path: Path) -> None:
    """And the exit code of an environment."""
    with pytest.raises(Exception, match=r"the stream nowhere cannot be read: .*ResourceNotFound"):
        run("--to", tmp_path / "x.tape", "--stream", "nowhere", "--endpoint", emulator.aws)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--stream", "a", "--bucket", "b"), "two recordings"),
        (("--follow",), "are of a stream"),
        (("--from", "2026-01-01T00:00:00Z"), "are of a stream"),
        (("--endpoint", "aws"), "is of a stream or a bucket"),
        (("--bodies", "whole", "--redact", "/a"), "redacts nothing"),
        (("--redact", "a"), "is no JSON Pointer"),
        (("--redact-matching", "("), "is no regular expression"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    """Before anything is written."""
    with pytest.raises(click.UsageError, match=why):
        run("--to", tmp_path / "x.tape", *options)
    assert not (tmp_path / "x.tape").exists()


def test_a_tape_that_is_there_stays(emulator: Embedded, tmp_path: Path) -> None:
    """Nothing is written over it."""
    path = tmp_path / "old.tape"
    path.write_bytes(b"old")
    with pytest.raises(Exception, match="is there already: give a name that is free"):
        run("--to", path, "--control", emulator.control)
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_recorder_that_is_ended_leaves_what_it_heard(
    emulator: Embedded, tmp_path: Path, number: signal.Signals
) -> None:
    """By Ctrl-C, with a tape that is complete; by kill -9, with all but the last second."""
    path = tmp_path / "live.tape"
    command = [
        sys.executable,
        "-m",
        "sandbox",
        "record",
        "--to",
        path,
        "--control",
        emulator.control,
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) as process:
        wait_until(lambda: httpx.get(f"{emulator.control}/recordings").json()["recordings"])
        expected = put(emulator, 5)
        wait_until(lambda: len(messages(path)) == 5)
        process.send_signal(number)
        said, _ = process.communicate()
    assert len(messages(path)) == len(expected)
    if number is signal.SIGINT:
        assert process.returncode == 0
        assert TapeFile.open(path).troubles == []
        assert json.loads(said)["ended"] is None
    else:
        assert "was not closed" in TapeFile.open(path).troubles[0]
