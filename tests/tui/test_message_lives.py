"""What became of a message, on a real sandbox: who read it, its audit copy, and how it is mended."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from click.testing import CliRunner
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import AsyncClient, Client
from rdss_sandbox.shapes.messages import NewMessage
from sandbox.cli.messages.receive import receive
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.tui.app_pilot import NARROW, opened, see, until
from tui.dialogs.edit import Edit
from tui.widgets.flow_plot import FlowPlots, Plot
from tui.widgets.message_list import MessageList
from tui.widgets.stream_tree import StreamTree
from tui.widgets.waterfall import Waterfall

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

# Real readers, receivers and readings over time: more than ten seconds of processor time.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def running() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)) as emulator:
        yield emulator


@pytest.fixture
def sandbox(running: Embedded) -> Iterator[Client]:
    """The sandbox with nothing in it."""
    with Client(running.control) as client:
        client.reset()
        yield client


@pytest.fixture
def kinesis(running: Embedded) -> KinesisClient:
    return boto3.client(
        "kinesis",
        endpoint_url=running.aws,
        region_name=running.settings.region,
        aws_access_key_id="loader",
        aws_secret_access_key="test",
    )


def read_all(kinesis: KinesisClient, stream: str) -> int:
    """Read every shard of a stream once; the number of records."""
    found = 0
    for shard in kinesis.list_shards(StreamName=stream)["Shards"]:
        iterator = kinesis.get_shard_iterator(
            StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )
        found += len(kinesis.get_records(ShardIterator=iterator["ShardIterator"])["Records"])
    return found


def begin(kinesis: KinesisClient, stream: str) -> list[str]:
    """An iterator at the start of every shard of a stream, in use."""
    shards = [shard["ShardId"] for shard in kinesis.list_shards(StreamName=stream)["Shards"]]
    first = [
        kinesis.get_shard_iterator(StreamName=stream, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
        for shard in shards
    ]
    return go_on(kinesis, [each["ShardIterator"] for each in first])


def go_on(kinesis: KinesisClient, iterators: list[str]) -> list[str]:
    """Read on from the iterators; the next ones."""
    return [kinesis.get_records(ShardIterator=each)["NextShardIterator"] for each in iterators]


def places(pilot: Pilot[Any]) -> list[str]:
    """The places of the life line, oldest first."""
    line = pilot.app.screen.query(Waterfall).first()
    return [hop.place for hop in line._pages._held.get(0, {}).values()]


@pytest.mark.parametrize(
    "data", [serialise(Samples(3).message()), b"no message at all"], ids=["rdss", "other"]
)
async def test_a_life_line_has_its_reads_and_its_audit_copies(
    sandbox: Client, running: Embedded, kinesis: KinesisClient, data: bytes
) -> None:
    """l tells where a message was put, who read it, and its audit copies; later a second reader too."""
    sandbox.send(NewMessage("input", data, "a-key"))
    sandbox.send(NewMessage("input", serialise(Samples(4).message())))
    assert await asyncio.to_thread(read_all, kinesis, "input") == 2
    sandbox.drain_audit()
    async with opened(AsyncClient(running.control)) as pilot:
        listed = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: listed.total == 2)
        await pilot.press("g", "l")
        await until(
            pilot, lambda: "read from input" in places(pilot) and "bucket rdss-audit" in places(pilot)
        )
        line = places(pilot)
        assert line.index("input") < line.index("read from input") < line.index("bucket rdss-audit")
        assert [each for each in line if each.startswith(("read", "stream", "bucket"))] == [
            "read from input",
            "stream audit",
            "bucket rdss-audit",
        ]
        await see(pilot, "by loader", "copy of the record in input, 000")
        await asyncio.to_thread(read_all, kinesis, "input")
        await pilot.press("l")
        await until(pilot, lambda: places(pilot).count("read from input") == 2)


async def test_a_message_that_nobody_read_has_no_read(
    sandbox: Client, running: Embedded, kinesis: KinesisClient
) -> None:
    """A reader of what came before does not count as one of what came after."""
    sandbox.send(NewMessage("input", serialise(Samples(3).message())))
    await asyncio.to_thread(read_all, kinesis, "input")
    sandbox.send(NewMessage("input", serialise(Samples(4).message())))
    assert [read.message for read in sandbox.reads("").reads] == [1]
    async with opened(AsyncClient(running.control)) as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one(MessageList).total == 2)
        await pilot.press("l")
        await until(pilot, lambda: "stream audit" in places(pilot))
        assert "read from input" not in places(pilot)


async def test_rate_and_lag_are_plotted(sandbox: Client, running: Embedded, kinesis: KinesisClient) -> None:
    """Of the stream under the cursor: what came in the last minute, and how much waits for its reader."""
    iterators = await asyncio.to_thread(begin, kinesis, "input")
    async with opened(AsyncClient(running.control)) as pilot:
        tree = pilot.app.screen.query_one(StreamTree)
        await until(pilot, lambda: tree.total > 0)
        tree.move_to([line.branch.key for line in tree._pages._held[0].values()].index("input"))
        rate, lag = pilot.app.screen.query_one(FlowPlots).query(Plot)
        await see(pilot, "input records/s", "input behind")
        for number in range(30):
            sandbox.send(NewMessage("input", b"{}", str(number)))
        await until(pilot, lambda: max((value or 0.0 for value in rate._values), default=0.0) > 1)
        await until(pilot, lambda: lag._values[-1] == 30)
        await see(pilot, "most 30, now 30")
        await asyncio.to_thread(go_on, kinesis, iterators)
        await see(pilot, "most 30, now 0")
    async with opened(AsyncClient(running.control), size=NARROW) as pilot:
        await pilot.press("p")
        await see(pilot, "-60 s", "now 0")


async def test_a_rejected_message_is_mended_until_it_is_accepted(
    sandbox: Client, running: Embedded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two fields are wrong: mending one brings it back to the queue, mending both gets it through."""
    monkeypatch.chdir(tmp_path)
    message = Samples(3).message("MetadataDelete")
    message["messageBody"] = {"objectUUID": "not-a-uuid"}
    message["messageHeader"]["tenantJiscID"] = "twelve"
    message_id = message["messageHeader"]["messageId"]
    sandbox.send(NewMessage("input", serialise(message)))
    assert rejects(await asyncio.to_thread(receive_some, running)) == [message_id]
    async with opened(AsyncClient(running.control), size=(120, 40)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: pilot.app.screen.query(MessageList).first().current is not None)
        rejected = pilot.app.screen.query(MessageList).first()
        assert rejected.total == 1
        await redrive(pilot, "not-a-uuid", "3f2a8c1e-7b4d-4e6f-9a0b-1c2d3e4f5a6b", "✗ ")
        await until(pilot, lambda: sandbox.messages(matching="stream:input").total == 2)
        assert rejects(await asyncio.to_thread(receive_some, running)) == [message_id]
        await until(
            pilot, lambda: rejected.total == 2 and rejected.cursor == 1 and rejected.current is not None
        )
        await redrive(pilot, '"twelve"', "12", "✓ meets the contract")
        await until(pilot, lambda: sandbox.messages(matching="stream:input").total == 3)
        (accepted,) = await asyncio.to_thread(receive_some, running)
        assert rejected.total == 2
    assert accepted["messageHeader"]["messageId"] == message_id
    stamps = [each["machineId"] for each in accepted["messageHeader"]["messageHistory"]]
    assert stamps.count("rdss-sandbox-redrive") == 2
    assert "errorCode" not in accepted["messageHeader"]


async def test_the_editor_judges_with_the_time(
    sandbox: Client, running: Embedded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has expired would come back to the error queue: the editor says so before it is sent."""
    monkeypatch.chdir(tmp_path)
    message = Samples(3).message("MetadataDelete")
    message["messageHeader"]["messageTimings"]["expirationTimestamp"] = "2020-01-01T00:00:00Z"
    sandbox.send(NewMessage("input", serialise(message)))
    assert rejects(await asyncio.to_thread(receive_some, running)) == [message["messageHeader"]["messageId"]]
    async with opened(AsyncClient(running.control), size=(120, 40)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: pilot.app.screen.query(MessageList).first().current is not None)
        await pilot.press("E")
        await until(pilot, lambda: isinstance(pilot.app.screen, Edit))
        await see(pilot, "✗ GENERR003")
        area = pilot.app.screen.query_one(TextArea)
        area.text = area.text.replace("2020-01-01", "2120-01-01")
        await see(pilot, "✓ meets the contract")


def receive_some(running: Embedded) -> list[dict[str, Any]]:
    """What a receiver of input says of all that is there: messages, and what it rejects."""
    done = CliRunner().invoke(receive, ["--control", running.control, "--json"])
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def rejects(said: list[dict[str, Any]]) -> list[str]:
    """The ids of what was rejected, when nothing was accepted."""
    return [each["rejected"]["messageId"] for each in said]


async def redrive(pilot: Pilot[Any], wrong: str, right: str, verdict: str) -> None:
    """Mend the message under the cursor in the editor, and send it back to input."""
    await pilot.press("E")
    await until(pilot, lambda: isinstance(pilot.app.screen, Edit))
    await see(pilot, "✗ GENERR")
    area = pilot.app.screen.query_one(TextArea)
    assert wrong in area.text
    area.text = area.text.replace(wrong, right)
    await see(pilot, verdict)
    await pilot.press("ctrl+s")
    await until(pilot, lambda: isinstance(pilot.app.focused, Input) and pilot.app.focused.value == "input")
    await pilot.press("enter")
