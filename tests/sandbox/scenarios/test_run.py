"""Runs: the folder each leaves, the same for the same seed, and the commands that make and repeat them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from emulator.clock import stopwatch
from sandbox.cli import main
from sandbox.scenarios.outcome import ReportKind
from sandbox.scenarios.play import QUIET_SECONDS
from sandbox.scenarios.scenario import library, read_scenario
from sandbox.scenarios.scenario_run import run_scenario

SMALL = """
name: small
title: Small
teach: {happens: a, why: b, client: c}
workload: {messages: 6, batch: 3}
faults: [{type: duplicate, name: twice, channel: input, direction: publish, when: {every: 3}}]
expect: {injected.twice: 2, processed: == offered}
"""


def answer(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(list(arguments))
    return code, json.loads(capfd.readouterr().out)


def without_folders(summary: dict[str, Any]) -> dict[str, Any]:
    return summary | {"scenarios": [{**each, "folder": ""} for each in summary["scenarios"]]}


@pytest.mark.slow
def test_all_twice_is_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Every scenario, run twice with one seed, gives equal summaries: the verdicts and all the facts."""
    arguments = [
        "scenario",
        "run",
        "--all",
        "--seed",
        "7",
        "--json",
        "--report",
        "none",
        "--runs",
        str(tmp_path),
    ]
    (code, first), (_, second) = answer(capfd, *arguments), answer(capfd, *arguments)
    assert code == 0
    assert first["seed"] == 7
    assert {each["verdict"] for each in first["scenarios"]} == {"pass"}
    assert [each["name"] for each in first["scenarios"]] == list(library())
    assert without_folders(first) == without_folders(second)


def test_another_seed_is_another_day(tmp_path: Path) -> None:
    """The seed matters: which messages a fault strikes changes with it."""
    scenario = library()["partial-failure"]
    facts = [
        run_scenario(scenario, scenario.name, seed=seed, reports=frozenset(), runs=tmp_path).judgement.facts
        for seed in (1, 2, 3)
    ]
    assert len({json.dumps(each) for each in facts}) > 1


def test_a_run_leaves_its_folder(tmp_path: Path) -> None:
    """Events, summary, JUnit, a page and the command that repeats it; named after scenario and time."""
    run = run_scenario(read_scenario("small.yaml", SMALL), "small.yaml", seed=7, runs=tmp_path)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ", run.folder.name)
    assert run.folder.parent == tmp_path / "small"
    assert {path.name for path in run.folder.iterdir()} == {
        "events.ndjson", "summary.json", "junit.xml", "report.html", "repeat.txt",
    }  # fmt: skip
    events = [json.loads(line) for line in (run.folder / "events.ndjson").read_bytes().splitlines()]
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert sum(event["kind"] == "fault.injected" for event in events) == 2
    assert (run.folder / "repeat.txt").read_text() == "sandbox scenario run small.yaml --seed 7\n"


def test_the_last_run_can_be_found(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """``latest`` leads to the newest folder, and can be played again by that name."""
    for seed in (1, 2):
        run = run_scenario(read_scenario("s", SMALL), "s", seed=seed, runs=tmp_path)
        assert (tmp_path / "small" / "latest").resolve() == run.folder.resolve()
    code, again = answer(capfd, "replay", str(tmp_path / "small/latest"), "--runs", str(tmp_path), "--json")
    assert (code, again["seed"], again["same"]) == (0, 2, True)


@pytest.mark.parametrize("channel", ["memory", "kinesis", "rabbitmq"])
def test_a_run_can_be_watched_in_its_own_time(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], channel: str
) -> None:
    """With --pace the scenario's time goes by, it says where and what to watch, and the same comes of it."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    arguments = ["scenario", "run", str(path), "--seed", "7", "--channel", channel, "--json"]
    began = stopwatch()
    assert main([*arguments, "--pace", "500", "--runs", str(tmp_path)]) == 0
    paced = stopwatch() - began
    watched = capfd.readouterr()
    where = r"to watch: (http://127\.0\.0\.1:\d+)/ in a browser, or: sandbox tui --control \1\n"
    assert re.search(where, watched.err)
    assert "what happens: a\n" in watched.err
    assert ("look at: the shards of input" in watched.err) == (channel != "rabbitmq")
    assert "faults that strike: twice\n" in watched.err
    _, at_once = answer(capfd, *arguments, "--runs", str(tmp_path))
    slow, fast = json.loads(watched.out)["scenarios"][0], at_once["scenarios"][0]
    assert slow["facts"] == fast["facts"]
    assert paced >= sum(QUIET_SECONDS) / 500


def test_only_the_reports_asked_for_are_left(tmp_path: Path) -> None:
    """The summary always; of the others, those that --report names."""
    reports = frozenset({ReportKind.JUNIT})
    run = run_scenario(read_scenario("s", SMALL), "s", seed=7, reports=reports, runs=tmp_path)
    assert {path.name for path in run.folder.iterdir()} == {"summary.json", "junit.xml", "repeat.txt"}


def test_junit_tells_failures_as_ci_shows_them(tmp_path: Path) -> None:
    """A line that does not hold is a failed test case with what was observed; one not shown is skipped."""
    text = SMALL.replace("processed: == offered", "processed: 5").replace(
        "injected.twice: 2", "injected.twice: 3"
    )
    run = run_scenario(read_scenario("s", text), "s", seed=7, runs=tmp_path)
    suite = ET.parse(run.folder / "junit.xml").getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    failure = suite.find("testcase[@name='processed']/failure")
    assert failure is not None
    assert failure.get("message") == "processed is 6; it must be 5"


def test_a_failing_scenario_fails_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, and the line that does not hold on the screen."""
    path = tmp_path / "wrong.yaml"
    path.write_text(SMALL.replace("processed: == offered", "processed: 5"))
    assert main(["scenario", "run", str(path), "--runs", str(tmp_path)]) == 1
    said = capfd.readouterr().out
    assert "processed is 6; it must be 5" in said
    assert re.search(r"seed \d+", said)


def test_a_fault_that_means_nothing_there_makes_it_inconclusive(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit code 4 and the reason; a fault that did not strike is the same."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL.replace("injected.twice: 2", "injected.twice: 3"))
    assert main(["scenario", "run", str(path), "--runs", str(tmp_path)]) == 4
    path.write_text(SMALL.replace("type: duplicate", "type: expire_iterator").replace("publish", "deliver"))
    assert main(["scenario", "run", str(path), "--runs", str(tmp_path)]) == 4
    assert "expire_iterator means nothing on 'input'" in capfd.readouterr().out


def test_usage(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """No scenario, an unknown one, a report that does not exist, a folder that is no run: exit code 2."""
    for arguments in (
        ["scenario", "run"],
        ["scenario", "run", "fog"],
        ["scenario", "run", "happy-path", "--report", "pdf"],
        ["scenario", "show", "fog"],
        ["replay", str(tmp_path)],
        ["replay", str(tmp_path / "nothing")],
    ):
        assert main(arguments) == 2
        said = capfd.readouterr()
        assert said.out == ""
        assert len(said.err.splitlines()) == 1
        assert "Errno" not in said.err


def test_list_and_show(capfd: pytest.CaptureFixture[str]) -> None:
    """The names with a line each, and what one teaches."""
    assert main(["scenario", "list"]) == 0
    assert "broker-gone-for-a-minute" in capfd.readouterr().out
    assert main(["scenario", "show", "happy-path"]) == 0
    assert library()["happy-path"].teach.client in capfd.readouterr().out
    _, shown = answer(capfd, "scenario", "show", "oversize", "--json")
    assert shown["faults"][0]["type"] == "oversize"


def test_replay_plays_the_same_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """From the folder alone: the scenario as it was, its seed, its channel. Other facts fail."""
    run = run_scenario(read_scenario("s", SMALL), "s", seed=7, runs=tmp_path)
    code, again = answer(capfd, "replay", str(run.folder), "--runs", str(tmp_path), "--json")
    assert (code, again["same"], again["changed"]) == (0, True, {})
    summary = run.folder / "summary.json"
    summary.write_text(summary.read_text().replace('"processed": 6', '"processed": 5'))
    code, again = answer(capfd, "replay", str(run.folder), "--runs", str(tmp_path), "--json")
    assert (code, again["changed"]) == (1, {"processed": {"before": 5, "now": 6}})


def test_a_run_over_kinesis_is_repeated_over_kinesis(tmp_path: Path) -> None:
    """The command that repeats a run names the channel where it is not memory."""
    run = run_scenario(read_scenario("s", SMALL), "s", seed=7, kind="kinesis", runs=tmp_path)
    assert run.judgement.verdict == "pass"
    assert run.command == "sandbox scenario run s --seed 7 --channel kinesis"
