"""Commands that ask a running sandbox."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded
from emulator.faults.registry import TYPES
from rdss_sandbox.machine import installation

Ask = Callable[..., Any]


def test_status_for_programs_and_for_people(ask: Ask, emulator: Embedded) -> None:
    """With --json everything the control API says; without, a page with the streams in a table."""
    found = json.loads(ask("status", "--json").out)
    assert (found["aws"], found["seed"]) == (emulator.aws, 7)

    page = ask("status").out
    assert emulator.aws in page
    assert "real time" in page
    assert [line.split()[0] for line in page.splitlines()[-5:]] == [
        "audit",
        "error",
        "input",
        "invalid",
        "output",
    ]


def test_the_sandbox_can_be_named_by_the_environment(
    sandbox: Ask, emulator: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SANDBOX_CONTROL stands for --control."""
    monkeypatch.setenv("SANDBOX_CONTROL", emulator.control)

    assert json.loads(sandbox("status", "--json").out)["aws"] == emulator.aws


def test_resharding(ask: Ask) -> None:
    """Split, merge, scale: the shards afterwards, on standard output."""
    assert ask("reshard", "split", "input", "0").out.count(" open ") == 3
    assert ask("reshard", "merge", "input", "1").out.count(" open ") == 2
    found = json.loads(ask("reshard", "scale", "input", "4", "--json").out)
    assert found["open_shards"] == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["split", "nope"], "no stream is named 'nope'"),
        (["split", "input", "77"], "no open shard is named '77'"),
        (["split", "input", "--at", "x"], "newStartingHashKey"),
        (["merge", "error"], "only one open shard"),
    ],
)
def test_a_reshard_that_cannot_be(ask: Ask, arguments: list[str], said: str) -> None:
    """One line, exit code 2."""
    ran = ask("reshard", *arguments)

    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err


def test_faults_are_added_listed_and_removed(ask: Ask, emulator: Embedded) -> None:
    """Attributes, conditions and matches given as options are those of the fault."""
    ran = ask(
        *("fault", "add", "latency", "--delay", "250ms", "--channel", "in*", "--toxicity", "0.5"),
        *("--at", "5s", "--every", "3", "--match", "messageType=Metadata*", "--name", "slow", "--json"),
    )
    added = json.loads(ran.out)
    assert (added["name"], added["channel"], added["toxicity"]) == ("slow", "in*", 0.5)
    assert added["attributes"]["delay"] == 0.25
    assert emulator.components.fault_engine.get("slow").when["match"] == {"messageType": "Metadata*"}

    listed = ask("fault", "list").out
    assert "slow" in listed
    assert "delay=0.25" in listed
    assert json.loads(ask("fault", "list", "--json").out)["faults"] == [added]
    assert "slow" in ask("fault", "remove", "slow").out
    gone = ask("fault", "remove", "slow")
    assert (gone.code, gone.err) == (
        2,
        "sandbox: there is no fault 'slow'; sandbox fault list shows those in force: none\n",
    )


def test_a_fault_on_a_channel_that_is_not_there_says_so(ask: Ask, emulator: Embedded) -> None:
    """It may come yet, so the fault is added; one line names the channels that somebody gave a name."""
    emulator.components.fault_engine.note_channel("amq.gen-1", "rabbitmq")
    ran = ask("fault", "add", "duplicate", "--channel", "inptu")
    assert ran.out == "added duplicate: duplicate on inptu\n"
    assert ran.err.startswith("sandbox: note: there is no channel 'inptu' yet; there are: audit, error, ")
    assert "amq.gen" not in ran.err
    for channel in ("in*", "input", "kinesis:input", "*"):
        assert ask("fault", "add", "latency", "--channel", channel, "--name", channel).err == ""


def test_every_fault_can_be_removed_at_once(ask: Ask, emulator: Embedded) -> None:
    """--all, also when there is none."""
    ask("fault", "add", "duplicate")
    ask("fault", "add", "oversize")
    assert len(ask("fault", "remove", "--all").out.splitlines()) == 2
    assert ask("fault", "remove", "--all").code == 0
    assert emulator.components.fault_engine.list() == ()


@pytest.mark.parametrize("name", TYPES)
def test_the_help_of_a_fault_is_the_registrys(sandbox: Ask, name: str) -> None:
    """Every attribute is an option with its description; every type is listed."""
    assert name in sandbox("fault", "add", "--help").out
    page = " ".join(sandbox("fault", "add", name, "--help").out.split())

    for attribute in TYPES[name].attributes:
        assert f"-{attribute.name.replace('_', '-')} " in page
        assert attribute.description[1:] in page


def test_an_attribute_named_as_an_option_of_every_fault(ask: Ask) -> None:
    """--limit is how often any fault strikes; oversize has a limit of its own under a name of its own."""
    ran = ask("fault", "add", "oversize", "--limit", "5", "--oversize-limit", "100000", "--json")

    added = json.loads(ran.out)
    assert (added["limit"], added["attributes"]["limit"]) == (5, 100_000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["duplicate", "--toxicity", "2"], "toxicity is 2"),
        (["latency", "--delay", "soon"], "delay is 'soon'"),
        (["duplicate", "--match", "nonsense"], "FIELD=GLOB"),
        (["duplicate", "--colour", "blue"], "No such option"),
    ],
)
def test_a_fault_that_cannot_be(ask: Ask, emulator: Embedded, arguments: list[str], said: str) -> None:
    """One line, exit code 2, nothing in force."""
    ran = ask("fault", "add", *arguments)

    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert said in ran.err
    assert emulator.components.fault_engine.list() == ()


def test_the_clock(ask: Ask, emulator: Embedded) -> None:
    """Freeze, advance, set, speed, real: each prints what the clock shows then."""
    assert "(frozen)" in ask("clock", "freeze").out
    before = emulator.components.clock.time()
    assert json.loads(ask("clock", "advance", "6m", "--json").out)["time"] == before + 360
    set_ = json.loads(ask("clock", "set", "2026-01-01T00:00:00Z", "--json").out)
    assert (set_["time"], set_["speed"]) == (1_767_225_600, 0)
    assert "60 seconds a second" in ask("clock", "speed", "60").out
    assert "(real time)" in ask("clock", "real").out
    assert "(real time)" in ask("clock", "show").out


def test_reset(ask: Ask, emulator: Embedded) -> None:
    """Faults and further shards are gone."""
    ask("fault", "add", "duplicate")
    ask("reshard", "split", "input")
    ran = ask("reset")

    assert (ran.code, ran.out) == (0, "")
    assert emulator.components.fault_engine.list() == ()
    assert json.loads(ask("status", "--json").out)["streams"][2]["open_shards"] == 2


def test_the_tui_without_a_terminal_says_so_and_ends(emulator: Embedded) -> None:
    """No escape code is drawn into a file or a pipe; exit code 3."""
    command = [sys.executable, "-m", "sandbox", "tui", "--control", emulator.control]
    ran = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60
    )

    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr == (
        "sandbox: the TUI needs a terminal for its input and output; "
        "sandbox tui --serve shows it in a browser\n"
    )


def test_without_its_extra_the_browser_is_announced_to_nobody(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing and what adds it, instead of an address; exit code 3."""
    monkeypatch.setattr(installation, "find_spec", lambda name: None if name == "textual_serve" else name)
    ran = ask("tui", "--serve")

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("sandbox: textual_serve is not installed; get it with: ")
    assert "http://127.0.0.1:8000" not in ran.err
    assert "install" in ran.err


@pytest.mark.parametrize(
    ("command", "missing", "found_by"),
    [
        (("tui",), "textual", "tui.__main__.find_spec"),
        (("demo",), "pyspark", "rdss_sandbox.machine.installation.find_spec"),
    ],
)
def test_a_missing_extra_is_said_with_what_adds_it_here(
    *,
    ask: Ask,
    sandbox: Ask,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    missing: str,
    found_by: str,
) -> None:
    """For this Python and this installation, not for an index that does not have it."""
    real = importlib.util.find_spec
    monkeypatch.setattr(found_by, lambda name, *rest: None if name == missing else real(name, *rest))
    ran = (ask if command == ("tui",) else sandbox)(*command)

    assert ran.code == 3
    assert missing in ran.err
    assert sys.executable in ran.err
    assert "'rdss-sandbox[" not in ran.err
