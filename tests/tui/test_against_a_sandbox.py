"""The screens in front of a real sandbox: what a key does there is done, and seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input, TextArea

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import AsyncClient, Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import NewMessage
from schemas.rdss.decoration import decorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split
from tests.tui.app_pilot import answer, notices, opened, see, text_of, until
from tui.dialogs.add_fault import AddFault
from tui.dialogs.diff import Diff
from tui.dialogs.edit import Edit
from tui.dialogs.pane_dialog import PaneDialog
from tui.panes.message_browser import MessageBrowser
from tui.widgets.message_detail import MessageDetailPane
from tui.widgets.message_list import MessageList
from tui.widgets.row_list import RowList
from tui.widgets.sequence_detail import SequenceDetail
from tui.widgets.stream_tree import StreamTree
from tui.widgets.text_lines import TextLines


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with embedded(Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)) as emulator:
        yield emulator.control


@pytest.fixture
def sandbox(url: str) -> Iterator[Client]:
    """A sandbox with nothing in it."""
    with Client(url) as client:
        client.reset()
        yield client


def send(sandbox: Client, stream: str = "input", count: int = 1, seed: int = 1) -> list[bytes]:
    """Put sample messages into a stream."""
    samples = Samples(seed)
    made = [serialise(samples.message()) for _ in range(count)]
    for data in made:
        sandbox.send(NewMessage(stream, data))
    return made


async def test_a_split_grows_the_tree(sandbox: Client, url: str) -> None:
    """S on a shard splits it: two children hang under it, and the command that does so is shown."""
    async with opened(AsyncClient(url)) as pilot:
        tree = pilot.app.screen.query_one(StreamTree)
        tree.focus()
        await until(pilot, lambda: tree.total > 0)
        place = [line.branch.key for line in tree._pages._held[0].values()].index(
            "input/shardId-000000000000"
        )
        tree.move_to(place)
        await pilot.press("S")
        await until(pilot, lambda: "└ ● 0003" in text_of(pilot))
        await until(pilot, lambda: "sandbox reshard split input shardId-000000000000" in text_of(pilot))
        assert sandbox.stream("input").open_shards == 3


async def test_choosing_a_stream_shows_its_messages(sandbox: Client, url: str) -> None:
    """Enter on a stream narrows the list to it; enter again shows all."""
    send(sandbox, "input", 3)
    send(sandbox, "output", 2)
    async with opened(AsyncClient(url)) as pilot:
        rows, tree = pilot.app.screen.query_one(MessageList), pilot.app.screen.query_one(StreamTree)
        await until(pilot, lambda: rows.total == 5)
        tree.focus()
        tree.move_to([line.branch.key for line in tree._pages._held[0].values()].index("output"))
        await pilot.press("enter")
        await until(pilot, lambda: rows.total == 2)
        await pilot.press("enter")
        await until(pilot, lambda: rows.total == 5)


async def test_a_duplicate_is_compared_with_what_it_repeats(sandbox: Client, url: str) -> None:
    """d on a message marked D opens the comparison at once, and says what the two share."""
    (data,) = send(sandbox)
    sandbox.send(NewMessage("input", data))
    async with opened(AsyncClient(url)) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 2 and rows.current is not None)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Diff))
        await until(pilot, lambda: "the same payload under another sequence number" in text_of(pilot))


async def test_two_marked_messages_are_compared(sandbox: Client, url: str) -> None:
    """d marks the first, d on the second compares."""
    send(sandbox, count=2)
    async with opened(AsyncClient(url)) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 2 and rows.current is not None)
        await pilot.press("d", "up", "d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Diff))
        await see(pilot, "lines differ")


async def test_a_refused_message_is_explained_mended_and_redriven(sandbox: Client, url: str) -> None:
    """Errors says which field is wrong; E offers the message, judges each change, sends it back stamped."""
    message = Samples(3).message("MetadataDelete")
    good = message["messageBody"]["objectUUID"]
    message["messageBody"] = {"objectUUID": "not-a-uuid"}
    sandbox.send(NewMessage("output", serialise(message)))
    refused = decorate(
        serialise(message), ErrorCode.GENERR010, "objectUUID is no UUID", now=sandbox.clock().time
    )
    sandbox.send(NewMessage("invalid", refused))
    async with opened(AsyncClient(url)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: pilot.app.screen.query(MessageList).first().current is not None)
        await pilot.press("enter")
        await until(pilot, lambda: "/messageBody/objectUUID" in text_of(pilot))
        await see(pilot, "GENERR010: A UUID in the message is invalid.")
        await pilot.press("E")
        await until(pilot, lambda: isinstance(pilot.app.screen, Edit))
        await until(pilot, lambda: "✗ GENERR010" in text_of(pilot))
        area = pilot.app.screen.query_one(TextArea)
        area.text = area.text.replace("not-a-uuid", good)
        await until(pilot, lambda: "✓ meets the contract" in text_of(pilot))
        await pilot.press("ctrl+s")
        await until(
            pilot, lambda: isinstance(pilot.app.focused, Input) and pilot.app.focused.value == "output"
        )
        await pilot.press("enter")
        await until(pilot, lambda: sandbox.messages(matching="stream:output").total == 2)
    sent = sandbox.message(sandbox.messages(matching="stream:output").messages[1].id)
    assert sent.body == {"objectUUID": good}
    assert "errorCode" not in (sent.header or {})
    assert (sent.header or {})["messageHistory"][-1]["machineId"] == "rdss-sandbox-redrive"


async def test_a_whole_queue_is_redriven(sandbox: Client, url: str) -> None:
    """X sends every message to the stream it came from; one that was in no other is left and counted."""
    made = send(sandbox, "input", 2) + send(sandbox, "output", 1, seed=2)
    for data in made:
        sandbox.send(NewMessage("error", decorate(data, ErrorCode.GENERR006, "", now=sandbox.clock().time)))
    sandbox.send(NewMessage("invalid", b"{broken"))
    async with opened(AsyncClient(url)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: pilot.app.screen.query(MessageList).first().total == 4)
        await pilot.press("X")
        await until(pilot, lambda: "Send these 4 messages again" in text_of(pilot))
        await pilot.press("y")
        await until(
            pilot, lambda: notices(pilot)[-1:] == ["sent 3 messages again; 1 had no stream to go back to"]
        )
    assert sandbox.messages(matching="stream:input").total == 4
    assert sandbox.messages(matching="stream:output").total == 2


async def test_export_and_import_give_the_messages_back(sandbox: Client, url: str, tmp_path: Path) -> None:
    """What was exported arrives in the stream of the message under the cursor, byte for byte."""
    made = send(sandbox, "output", 3)
    path = tmp_path / "some.ndjson"
    async with opened(AsyncClient(url)) as pilot:
        rows = pilot.app.screen.query_one(MessageList)
        await until(pilot, lambda: rows.total == 3 and rows.current is not None)
        await pilot.press("e")
        await answer(pilot, str(path))
        await until(pilot, path.exists)
        await pilot.press("i")
        await answer(pilot, str(path))
        await until(pilot, lambda: rows.total == 6)
    # In no order: two shards can take messages in the same millisecond.
    assert sorted(path.read_bytes().splitlines()) == sorted(made)
    again = [sandbox.message(row.id).raw for row in sandbox.messages(offset=3).messages]
    assert sorted(map(str, again)) == sorted(data.decode() for data in made)


async def test_copying_gives_the_message_as_it_was_sent(sandbox: Client, url: str) -> None:
    """y puts the message's own text on the clipboard."""
    (data,) = send(sandbox)
    async with opened(AsyncClient(url)) as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one(MessageList).current is not None)
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.clipboard == data.decode())


async def test_a_sequence_shows_what_is_missing_and_then_the_body(sandbox: Client, url: str) -> None:
    """Gaps are named while parts are missing; once the last came the joined body is there."""
    ids = iter(f"{number:08x}-0000-4000-8000-000000000000" for number in range(10))
    parts = split(Samples(5).message("MetadataDelete"), limit=700, new_id=lambda: next(ids))
    assert len(parts) == 1
    parts = split(Samples(5).big_message(3), new_id=lambda: next(ids))
    for data in (parts[0], parts[2]):
        sandbox.send(NewMessage("input", data))
    async with opened(AsyncClient(url)) as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one(MessageList).current is not None)
        await pilot.press("equals_sign")
        await until(pilot, lambda: isinstance(pilot.app.screen, PaneDialog))
        await until(pilot, lambda: "■□■  missing 2" in text_of(pilot))
        await pilot.press("escape", "2")
        await until(pilot, lambda: "missing 2" in text_of(pilot))
        sandbox.send(NewMessage("input", parts[1]))
        await until(pilot, lambda: "■■■  complete" in text_of(pilot))
        lines = pilot.app.screen.query_one(SequenceDetail).query_one(TextLines)
        await until(pilot, lambda: "objectUUID" in lines.text)
        await pilot.press("u")
        await until(pilot, lambda: "0 messages with a part missing" in text_of(pilot))


async def test_a_life_line_crosses_streams(sandbox: Client, url: str) -> None:
    """l shows every stream that the message was in, in the order of time."""
    (data,) = send(sandbox)
    sandbox.send(
        NewMessage("error", decorate(data, ErrorCode.GENERR006, "no luck", now=sandbox.clock().time))
    )
    async with opened(AsyncClient(url)) as pilot:
        await until(pilot, lambda: pilot.app.screen.query_one(MessageList).total == 2)
        await pilot.press("l")
        ways = pilot.app.screen.query_one(MessageDetailPane).query_one("Waterfall")

        def places() -> list[str]:
            return [hop.place for hop in ways._pages._held.get(0, {}).values()]

        # Copies in the audit log can be known before the message is in the index.
        await until(pilot, lambda: {"published", "input", "error"} <= set(places()))
        assert places().index("input") < places().index("error")


async def test_a_fault_is_added_paused_and_removed(sandbox: Client, url: str) -> None:
    """A form made from the kind's settings; a refusal is said in the form; each step shows its command."""
    async with opened(AsyncClient(url)) as pilot:
        await pilot.press("f")
        kinds = pilot.app.screen.query_one("#kinds", RowList)
        await until(pilot, lambda: kinds.total > 3)
        kinds.move_to([kind.type for kind in kinds._pages._held[0].values()].index("latency"))
        await pilot.press("a")
        await until(pilot, lambda: isinstance(pilot.app.screen, AddFault) and pilot.app.screen.is_mounted)
        form = pilot.app.screen
        form.query_one("#channel", Input).value = "input"
        form.query_one("#attribute-delay", Input).value = "250ms"
        form.query_one("#toxicity", Input).value = "7"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "toxicity" in str(form.query_one("#wrong").content))
        form.query_one("#toxicity", Input).value = "0.5"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.screen is not form)
        (added,) = sandbox.faults()
        assert (added.channel, added.toxicity, added.attributes["delay"]) == ("input", 0.5, 0.25)
        wanted = "sandbox fault add latency --channel input --toxicity 0.5 --delay 250ms"
        await until(pilot, lambda: wanted in text_of(pilot))
        force = pilot.app.screen.query_one("#in-force", RowList)
        await until(pilot, lambda: force.total == 1)
        force.focus()
        await pilot.press("space")
        await until(pilot, lambda: not sandbox.faults()[0].enabled)
        await pilot.press("delete")
        await until(pilot, lambda: sandbox.faults() == ())


async def test_faults_are_counted_as_they_strike(sandbox: Client, url: str) -> None:
    """What a fault did is counted beside it, and stands among what happened."""
    sandbox.add_fault(NewFault("duplicate", channel="input"))
    send(sandbox, count=2)
    async with opened(AsyncClient(url)) as pilot:
        await pilot.press("f")
        await until(pilot, lambda: "the fault duplicate struck" in text_of(pilot))
        assert sandbox.faults()[0].injected == 2


async def test_the_clock_is_frozen_advanced_and_let_go(sandbox: Client, url: str) -> None:
    """z stops it, + lets time pass, Z goes back to real time."""
    async with opened(AsyncClient(url)) as pilot:
        await pilot.press("f", "z")
        await until(pilot, lambda: sandbox.clock().speed == 0)
        before = sandbox.clock().time
        await pilot.press("plus")
        await answer(pilot, "6m")
        await until(pilot, lambda: sandbox.clock().time == pytest.approx(before + 360))
        await until(pilot, lambda: "frozen" in text_of(pilot))
        await pilot.press("Z")
        await until(pilot, lambda: sandbox.clock().real)


async def test_buckets_are_walked_folder_by_folder(sandbox: Client, url: str) -> None:
    """Into a bucket, and back out to all of them."""
    async with opened(AsyncClient(url)) as pilot:
        await pilot.press("6")
        await until(pilot, lambda: pilot.app.screen.query_one("#entries").is_mounted)
        entries = pilot.app.screen.query_one("#entries", RowList)
        await until(pilot, lambda: entries.total == 3)
        assert entries.current.name == "rdss-audit"
        await pilot.press("enter")
        await until(pilot, lambda: "rdss-audit/" in text_of(pilot))
        await pilot.press("backspace")
        await until(pilot, lambda: entries.total == 3)


async def test_a_sandbox_that_started_afresh_is_shown_afresh(sandbox: Client, url: str) -> None:
    """After a reset the list holds what is there now, and nothing of before."""
    send(sandbox, count=5)
    async with opened(AsyncClient(url)) as pilot:
        rows = pilot.app.screen.query_one(MessageBrowser).list
        await until(pilot, lambda: rows.total == 5)
        sandbox.reset()
        (data,) = send(sandbox, seed=9)
        await until(pilot, lambda: rows.total == 1 and rows.current is not None)
        assert rows.current.message_id == json.loads(data)["messageHeader"]["messageId"]
