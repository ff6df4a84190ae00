"""Scenarios against a command of the user: which are played, what is judged, and what cannot be seen."""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from emulator.clock import Clock, stopwatch
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.trace import Delivery, Read
from sandbox.certify.history import History, Life, Statement
from sandbox.cli import main
from sandbox.judging.verdict import Verdict
from sandbox.scenarios.command_judgement import judge_command
from sandbox.scenarios.command_play import CommandRun, JumpingClock, find_obstacle
from sandbox.scenarios.outcome import Against
from sandbox.scenarios.play import START, Played
from sandbox.scenarios.scenario import library, read_scenario
from sandbox.scenarios.scenario_run import read_run, run_scenario
from sandbox.scenarios.workload import identity, make_messages
from tests.taken_out import needs

LIBRARY = library()
CLIENTS = Path(__file__).parents[1] / "certify" / "clients"
CLAIMED = {"claim-expires", "double-delivery", "late-release"}
PLAIN = """
name: plain
title: Plain
teach: {happens: a, why: b, client: c}
workload: {messages: 2, batch: 2}
expect: {processed: == offered, lag: <= 2s}
"""


def play(name: str, folder: Path, *command: str, patience: float = 60.0) -> dict[str, Any]:
    """Play a scenario against a command and return the summary; the patience is for a loaded machine."""
    against = Against(command, patience=patience)
    run = run_scenario(LIBRARY[name], name, seed=7, runs=folder, against=against)
    return run.summary()


def broken(summary: dict[str, Any]) -> dict[str, str]:
    return {line["claim"]: line["observed"] for line in summary["lines"] if not line["holds"]}


def run_of(*, digest: bool = True, told: int = 1, ended: int = 0, of: int = 2) -> CommandRun:
    """A run of ``PLAIN`` in which a command was given all messages, and told of the first ``of``."""
    scenario = read_scenario("plain", PLAIN)
    offered = tuple(make_messages(scenario.workload, 7, START))
    history = History("input", stopwatch())
    events: list[Event] = []
    for number, each in enumerate(offered):
        name = identity(each.data)
        history.exchanges.append(Read(0.1, 0, "input", "s-0", records=(Delivery(str(number), name),)))
        place = {"shard": "s-0", "sequence_number": str(number), "channel": "input"}
        rows: list[tuple[str, dict[str, Any]]] = [
            ("message.acknowledged", place),
            ("message.delivered", place),
        ]
        if number < of:
            history.told.append(Statement(name, 0.2, 0, "d" if digest else None))
            done = {"parts": 1, "body": None, "at": START + 1}
            rows += [("message.processed", done)] * told
        events += [
            Event(len(events) + 1, START, kind, {"message_id": name, **fields}) for kind, fields in rows
        ]
    history.lives += [Life(number, 0.0, 1.0, "itself", 3, output=("no luck",)) for number in range(ended)]
    return CommandRun(Played(offered, tuple(events), ()), history)


@pytest.mark.parametrize("name", LIBRARY)
def test_every_scenario_is_played_or_refused_with_a_reason(name: str) -> None:
    """Claims and failures of our applications are refused, in a sentence that says so; others are played."""
    why, because = find_obstacle(LIBRARY[name]), "claimed" if name in CLAIMED else "failures"
    assert bool(why) == (name in {*CLAIMED, "failing-applications"})
    assert not why or (why.startswith(f"{name} cannot be played against a command: ") and because in why)


def test_what_cannot_be_seen_is_never_a_pass() -> None:
    """Lag has no line, and is said to be not observable; bodies without sha256 make it inconclusive."""
    judgement = judge_command(read_scenario("plain", PLAIN), run_of(digest=False))
    assert judgement.not_observable.keys() == {"lag", "altered"}
    lines = {line.claim: line for line in judgement.lines}
    assert "lag" not in lines
    assert (lines["altered"].observed, lines["altered"].holds) == ("not observable", None)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "altered" not in judgement.facts
    assert judge_command(read_scenario("plain", PLAIN), run_of()).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("run", "fact"),
    [
        (run_of(of=1), "lost"),
        (run_of(told=2), "twice"),
        (run_of(ended=1), "ended"),
        (run_of(of=0), "processed"),
    ],
    ids=["lost", "twice", "ended", "tells nothing"],
)
def test_what_a_command_does_wrong_fails(run: CommandRun, fact: str) -> None:
    """A message not told, told twice, and a command that ends by itself, told with its last words."""
    judgement = judge_command(read_scenario("plain", PLAIN), run)
    assert judgement.verdict is Verdict.FAIL
    assert fact in {line.claim for line in judgement.lines if line.holds is False}
    if fact == "ended":
        assert judgement.remarks == ("it ended by itself with exit code 3; its last lines: no luck",)
    if fact == "processed":
        assert "told of none" in judgement.remarks[0]


def test_a_stimulus_that_is_missing_is_no_failure_of_the_command() -> None:
    """A crash that did not come, and a redelivery that did, are not held against it."""
    text = PLAIN.replace("lag: <= 2s", "crashes: 2, repeated: 3")
    judgement = judge_command(read_scenario("plain", text), run_of())
    assert {line.claim: line.holds for line in judgement.lines if not line.holds} == {
        "crashes": None,
        "repeated": None,
    }
    assert judgement.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(
            ["claim-expires", "--client", "--", "true"],
            "claimed by 2 workers from a queue",
            marks=needs("queues"),
        ),
        (["happy-path", "--client"], "--client needs a command"),
        (["happy-path", "--client", "--"], "--client needs a command"),
        (["--client", "--", "true"], "name a scenario or a file"),
        (["happy-path", "--patience", "1s"], "are for --client"),
        (["happy-path", "--client", "--channel", "rabbitmq", "--", "true"], "--channel kinesis, or none"),
        (["happy-path", "--client", "--pace", "3", "--", "true"], "--pace does not apply"),
        (["happy-path", "--client", "--processed", "(", "--", "true"], "no regular expression"),
    ],
)
def test_usage(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """What cannot be is exit code 2 and one line, and nothing is started."""
    monkeypatch.chdir(tmp_path)
    assert main(["scenario", "run", *arguments]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_command_that_is_not_there_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, and no folder of a run that never was."""
    runs = tmp_path / "runs"
    arguments = ["scenario", "run", "happy-path", "--runs", str(runs), "--client", "--", "no-such-client"]
    assert main(arguments) == 3
    assert "no-such-client cannot be started" in capfd.readouterr().err
    assert not runs.exists()


def test_the_clock_jumps_for_the_thread_that_plays() -> None:
    """A wait of the playing thread takes no time and runs what is due; other threads really wait."""
    clock, moved = JumpingClock(), []
    clock.on_move = lambda: moved.append(clock.time())
    began, real = clock.time(), stopwatch()
    clock.wait(3600)
    assert stopwatch() - real < 60
    assert clock.time() - began >= 3600
    assert len(moved) == 1
    waited: list[bool] = []
    other = threading.Thread(target=lambda: waited.append(clock.wait(3600)))
    other.start()
    clock.wait(3600)
    other.join(60)
    assert waited == [True]


def test_no_jump_passes_a_barrier_before_its_time() -> None:
    """What expires on the machine's clock has expired there, too, when the sandbox's clock is past it."""
    clock, machine = JumpingClock(), Clock()
    lifts = machine.time() + 0.2
    clock.hold_before(clock.time() + 30, lifts)
    clock.wait(29)
    assert clock.time() < lifts + 29
    clock.wait(5)
    assert machine.time() >= lifts


RIGHT = (sys.executable, str(CLIENTS / "right_consumer.py"))
OURS = (sys.executable, str(CLIENTS / "receiver_consumer.py"))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name", ["redelivery-after-a-crash", "expired-message", "slow-consumer", "oversize", "answer-lost"]
)
def test_our_receiver_passes_as_a_command(name: str, tmp_path: Path) -> None:
    """Every line that can be judged holds, and every fault struck it."""
    summary = play(name, tmp_path, *OURS)
    assert (summary["verdict"], broken(summary)) == ("pass", {}), summary["remarks"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_right_client_passes_and_the_naive_one_fails(tmp_path: Path) -> None:
    """The naive one loses what lies in the split's children, and it is said which shard it never read."""
    assert play("split-under-load", tmp_path, *RIGHT)["verdict"] == "pass"
    naive = play(
        "split-under-load", tmp_path, sys.executable, str(CLIENTS / "naive_consumer.py"), patience=4.0
    )
    assert naive["verdict"] == "fail"
    assert {"lost", "processed"} <= broken(naive).keys() <= {"lost", "processed", "altered"}
    assert any("shardId-000000000002" in each and "was never read" in each for each in naive["remarks"])
    suite = ET.parse(Path(naive["folder"], "junit.xml")).getroot()
    failure = suite.find("testcase[@name='lost']/failure")
    assert failure is not None
    assert "was never read" in str(failure.text)
    assert suite.find("testcase[@name='altered']/skipped") is not None
    report = Path(naive["folder"], "report.html").read_text(encoding="utf-8")
    assert "was never read" in report
    recorded = read_run(Path(naive["folder"]))
    assert recorded.client is not None
    assert shlex.split(naive["command"])[-3:] == ["--", *recorded.client.command]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "script",
    [
        "exit 3",
        "trap '' TERM; printf '{\\377\\n[1]\\n'; yes 0123 & while :; do sleep 1; done",
    ],
    ids=["dies at once", "hangs, prints rubbish and ignores SIGTERM"],
)
def test_strange_commands_fail_in_bounded_time(
    script: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The verdict is clear, with a sentence that says why, and no process is left behind."""
    began, pids = stopwatch(), tmp_path / "pids"
    arguments = ["--patience", "500ms", "--runs", str(tmp_path / "runs"), "--json", "--client", "--"]
    script = f"setsid sleep 300 & echo $! >> {pids}; {script}"
    assert main(["scenario", "run", "happy-path", "--seed", "7", *arguments, "sh", "-c", script]) == 1
    [summary] = json.loads(capfd.readouterr().out)["scenarios"]
    assert summary["verdict"] == "fail"
    assert {"lost", "processed"} <= broken(summary).keys()
    assert "made no request" in summary["remarks"][0]
    assert stopwatch() - began < 120
    assert [pid for pid in pids.read_text(encoding="utf-8").split() if _runs(int(pid))] == []


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    return state != "Z"
