"""``sandbox wait`` and the other commands that wait: what they wait for, and that they give up."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded
from sandbox.cli.messages import receive

Ask = Callable[..., Any]


def put(emulator: Embedded, count: int) -> None:
    for number in range(count):
        request = {"StreamName": "input", "Data": b"x", "PartitionKey": str(number)}
        emulator.components.streams.call("PutRecord", request, emulator.components.home)


def test_what_is_so_is_waited_for(ask: Ask, emulator: Embedded) -> None:
    """Every sentence must hold; the answer says what was seen."""
    put(emulator, 10)
    sentences = ("--for", "stream input has 10 messages", "--for", "sandbox is ready")
    ran = ask("wait", *sentences)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.splitlines() == ["sandbox: stream input has 10 messages", "sandbox: the sandbox answers"]
    found = json.loads(ask("wait", *sentences, "--json").out)
    assert found == {"holds": True, "seen": "stream input has 10 messages; the sandbox answers"}


def test_what_does_not_become_so_is_given_up(ask: Ask, emulator: Embedded) -> None:
    """Exit code 4, and one line with what there was instead."""
    put(emulator, 7)
    ran = ask("wait", "--for", "stream input has 10 messages", "--timeout", "50ms")
    assert ran.code == 4
    assert ran.err == (
        "sandbox: after 0.05 s: stream input has 7 messages; waited for: stream input has 10 messages\n"
    )
    ran = ask("wait", "--for", "stream input has 10 messages", "--timeout", "0s", "--json")
    assert (ran.code, json.loads(ran.out)["holds"]) == (4, False)


def test_a_sandbox_that_was_not_started_yet_is_waited_for(sandbox: Ask) -> None:
    """A pipeline starts one beside the wait."""
    ran = sandbox("wait", "--for", "sandbox is ready", "--timeout", "50ms")
    assert (ran.code, "no sandbox was started here" in ran.err) == (4, True)


def test_another_sentence_is_answered_with_those_that_there_are(ask: Ask) -> None:
    """As a mistake of usage, with an example of each."""
    ran = ask("wait", "--for", "all is well")
    assert ran.code == 2
    assert "error queue has 1 message" in ran.err


def test_a_receiver_of_an_empty_stream_gives_up(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --timeout, and without one where it waits for so many messages."""
    ran = ask("receive", "--follow", "--count", "5", "--timeout", "10ms")
    assert (ran.code, ran.err) == (4, "sandbox: 0 of 5 messages came within 0.01 s\n")
    monkeypatch.setattr(receive, "_COUNTED_SECONDS", 0.01)
    assert ask("receive", "--follow", "--count", "5").code == 4


def test_events_are_shown_and_followed(ask: Ask, emulator: Embedded) -> None:
    """By kind, in lines or in JSON, as many as wanted; too few before the time-out are inconclusive."""
    emulator.components.events.emit("test.happened", note="one two")
    ran = ask("events", "--kind", "test.*")
    assert ran.out.count("\n") == 1
    assert ran.out.rstrip().endswith('test.happened          note="one two"')
    followed = ("events", "--kind", "test.happened", "--follow", "--json")
    ran = ask(*followed, "--count", "1")
    assert (ran.code, json.loads(ran.out)["note"]) == (0, "one two")
    assert ask(*followed, "--count", "2", "--timeout", "50ms").code == 4
    assert ask(*followed, "--timeout", "50ms").code == 0
    assert ask("logs", "--follow", "--timeout", "50ms").code == 0


def test_a_reset_answers_in_json(ask: Ask) -> None:
    """With the status of the sandbox afterwards."""
    assert {each["name"] for each in json.loads(ask("reset", "--json").out)["streams"]} >= {"input", "error"}
