"""Every screen and every dialog in front of a real sandbox with real data: what is there is what is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import msgspec
import pytest
from textual.pilot import Pilot

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import AsyncClient, Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.shapes.processing import NewAsyncMessage
from rdss_sandbox.shapes.queues import NewClaim
from rdss_sandbox.shapes.streams import Reshard
from sandbox.control.scenarios import ScenarioResources
from schemas.rdss.decoration import decorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split
from tests.taken_out import needs
from tests.tui.app_pilot import answer, notices, opened, see, text_of, until
from tests.waiting import wait_until
from tui.dialogs.help import Help
from tui.keys.actions import places
from tui.screens.run_player import RunScreen
from tui.widgets.message_detail import MessageDetailPane
from tui.widgets.message_list import MessageList
from tui.widgets.row_list import RowList
from tui.widgets.stream_tree import StreamTree

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient

SAMPLES = Samples(7)
IDS = (f"{number:08x}-0000-4000-8000-000000000000" for number in range(10_000))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedded]:
    """A whole sandbox, with scenarios and processing as `sandbox up` has them."""
    runs = tmp_path_factory.mktemp("runs")
    more = [lambda parts: ScenarioResources(parts.events, runs)]
    with embedded(Settings(aws_port=0, control_port=0, amqp="none", data_dir=None), more=more) as emulator:
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
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def send(sandbox: Client, stream: str = "input", count: int = 1) -> list[bytes]:
    made = [serialise(SAMPLES.message()) for _ in range(count)]
    for data in made:
        sandbox.send(NewMessage(stream, data))
    return made


def rows(pilot: Pilot[Any], name: str) -> RowList[Any]:
    return pilot.app.screen.query_one(f"#{name}", RowList)


async def test_streams_tells_what_nobody_reads(
    sandbox: Client, running: Embedded, kinesis: KinesisClient
) -> None:
    """After a split the children's records wait, although the reader of the parent is not behind."""
    found = kinesis.get_shard_iterator(
        StreamName="input", ShardId="shardId-000000000001", ShardIteratorType="TRIM_HORIZON"
    )
    sandbox.reshard("input", Reshard("split", "shardId-000000000000"))
    for number in range(40):
        kinesis.put_record(StreamName="input", Data=b"{}", PartitionKey=str(number))
    read = kinesis.get_records(ShardIterator=found["ShardIterator"])
    assert read["MillisBehindLatest"] == 0
    waiting = 40 - len(read["Records"])
    assert waiting > 0
    async with opened(AsyncClient(running.control)) as pilot:
        tree = pilot.app.screen.query_one(StreamTree)

        def behind() -> dict[str, int | None]:
            return {line.branch.key: line.behind for line in tree._pages._held[0].values()}

        await until(pilot, lambda: tree.total and behind()["input"] == waiting)
        assert behind()["input/shardId-000000000001"] == 0
        assert behind()["input/shardId-000000000002"] + behind()["input/shardId-000000000003"] == waiting
        assert behind()["output"] is None
    assert sandbox.readers("input").unread == {"input": waiting}
    assert {each.name: each.unread for each in sandbox.streams()} == {
        "audit": None,
        "error": None,
        "input": waiting,
        "invalid": None,
        "output": None,
    }


async def test_streams_tells_what_happens_in_a_sentence(sandbox: Client, running: Embedded) -> None:
    """What a fault did is on the screen, at an ordinary size of a terminal."""
    sandbox.add_fault(NewFault("duplicate", channel="input"))
    send(sandbox)
    screens = [f"{key} {label}" for key, _, label in places()]
    async with opened(AsyncClient(running.control), size=(120, 40)) as pilot:
        await see(pilot, "the fault duplicate struck", "2 messages", *screens)


async def test_strikes_are_one_row_that_names_the_last_message(sandbox: Client, running: Embedded) -> None:
    """Six strikes of a fault are one row with their number and the id of the last; enter tells the rest."""
    sandbox.buckets()  # what that starts is an event too, and must not be the last
    sandbox.add_fault(NewFault("duplicate", channel="input"))
    last = msgspec.json.decode(send(sandbox, count=6)[-1])["messageHeader"]["messageId"]
    async with opened(AsyncClient(running.control), size=(120, 40)) as pilot:
        await pilot.press("5")
        await see(pilot, f"6 x the fault duplicate struck {last[:8]}: put 2")
        assert text_of(pilot).count("the fault duplicate struck") == 1
        rows(pilot, "happened").focus()
        await pilot.press("enter")
        await see(pilot, "This is the last of 6 alike", last)


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)])
async def test_messages_have_their_ids_and_no_empty_column(
    sandbox: Client, running: Embedded, size: tuple[int, int]
) -> None:
    """The id is there at every size; a part and a code have a column once a message has one."""
    wanted = msgspec.json.decode(send(sandbox)[0])["messageHeader"]["messageId"]
    async with opened(AsyncClient(running.control), size=size) as pilot:
        await see(pilot, "message ", wanted[:8])
        heading = next(line for line in text_of(pilot).splitlines() if "time (UTC)" in line)
        assert not {"part", "code"} & set(heading.split())
        data = decorate(
            serialise(SAMPLES.message()), ErrorCode.GENERR006, "no luck", now=sandbox.clock().time
        )
        await asyncio.to_thread(sandbox.send, NewMessage("error", data))
        await see(pilot, "GENERR006", "code ")
        heading = next(line for line in text_of(pilot).splitlines() if "time (UTC)" in line)
        assert "mark" in heading
        assert wanted[:8] in text_of(pilot)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_an_empty_list_says_whether_a_filter_is_the_reason(
    sandbox: Client, running: Embedded, size: tuple[int, int]
) -> None:
    """Without messages it says how to send one; under a filter that nothing matches, how to drop that."""
    async with opened(AsyncClient(running.control), size=size) as pilot:
        await see(pilot, "no messages; send one: sandbox message sample | sandbox send -")
        await asyncio.to_thread(send, sandbox)
        await see(pilot, "1 message ")
        await pilot.press("slash")
        await answer(pilot, "id:nothing")
        await see(pilot, "no message matches; esc drops the filter")


async def test_a_life_line_says_what_a_fault_did(sandbox: Client, running: Embedded) -> None:
    """l on a message that was struck: the line of the fault is not cut before it says anything."""
    sandbox.add_fault(NewFault("latency", channel="input", attributes={"delay": "5ms"}))
    send(sandbox)
    struck = [each for each in sandbox.events() if each.kind == "fault.injected"][-1]
    async with opened(AsyncClient(running.control), size=(120, 40)) as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one(MessageList).current is not None)
        await pilot.press("l")
        await see(pilot, struck.fields["did"])


async def test_a_message_that_is_gone_says_so(sandbox: Client, running: Embedded) -> None:
    """Past its stream's retention only the row is left; it is not taken for something malformed."""
    send(sandbox)
    sandbox.messages()
    sandbox.change_clock(ClockChange("advance", seconds=90_000))
    async with opened(AsyncClient(running.control)) as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one(MessageList).current is not None)
        await pilot.press("enter")
        await see(pilot, "past its stream's retention")
        await pilot.press("right_square_bracket")
        assert "not JSON" not in text_of(pilot)


async def test_sequences(sandbox: Client, running: Embedded) -> None:
    """Which parts came of a message in several, and the joined body once all did."""
    parts = split(SAMPLES.big_message(3), new_id=lambda: next(IDS))
    for data in (parts[0], parts[2]):
        sandbox.send(NewMessage("input", data))
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("2")
        await see(pilot, "1 message in several parts", "2/3", "missing 2")
        sandbox.send(NewMessage("input", parts[1]))
        await see(pilot, "3/3", "complete", "objectUUID")


@pytest.fixture
def audited(sandbox: Client) -> list[bytes]:
    """Three messages that were dispatched on three streams, and are in the audit bucket."""
    made = [send(sandbox, stream)[0] for stream in ("input", "output", "error")]
    sandbox.drain_audit()
    return made


@pytest.mark.parametrize("place", ["stream", "bucket"])
async def test_audit(audited: list[bytes], running: Embedded, place: str) -> None:
    """Every entry is listed with where it was dispatched, found by its id, and shown byte for byte."""
    held = {"stream": "audit", "bucket": "rdss-audit"}[place]
    wanted = msgspec.json.decode(audited[1])["messageHeader"]["messageId"]
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("3")
        if place == "bucket":
            await pilot.press("b")
        await see(pilot, f"3 messages   from the {place} {held}", "copied to audit: 3", " error ")
        await pilot.press("slash")
        await answer(pilot, f"id:{wanted}")
        await see(pilot, "1 message   ", f"sandbox messages --audit {place} --filter id:{wanted}")
        await pilot.press("enter")
        detail = pilot.app.screen.query_one(MessageDetailPane)
        await until(pilot, lambda: detail.detail is not None)
        assert detail.detail
        assert (detail.detail.raw or "").encode() == audited[1]
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.clipboard == audited[1].decode())


async def test_audit_goes_on_while_messages_come(
    audited: list[bytes], sandbox: Client, running: Embedded
) -> None:
    """What is copied and delivered later is listed later, in the stream and in the bucket."""
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("3")
        await see(pilot, "3 messages   from the stream audit")
        await asyncio.to_thread(send, sandbox, "output", 2)
        await see(pilot, "5 messages   from the stream audit", "5 in ")
        await pilot.press("b")
        await see(pilot, "5 messages   from the bucket rdss-audit")
        await asyncio.to_thread(send, sandbox, "output", 1)
        await see(pilot, "6 messages   from the bucket rdss-audit")


async def test_audit_finds_what_was_dispatched_to_a_stream(audited: list[bytes], running: Embedded) -> None:
    """The partition key of an entry is the place that it was copied from."""
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("3", "slash")
        await answer(pilot, "key:output/*")
        await see(pilot, "1 message   ")
        found = pilot.app.screen.query_one(MessageList).current
        assert found
        assert found.partition_key.startswith("output/")


async def test_audit_opens_an_object_of_its_bucket(audited: list[bytes], running: Embedded) -> None:
    """Down the folders of the bucket to an object, over the screen: its lines are the entries."""
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("3")
        entries = rows(pilot, "entries")
        entries.focus()
        for _ in range(3):
            await until(pilot, lambda: entries.total == 1 and entries.current is not None)
            await pilot.press("enter")
            await pilot.pause()
        await see(pilot, "NDJSON, 3 rows", '{"stream":"audit","shard_id"')


async def test_an_entry_of_the_audit_log_is_redriven(
    audited: list[bytes], sandbox: Client, running: Embedded
) -> None:
    """x on an entry offers the stream that it was copied from, and sends the message there."""
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("3", "b", "slash")
        await answer(pilot, "key:output/*")
        await see(pilot, "1 message   ")
        await pilot.press("x")
        await see(pilot, "Send message #")
        await pilot.press("enter")
        await until(pilot, lambda: any("to output" in each for each in notices(pilot)))
    assert sandbox.messages(matching="stream:output").total == 2


async def test_errors(sandbox: Client, running: Embedded) -> None:
    """The queues by code with what each means, and each message with the reason."""
    for code, stream in ((ErrorCode.GENERR006, "error"), (ErrorCode.GENERR001, "invalid")):
        data = serialise(SAMPLES.message())
        sandbox.send(NewMessage(stream, decorate(data, code, "no luck", now=sandbox.clock().time)))
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("4")
        await see(pilot, "GENERR006", "GENERR001", "2 messages")
        await pilot.press("enter")
        await see(pilot, "no luck")


async def test_faults(sandbox: Client, running: Embedded) -> None:
    """What is in force, how often it struck, the kinds there are, and time that passes by a key."""
    sandbox.add_fault(NewFault("duplicate", channel="input", toxicity=0.5, limit=1))
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("5")
        await see(pilot, "● duplicate", "50%", "split", "real time")
        await pilot.press("plus")
        await answer(pilot, "6m")
        await see(pilot, "speed 1", "sandbox clock advance 6m")


async def test_buckets(audited: list[bytes], running: Embedded) -> None:
    """The buckets, an object's folders, and what is in it."""
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("6")
        entries = rows(pilot, "entries")
        await see(pilot, "rdss-audit", "rdss-error", "rdss-invalid")
        for wanted in ("rdss-audit/", "rdss-audit/date=", "/shardId-"):
            await pilot.press("enter")
            await see(pilot, wanted)
            await until(pilot, lambda: entries.current is not None)
        await pilot.press("enter")
        await see(pilot, "NDJSON, 3 rows", '{"stream":"audit","shard_id"')


async def test_scenarios(sandbox: Client, running: Embedded, tmp_path: Path) -> None:
    """Enter plays one to its verdict and opens it; what it teaches and what happened are there."""
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("7")
        library = rows(pilot, "library")
        await until(pilot, lambda: library.total > 10)
        names = [each.name for each in library._pages._held[0].values()]
        library.move_to(names.index("producer-retry"))
        await see(pilot, "producer-retry")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))
        await see(pilot, "producer-retry")
        await pilot.press("right", "escape")
        await see(pilot, "pass")


@needs("queues")
async def test_queues(sandbox: Client, running: Embedded) -> None:
    """The queue of what was refused, its messages, and who holds one of them."""
    data = decorate(serialise(SAMPLES.message()), ErrorCode.GENERR006, "no luck", now=sandbox.clock().time)
    sandbox.send(NewMessage("error", data))
    queues = sandbox.queues.list().queues
    (queue,) = (each for each in queues if each.name == "error")

    def claim() -> Any:
        return sandbox.queues.claim(queue.project, "error", NewClaim("reviewer"))

    held = wait_until(claim)
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("8")
        await see(pilot, "error", held.id[-6:])
        await see(pilot, "the message in full", '"messageHeader": {')


@needs("topics")
async def test_topics(sandbox: Client, running: Embedded) -> None:
    """A topic's records, and what leaves it with the reason."""
    from extensions.topics.engine.commands import Publish, SowDelete
    from extensions.topics.topic_port import TopicPort

    with TopicPort(running.urls["topics"]) as port:
        data = msgspec.Raw(b'{"objectUUID": "a", "objectTitle": "fish"}')
        await asyncio.to_thread(port.execute, Publish(topic="objects", data=data))
        async with opened(AsyncClient(running.control)) as pilot:
            await pilot.press("9")
            await see(pilot, "objects: 1 record", "objectTitle fish")
            await asyncio.to_thread(port.execute, SowDelete(topic="objects", filter="1=1"))
            await see(pilot, "deleted", "1 left the topic")


@needs("processing")
async def test_processing(sandbox: Client, running: Embedded) -> None:
    """A message's state, its calls, its life, and asking before it is processed again."""
    new = NewAsyncMessage("metadata", "create", body='{"a": 1}', object_id="1", entity_type="object")
    number = sandbox.processing.receive(new).message.number
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("0")
        await see(pilot, f"{number} is OK, metadata.create", "preservation")
        await pilot.press("r")
        await see(pilot, "Process it again?")
        await pilot.press("y")
        await until(pilot, lambda: any(f"message {number} is" in each for each in notices(pilot)))


async def test_help_lists_every_key(sandbox: Client, running: Embedded) -> None:
    """? shows what each key does."""
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, Help))
        await see(pilot, "Streams")


async def test_going_to_a_message_and_to_the_first(sandbox: Client, running: Embedded) -> None:
    """: asks where to, and the cursor goes there; what is nowhere is told."""
    send(sandbox, count=3)
    async with opened(AsyncClient(running.control)) as pilot:
        listed = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: listed.total == 3)
        for goal, row in (("TRIM_HORIZON", 0), ("#2", 1), ("LATEST", 2)):
            await pilot.press("colon")
            await answer(pilot, goal)
            await until(pilot, lambda row=row: listed.cursor == row)
        await pilot.press("colon")
        await answer(pilot, "nowhere at all")
        await until(pilot, lambda: bool(notices(pilot)))


@pytest.mark.parametrize(
    ("asked", "mode", "seen"),
    [
        ("faults", "faults", "kinds of faults"),
        ("Aud", "audit", "copied to audit"),
        ("output", "streams", "stream:output"),
        ("input 0001", "streams", "stream:input shard:shardId-000000000001"),
        ("generr006", "errors", "code:GENERR006"),
        ("slow-consumer", "scenarios", "Messages come faster"),
        ("rdss-error", "buckets", "rdss-error/"),
        ("latency", "faults", "Time passes before a call is answered"),
    ],
)
async def test_going_anywhere_by_name(
    sandbox: Client, running: Embedded, asked: str, mode: str, seen: str
) -> None:
    """: and a name, or the beginning of one: its screen comes up, with the cursor on what bears it."""
    data = decorate(serialise(SAMPLES.message()), ErrorCode.GENERR006, "no luck", now=sandbox.clock().time)
    sandbox.send(NewMessage("error", data))
    async with opened(AsyncClient(running.control), size=(120, 40)) as pilot:
        await pilot.press("colon")
        await answer(pilot, asked)
        await until(pilot, lambda: pilot.app.current_mode == mode)
        await see(pilot, seen)


async def test_going_to_a_message_by_its_id(sandbox: Client, running: Embedded) -> None:
    """: and the first digits of a messageId, from any screen: the streams, with that message alone."""
    wanted, _ = (msgspec.json.decode(each)["messageHeader"]["messageId"] for each in send(sandbox, count=2))
    async with opened(AsyncClient(running.control)) as pilot:
        await pilot.press("5", "colon")
        await answer(pilot, wanted[:13])
        await until(pilot, lambda: pilot.app.current_mode == "streams")
        await see(pilot, "1 message ", wanted[:8])


@needs("queues", "topics")
async def test_going_to_a_queue_and_a_topic_by_name(sandbox: Client, running: Embedded) -> None:
    """What an extension has is gone to as well."""
    async with opened(AsyncClient(running.control)) as pilot:
        for asked, mode in (("invalid", "streams"), ("objects", "topics")):
            await pilot.press("colon")
            await answer(pilot, asked)
            await until(pilot, lambda mode=mode: pilot.app.current_mode == mode)


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)])
async def test_the_focus_is_in_a_pane_with_a_title(
    sandbox: Client, running: Embedded, size: tuple[int, int]
) -> None:
    """At every size tab leads from pane to pane; each has a title, and the border of one alone is bright."""
    send(sandbox)
    async with opened(AsyncClient(running.control), size=size) as pilot:
        seen = set()
        for _ in range(4):
            await pilot.press("tab")
            await pilot.pause()
            panes = [each for each in pilot.app.screen.query(RowList) if each.display and each.size.height]
            bright = [each for each in panes if each.styles.border_top[1] == each.styles.border_title_color]
            assert bright == [pilot.app.focused]
            assert all(each.border_title for each in panes)
            seen.add(bright[0].id)
        assert len(seen) >= 2


async def test_the_meaning_of_a_code_stands_in_full(sandbox: Client, running: Embedded) -> None:
    """Below the codes: what the code under the cursor means, where its messages go, and what can be done."""
    data = decorate(serialise(SAMPLES.message()), ErrorCode.GENERR006, "no luck", now=sandbox.clock().time)
    sandbox.send(NewMessage("error", data))
    async with opened(AsyncClient(running.control), size=(120, 40)) as pilot:
        await pilot.press("4")
        await see(pilot, "Its messages go to the error queue.")
        shown = " ".join(str(each.render()) for each in pilot.app.screen.query("MeaningPane Static"))
        assert ErrorCode.GENERR006.description in shown
