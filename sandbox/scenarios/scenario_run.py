"""Running a scenario: play it, judge it, and write the result into a new folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from emulator.channels.kind_registry import KINDS
from rdss_sandbox.shapes.events import Event
from sandbox.certify.attempt import Client as Command
from sandbox.certify.client_process import check_command
from sandbox.certify.told_lines import json_lines, matching_lines
from sandbox.judging.run_index import write_index
from sandbox.judging.runs import RUNS, new_folder, point_latest
from sandbox.judging.verdict import Verdict
from sandbox.scenarios.backend import Amqp
from sandbox.scenarios.command_judgement import judge_command
from sandbox.scenarios.command_play import play_command
from sandbox.scenarios.facts import Culprits, compute_facts, find_culprits
from sandbox.scenarios.judgement import judge_facts, unplayable
from sandbox.scenarios.junit import junit
from sandbox.scenarios.outcome import Against, ReportKind, Run
from sandbox.scenarios.play import AT_ONCE, UnplayableError, ViewerOptions, play
from sandbox.scenarios.run_report import page
from sandbox.scenarios.scenario import Scenario, ScenarioError
from sandbox.scenarios.scenario_client import Client

SUMMARY: Final = "summary.json"


def run_scenario(
    scenario: Scenario,
    source: str,
    *,
    seed: int,
    kind: str = "memory",
    reports: frozenset[ReportKind] = frozenset(ReportKind),
    runs: Path = RUNS,
    client: Client | None = None,
    show: ViewerOptions = AT_ONCE,
    against: Against | None = None,
    amqp: Amqp = "embedded",
) -> Run:
    """Play and judge a scenario; write summary and reports into a new folder, and the index of runs.

    ``client`` is the client under test; the sandbox's own gateway and receiver without one. ``against`` is a
    command that receives instead, over Kinesis. ``amqp`` names the broker behind channels of RabbitMQ. Raises
    OSError, and ``ClientNotStartedError`` for a command that cannot be started.
    """
    if against is not None:
        # A command that cannot be started leaves no run.
        check_command(against.command)
        kind = "kinesis"
    folder = new_folder(scenario.name, runs)
    events: tuple[Event, ...] = ()
    culprits: Culprits = {}
    with TemporaryDirectory(prefix="sandbox-scenario-") as clients:
        try:
            if against is not None:
                done = play_command(scenario, _client(against), Path(clients), seed=seed)
                played, judgement = done.played, judge_command(scenario, done)
            else:
                played = play(
                    scenario, Path(clients), seed=seed, kind=kind, client=client, show=show, amqp=amqp
                )
                judgement = judge_facts(scenario, compute_facts(played))
        except UnplayableError as error:
            judgement = unplayable(str(error))
        else:
            events = played.events
            culprits = find_culprits(played)
    run = Run(scenario, source, seed, kind, judgement, events, folder, culprits, against)
    _write_reports(run, reports)
    write_index(runs)
    return run


def _client(against: Against) -> Command:
    reads = json_lines("processed") if against.processed is None else matching_lines(against.processed)
    return Command(against.command, reads, against.patience)


class Recorded(msgspec.Struct, frozen=True):
    """The inputs and results of an earlier run, read from its folder."""

    scenario: Scenario
    source: str
    seed: int
    channel: str
    verdict: Verdict
    facts: dict[str, float]
    client: Against | None = None


def read_run(folder: Path) -> Recorded:
    """Read the summary in a run's folder. Raises ``ScenarioError`` when it has none."""
    path = folder / SUMMARY if folder.is_dir() else folder
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Recorded)
    except (OSError, msgspec.MsgspecError) as error:
        why = getattr(error, "strerror", None) or error
        raise ScenarioError(
            f"{folder} is not the folder of a run: {why}; name the one that `sandbox scenario run` printed"
        ) from error
    if found.channel not in KINDS:
        raise ScenarioError(f"{folder} is of channels of {found.channel}, and no extension has that kind")
    return found


def _write_reports(run: Run, reports: frozenset[ReportKind]) -> None:
    summary = run.summary() | {"source": run.source, "scenario": msgspec.to_builtins(run.scenario)}
    _write(run.folder / SUMMARY, msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    _write(run.folder / "repeat.txt", f"{run.command}\n".encode())
    if ReportKind.NDJSON in reports:
        lines = (msgspec.json.encode(event) + b"\n" for event in run.events)
        _write(run.folder / "events.ndjson", b"".join(lines))
    if ReportKind.JUNIT in reports:
        _write(run.folder / "junit.xml", junit(run))
    if ReportKind.HTML in reports:
        _write(run.folder / "report.html", page(run).encode())
    point_latest(run.folder)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
