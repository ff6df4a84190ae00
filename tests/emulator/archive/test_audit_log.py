"""The audit log where it lies: entries of the stream, and of the objects in the bucket, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import boto3
import msgspec
import pytest

from emulator.archive.audit_objects import AuditObjects
from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import DEFAULT_TOPOLOGY, Settings
from rdss_sandbox.api.audit import AuditMessages
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.audit import AuditPlace
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.messages import MessagePage, NewMessage
from rdss_sandbox.shapes.topology import AuditTap, Topology
from rdss_sandbox.transports import Blocking
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.waiting import wait_until

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PLACES: tuple[AuditPlace, ...] = ("stream", "bucket")


@pytest.fixture(scope="module")
def running() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        yield emulator


@pytest.fixture
def sandbox(running: Embedded) -> Iterator[Client]:
    with Client(running.control) as client:
        client.reset()
        yield client


@pytest.fixture
def s3(running: Embedded) -> S3Client:
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
    return boto3.client("s3", endpoint_url=running.aws, **keys)


def send(sandbox: Client, *streams: str) -> list[bytes]:
    """A message into each stream; they are in the audit bucket afterwards."""
    samples = Samples(3)
    made = [serialise(samples.message()) for _ in streams]
    for data, stream in zip(made, streams, strict=True):
        sandbox.send(NewMessage(stream, data))
    sandbox.drain_audit()
    return made


def listed(log: AuditMessages[Blocking], count: int) -> MessagePage:
    """The page of everything once so many entries are indexed, which may take several requests."""
    wait_until(lambda: log.messages().total >= count, shown=lambda: log.messages().total)
    page = log.messages()
    assert page.total == count
    return page


@pytest.mark.parametrize("place", PLACES)
def test_every_entry_is_listed_whole_and_in_order(sandbox: Client, place: AuditPlace) -> None:
    """With the place that it was copied from, and its bytes; one at a time and as NDJSON."""
    made = send(sandbox, "input", "output", "error")
    log = sandbox.audit(place)
    page = listed(log, 3)
    assert sorted(row.partition_key.partition("/")[0] for row in page.messages) == [
        "error",
        "input",
        "output",
    ]
    assert {(log.message(row.id).raw or "").encode() for row in page.messages} == {*made}
    assert {*b"".join(log.export()).splitlines()} == {*made}


@pytest.mark.parametrize("place", PLACES)
def test_entries_are_found_and_paged(sandbox: Client, place: AuditPlace) -> None:
    """By the filter language of the message list, and a page at a time."""
    send(sandbox, *["input"] * 20, "output")
    log = sandbox.audit(place)
    listed(log, 21)
    assert log.messages(matching="key:output/*").total == 1
    assert [row.id for row in log.messages(after=18).messages] == [19, 20, 21]
    assert len(log.messages(offset=5, limit=7).messages) == 7
    with pytest.raises(RefusedError, match="filter"):
        log.messages(matching="nosuch:1")


def test_a_message_that_goes_on_to_a_queue_is_no_duplicate(sandbox: Client) -> None:
    """A duplicate is one that came twice in the same stream, in the audit log too."""
    (data,) = send(sandbox, "input")
    sandbox.send(NewMessage("error", data))
    sandbox.send(NewMessage("input", data))
    sandbox.drain_audit()
    found = [
        (row.partition_key.partition("/")[0], "duplicate" in row.marks)
        for row in listed(sandbox.audit("stream"), 3).messages
    ]
    assert sorted(found) == [("error", False), ("input", False), ("input", True)]


def test_the_streams_are_not_joined_by_the_copies(sandbox: Client) -> None:
    """The message list has every message once."""
    send(sandbox, "input", "output")
    listed(sandbox.audit("stream"), 2)
    assert sandbox.messages().total == 2


def test_what_the_stream_let_go_of_is_in_the_bucket(sandbox: Client) -> None:
    """After its retention the entry's bytes are in the bucket alone."""
    (data,) = send(sandbox, "input")
    listed(sandbox.audit("stream"), 1)
    sandbox.change_clock(ClockChange("advance", seconds=90_000))
    assert sandbox.audit("stream").message(1).raw is None
    found = sandbox.audit("bucket")
    listed(found, 1)
    assert (found.message(1).raw or "").encode() == data


def test_other_things_in_the_bucket_are_no_entries(sandbox: Client, s3: S3Client) -> None:
    """Objects of other names, lines that are none, and an object written a second time with more."""
    made = send(sandbox, "input")
    (found,) = s3.list_objects_v2(Bucket="rdss-audit")["Contents"]
    folder, _, name = found["Key"].rpartition("/")
    line = s3.get_object(Bucket="rdss-audit", Key=found["Key"])["Body"].read()
    first = name.partition("-")[0]
    later = str(int(first) + 10**13)
    again = line + b"no line\n" + line.replace(first.encode(), later.encode())
    for key, body in (
        ("notes.txt", b"hello"),
        ("date=2026-01-01/readme.md", b"hello"),
        (f"{folder}/notes", line),
        (f"{folder}/{first}-{later}.ndjson", again),
    ):
        s3.put_object(Bucket="rdss-audit", Key=key, Body=body)
    log = sandbox.audit("bucket")
    listed(log, 2)
    assert [(log.message(number).raw or "").encode() for number in (1, 2)] == [made[0], made[0]]


def test_an_object_that_was_deleted_leaves_its_rows(sandbox: Client, s3: S3Client) -> None:
    """What lay there is still listed, and said to be gone."""
    send(sandbox, "input")
    log = sandbox.audit("bucket")
    listed(log, 1)
    (found,) = s3.list_objects_v2(Bucket="rdss-audit")["Contents"]
    s3.delete_object(Bucket="rdss-audit", Key=found["Key"])
    assert log.message(1).raw is None


def test_reading_many_entries_gets_each_object_once(sandbox: Client, s3: S3Client) -> None:
    """They lie in turns in the objects of several shards. One that is not there is None."""
    send(sandbox, *["input"] * 40)
    objects = AuditObjects(lambda: s3, "rdss-audit", "audit")
    shards = [*objects.shards()]
    entries = sorted(
        ((each.arrived, shard, each) for shard in shards for each in objects.read(shard, None, 100)),
        key=lambda found: found[0],
    )
    got: list[str] = []
    s3.meta.events.register("before-call.s3.GetObject", lambda **call: got.append(call["params"]["url_path"]))
    places = [(shard, each.sequence_number) for _, shard, each in entries]
    assert len(places) == 40
    assert [*objects.at_each([*places, (shards[0], "7")])] == [*(each.data for *_, each in entries), None]
    assert len(got) == len({*got}) == len(s3.list_objects_v2(Bucket="rdss-audit")["Contents"])


def test_a_reset_forgets_the_log(sandbox: Client) -> None:
    send(sandbox, "input")
    for place in PLACES:
        listed(sandbox.audit(place), 1)
    sandbox.reset()
    assert [sandbox.audit(place).messages().total for place in PLACES] == [0, 0]


def test_the_log_goes_on_after_a_restart(tmp_path: Path) -> None:
    """Entries of an earlier process are there once, those that come afterwards behind them."""
    # All emulators of a process have the same buckets: this one has its own.
    topology = msgspec.structs.replace(
        DEFAULT_TOPOLOGY, buckets=("rdss-audit-restarted",), audit=AuditTap(bucket="rdss-audit-restarted")
    )
    settings = Settings(aws_port=0, control_port=0, data_dir=tmp_path, topology=topology)
    for times in (1, 2):
        with embedded(settings) as emulator, Client(emulator.control) as client:
            send(client, "input", "output")
            for place in PLACES:
                listed(client.audit(place), 2 * times)


def test_a_sandbox_without_an_audit_log_says_so() -> None:
    settings = Settings(aws_port=0, control_port=0, data_dir=None, topology=Topology(streams={"only": 1}))
    with (
        embedded(settings) as emulator,
        Client(emulator.control) as client,
        pytest.raises(RefusedError, match="no audit log"),
    ):
        client.audit("stream").messages()
