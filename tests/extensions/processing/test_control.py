"""Asynchronous messages through the control API and the command line of a whole sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from extensions.processing.integration import DEFAULT, Integration
from extensions.processing.integration_file import read_integration
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.processing import AsyncMessageDetail, NewAsyncMessage, Restart, Script
from sandbox.cli import main
from sandbox.cli.output.exit_codes import Exit
from tests.waiting import wait_until

NOON = 1_790_000_000.0
CREATE = NewAsyncMessage("metadata", "create", body="{}", object_id="1", entity_type="object")


class ProcessingSandbox:
    """A sandbox with processing, its client and its clock, which stands still."""

    def __init__(self, client: Client, clock: Clock, control: str) -> None:
        self.client = client
        self.clock = clock
        self.control = control

    def settled(self, number: int, *states: str) -> AsyncMessageDetail:
        """The message once it is in one of these states: asks until it is, within a bound."""

        def look() -> AsyncMessageDetail | None:
            found = self.client.processing.show(number)
            return found if found.message.state in states else None

        return wait_until(look, shown=lambda: self.client.processing.show(number).message)

    def send(self, **changed: Any) -> int:
        return self.client.processing.receive(NewAsyncMessage(**_fields(CREATE) | changed)).message.number


def _fields(message: NewAsyncMessage) -> dict[str, Any]:
    return {name: getattr(message, name) for name in message.__struct_fields__}


@contextmanager
def run_sandbox(
    data_dir: Path | None = None, integration: Integration = DEFAULT
) -> Iterator[ProcessingSandbox]:
    clock = Clock(frozen_at=NOON)
    settings = Settings(aws_port=0, control_port=0, data_dir=data_dir)
    with (
        patch("extensions.processing.component._read_integration", lambda _: integration),
        embedded(settings, clock) as emulator,
        Client(emulator.control) as client,
    ):
        yield ProcessingSandbox(client, clock, emulator.control)


@pytest.fixture(scope="module")
def shared() -> Iterator[ProcessingSandbox]:
    with run_sandbox() as found:
        yield found


def test_a_message_goes_to_every_system_and_ends_ok(shared: ProcessingSandbox) -> None:
    """Its changes, its calls and what may be done with it are shown."""
    found = shared.settled(shared.send(), "OK")
    assert [call.operation.rpartition(".")[2] for call in found.calls if call.state == "OK"]
    assert [change.after for change in found.changes] == ["NEW", "IN_QUEUE", "PROCESSING", "OK"]
    assert found.actions == ("restart",)
    assert found.body == "{}"


def test_a_system_that_fails_is_called_again_when_the_interval_is_over(shared: ProcessingSandbox) -> None:
    """And the one that succeeded is not: the clock brings the second attempt."""
    processing = shared.client.processing
    processing.script("preservation", Script(("500",)))
    before = {system.name: system.received for system in processing.systems()}
    number = shared.send(object_id="2")
    failed = shared.settled(number, "PARTLY_FAILED")
    assert failed.message.failed == 1
    assert failed.message.error_code is not None
    assert failed.actions == ("cancel",)
    shared.clock.advance(121)
    shared.settled(number, "OK")
    after = {system.name: system.received for system in processing.systems()}
    assert {name: after[name] - before[name] for name in after} == {
        "repository": 1,
        "preservation": 1,
        "catalogue": 1,
    }


def test_a_newer_message_of_the_same_object_outdates_one_that_failed(shared: ProcessingSandbox) -> None:
    """The older ends SKIPPED at its next attempt; one that names no object is never outdated."""
    for object_id, end in (("3", "SKIPPED"), (None, "OK")):
        shared.client.processing.script("repository", Script(("500",)))
        older = shared.send(object_id=object_id)
        shared.settled(older, "PARTLY_FAILED")
        shared.settled(shared.send(object_id=object_id), "OK")
        shared.clock.advance(121)
        shared.settled(older, end)


def test_a_total_restart_calls_everything_again(shared: ProcessingSandbox) -> None:
    """A partial one calls nothing that succeeded."""
    processing = shared.client.processing
    number = shared.send(object_id="3")
    shared.settled(number, "OK")
    for how, calls in ((Restart("partial"), 0), (Restart("total"), 3)):
        before = sum(system.received for system in processing.systems())
        restarted = processing.restart(number, how)
        step = len(restarted.changes)
        assert restarted.changes[-1].cause == "restarted"
        shared.clock.advance(61)
        done = shared.settled(number, "OK")
        assert len(done.changes) > step
        assert sum(system.received for system in processing.systems()) - before == calls


def test_what_cannot_be_done_is_refused_with_its_reason(shared: ProcessingSandbox) -> None:
    """No such message, the wrong state, no such system, an answer nobody gives, a filter nobody knows."""
    processing = shared.client.processing
    number = shared.send(object_id="4")
    shared.settled(number, "OK")
    with pytest.raises(RefusedError, match="cannot be cancelled"):
        processing.cancel(number)
    with pytest.raises(RefusedError, match="99999"):
        processing.show(99_999)
    with pytest.raises(RefusedError, match="no outside system is named 'mno'; there are: repository"):
        processing.script("mno", Script(("ok",)))
    with pytest.raises(RefusedError, match="is no answer of an outside system"):
        processing.script("catalogue", Script(("perhaps",)))
    with pytest.raises(RefusedError, match="state is 'LOST': it is one of NEW, IN_QUEUE"):
        processing.search(state="LOST")


def test_messages_are_found_by_what_they_are(shared: ProcessingSandbox) -> None:
    """The newest first, by state, source, parts of names, and older than one."""
    processing = shared.client.processing
    sent = [{"object_id": f"found {n}", "correlation": f"found-{n}"} for n in range(3)]
    numbers = [shared.send(source="Finder", **each) for each in sent]
    for number in numbers:
        shared.settled(number, "OK")
    found = processing.search(source="find", state="OK", limit=2)
    assert [each.number for each in found] == numbers[:0:-1]
    assert [each.number for each in processing.search(source="find", before=numbers[1])] == numbers[:1]
    assert [each.correlation for each in processing.search(correlation="found-1")] == ["found-1"]
    assert processing.search(source="find", state="FAILED") == ()


def test_a_fault_strikes_an_outside_system(shared: ProcessingSandbox) -> None:
    """Throttled once by the fault stage: the message fails for now, and succeeds at the next attempt."""
    shared.client.add_fault(NewFault("throttle", channel="outside/catalogue", direction="publish", limit=1))
    number = shared.send(object_id="5")
    assert "catalogue failed" in (shared.settled(number, "PARTLY_FAILED").message.description or "")
    shared.clock.advance(121)
    shared.settled(number, "OK")


def test_every_change_is_an_event(shared: ProcessingSandbox) -> None:
    """Of the stream of events that everything else goes through."""
    # A reset begins the numbers anew, so that an earlier message had this one's.
    before = shared.client.last_event()
    number = shared.send(object_id="6")
    shared.settled(number, "OK")
    events: list[Event] = list(shared.client.events(after=before, limit=10_000))
    changes = [
        e.fields["after"] for e in events if e.kind == "processing.changed" and e.fields["message"] == number
    ]
    assert changes == ["NEW", "IN_QUEUE", "PROCESSING", "OK"]


def test_the_end_is_told_to_the_source_as_an_event(shared: ProcessingSandbox) -> None:
    """With the source's own id and how it ended, once."""
    number = shared.send(object_id="told", correlation="end-of-told")
    shared.settled(number, "OK")

    def told() -> list[dict[str, Any]]:
        events = shared.client.events(limit=10_000)
        confirmed = (event.fields for event in events if event.kind == "processing.confirmed")
        return [fields for fields in confirmed if fields["correlation"] == "end-of-told"]

    assert [(each["source"], each["correlation"], each["result"]) for each in wait_until(told)] == [
        ("CONTROL", "end-of-told", "OK")
    ]


def test_what_was_not_done_is_done_after_a_restart(tmp_path: Path) -> None:
    """By the next sandbox on the same data, though nobody asks it to."""
    with run_sandbox(tmp_path) as first:
        first.client.processing.script("repository", Script(("down 1h",)))
        number = first.send()
        first.settled(number, "PARTLY_FAILED")
    with run_sandbox(tmp_path) as second:
        second.clock.advance(121)
        assert second.settled(number, "OK").message.failed == 1


def test_the_command_line_does_all_of_it(
    shared: ProcessingSandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    """Send, list, show, restart, cancel, systems; in tables and in JSON."""

    def run(*arguments: str) -> str:
        code = main((*arguments, "--control", shared.control))
        out, err = capfd.readouterr()
        assert code == 0, err
        return out

    sent = json.loads(run("process", "send", "metadata", "update", "{}", "--object", "7", "--json"))
    number = sent["message"]["number"]
    shared.settled(number, "OK")
    assert f"{number} " in run("process", "list", "--state", "OK")
    page = run("process", "show", str(number))
    assert "succeeded" in page
    assert "may be: restart" in page
    assert "restarted" in run("process", "restart", str(number), "--total")
    assert "cancelled" in run("process", "cancel", str(number))
    table = run("process", "systems", "catalogue", "500", "down 1m")
    assert "500, down 60s" in table
    assert "repository" not in table
    run("process", "systems", "catalogue", "ok")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list", "--state", "ODD"), "'ODD' is not one of 'NEW', 'IN_QUEUE'"),
        (("list", "--limit", "0"), "0 is not in the range 1<=x<=1000"),
        (("show", "odd"), "'odd' is not a whole number"),
    ],
)
def test_what_the_control_api_would_refuse_is_refused_before_it_is_asked(
    arguments: tuple[str, ...], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """By the bounds that it declares: nothing listens where these ask."""
    code = main(("process", *arguments, "--control", "http://127.0.0.1:9"))

    assert (code, said in capfd.readouterr().err) == (Exit.USAGE, True)


def test_an_integration_of_ones_own(tmp_path: Path) -> None:
    """Systems with scripts, routes, and parameters in a file."""
    path = tmp_path / "integration.toml"
    path.write_text(
        '[systems.mno]\nscript = ["500"]\n[[routes]]\nservice = "subscriber"\noperation = "create"\n'
        'calls = ["mno"]\n[parameters]\npartly_failed_interval = 5\n'
    )
    found = read_integration(path)
    assert found.systems["mno"].script == ("500",)
    assert found.routes[0].calls == ("mno",)
    assert found.parameters.partly_failed_interval == 5
    assert found.parameters.throttling is None


@pytest.mark.parametrize("kept", [False, True], ids=["in memory", "on disk"])
def test_a_reset_empties_the_asynchronous_messages(tmp_path: Path, kept: bool) -> None:
    """Done, waiting and scripted: all is gone, numbers begin with 1, a restart brings nothing back."""
    data = tmp_path / "data" if kept else None
    with run_sandbox(data) as found:
        processing = found.client.processing
        found.settled(found.send(), "OK")
        processing.script("preservation", Script(("500", "500", "down 1m")))
        waiting = found.send(object_id="2")
        found.settled(waiting, "PARTLY_FAILED")

        found.client.reset()

        assert processing.search() == ()
        with pytest.raises(RefusedError, match="no message"):
            processing.show(waiting)
        assert [(system.received, system.script) for system in processing.systems()] == [(0, ())] * 3
        assert found.send(object_id="3") == 1
        found.settled(1, "OK")
    if data is not None:
        with run_sandbox(data) as again:
            assert [each.number for each in again.client.processing.search()] == [1]


def test_a_reset_does_not_wait_for_an_outside_system(shared: ProcessingSandbox) -> None:
    """A call that takes its time: the reset is done meanwhile, and new messages are processed."""
    processing = shared.client.processing
    processing.script("preservation", Script(("slow 20s",)))
    busy = shared.send(object_id="9")
    shared.settled(busy, "PROCESSING")
    began = Clock()

    shared.client.reset()

    assert began.elapsed() < 10
    assert processing.search() == ()
    shared.settled(shared.send(object_id="10"), "OK")


def test_a_reset_empties_a_store_that_nobody_has_asked_for_yet(tmp_path: Path) -> None:
    """The command line's, too; where there never was a message there is nothing to do."""
    with run_sandbox(tmp_path) as found:
        assert main(["reset", "--control", found.control]) == 0
        found.send()
        assert main(["reset", "--control", found.control]) == 0
        assert found.client.processing.search() == ()
