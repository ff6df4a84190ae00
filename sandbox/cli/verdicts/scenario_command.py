"""``sandbox scenario`` and ``sandbox replay``."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from sandbox.cli.options.channel_kinds import KindOfChannel
from sandbox.cli.options.extras import needs
from sandbox.cli.options.waiting import duration
from sandbox.cli.output.exit_codes import CommandFailedError, Exit, sigterm_as_interrupt
from sandbox.cli.output.printing import json_option, print_json, print_line, print_rows, print_table

if TYPE_CHECKING:
    from rich.console import Console

    from sandbox.scenarios.backend import Amqp
    from sandbox.scenarios.outcome import Against, Run
    from sandbox.scenarios.scenario import Scenario

_REPORTS = ("junit", "html", "ndjson")
_COMMAND = "sandbox.scenario.command"
_JUDGED = ("lost", "twice", "altered", "misjudged", "ended", "processed", "rejected")
_runs_option = click.option(
    "--runs",
    type=click.Path(file_okay=False, path_type=Path),
    default="runs",
    help="The folder in which each run makes its own.",
)


@click.group()
def scenario() -> None:
    """Play scenarios of failures on their own clock, and judge what a client makes of them."""


@scenario.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the scenarios that come with the sandbox."""
    from sandbox.scenarios.scenario import library

    found = library().values()
    print_rows(
        [{"name": each.name, "title": each.title} for each in found],
        ("scenario", "what goes wrong"),
        [(each.name, each.title) for each in found],
        as_json=as_json,
    )


@scenario.command()
@click.argument("wanted", metavar="NAME|FILE")
@json_option
def show(wanted: str, as_json: bool) -> None:
    """Show what a scenario teaches, sends, breaks and expects."""
    from sandbox.scenarios.scenario import find_scenario
    from sandbox.scenarios.scenario_text import describe_scenario

    found = find_scenario(wanted)
    print_line(found, describe_scenario(found), as_json=as_json)


def _reports(_ctx: click.Context, _parameter: click.Parameter, value: str) -> frozenset[str]:
    wanted = frozenset(filter(None, value.split(",")))
    for report in sorted(wanted - {*_REPORTS, "none"}):
        raise click.BadParameter(f"there is no report {report!r}; there are {', '.join(_REPORTS)}, and none")
    return wanted - {"none"}


class _WithCommand(click.Command):
    """A command whose arguments behind ``--client ... --`` are those of another program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        if "--client" in args[:at]:
            ctx.meta[_COMMAND] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[--client -- COMMAND [ARG]...]"]


@scenario.command(cls=_WithCommand)
@click.argument("wanted", metavar="[NAME|FILE]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every scenario that comes with the sandbox.")
@click.option("--seed", type=int, metavar="N", help="The seed of everything random.  [default: drawn]")
@click.option("--channel", type=KindOfChannel("broker"), default="memory", help="What carries the messages.")
@click.option(
    "--report",
    "reports",
    callback=_reports,
    default=",".join(_REPORTS),
    metavar="LIST",
    help="The reports that each run writes besides its summary, or none.",
)
@_runs_option
@click.option(
    "--pace",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Play N seconds of the scenario a second, and say where to watch it.  [default: as fast as it goes]",
)
@click.option(
    "--client",
    is_flag=True,
    help="Play against COMMAND, a consumer as for `sandbox certify`, in place of the sandbox's receiver.",
)
@click.option(
    "--processed",
    metavar="REGEX",
    help="With --client: find messageIds in what it prints: group id, else the first, or the match.",
)
@click.option(
    "--patience",
    metavar="TIME",
    callback=duration,
    help="With --client: how long it may read without news before missing messages are lost.  [default: 8s]",
)
@json_option
@needs("messages")
@click.pass_context
def run(
    ctx: click.Context,
    *,
    wanted: tuple[str, ...],
    everything: bool,
    seed: int | None,
    channel: str,
    reports: frozenset[str],
    runs: Path,
    pace: float | None,
    client: bool,
    processed: str | None,
    patience: float | None,
    as_json: bool,
) -> int:
    """Play scenarios by name or from files, and judge what became of every message.

    Each leaves a folder runs/SCENARIO/TIME/ with its events, a report page, JUnit XML and the command that
    repeats it. The same seed gives the same run.

    With --client, COMMAND receives the messages. Its environment says where to read. It prints
    {"processed": "<messageId>"} for each message, before it writes its checkpoint. Facts that cannot be seen
    from outside are shown as not observable. Exit code 0: every line holds; 1: one does not; 4: none fails,
    and something that should be shown was not.
    """
    from emulator.rng import new_seed

    against = _against(ctx, processed, patience) if client else None
    if against is None and (processed is not None or patience is not None):
        raise click.UsageError("--processed and --patience are for --client -- COMMAND")
    chosen = _chosen(wanted, everything=everything)
    refused = _refuse(chosen, everything=everything) if against else {}
    chosen = [(name, each) for name, each in chosen if name not in refused]
    seed = new_seed() if seed is None else seed
    done = _play_all(chosen, seed, channel, reports, runs, pace=pace, against=against)
    if as_json:
        not_played = {"not_played": refused} if refused else {}
        print_json({"seed": seed, "scenarios": [each.summary() for each in done], **not_played})
    else:
        _show(done, seed)
        for why in refused.values():
            click.echo(f"not played: {why}")
    verdicts = {each.judgement.verdict for each in done}
    if "fail" in verdicts:
        return Exit.FAIL
    return Exit.INCONCLUSIVE if "inconclusive" in verdicts else Exit.PASS


@click.command()
@click.argument("folder", metavar="RUN", type=click.Path(path_type=Path))
@_runs_option
@json_option
@needs("messages")
def replay(folder: Path, runs: Path, as_json: bool) -> int:
    """Play a run again from its folder, with its seed, and say whether the facts are the same.

    A run against a command is played against it again, and what is judged of it is compared.

    Exit code 0 when every fact is the same, whatever the verdict was.
    """
    from sandbox.scenarios.scenario_run import read_run

    before = read_run(folder)
    [again] = _play_all(
        [(before.source, before.scenario)],
        before.seed,
        before.channel,
        frozenset(_REPORTS),
        runs,
        pace=None,
        against=before.client,
    )
    facts = again.judgement.facts
    if before.client is not None:
        # What a command does when is its own affair; what is judged of it must be the same.
        facts = {
            line.claim: facts.get(line.claim, 0) for line in again.judgement.lines if line.claim in _JUDGED
        }
    compared = facts.keys() if before.client else facts.keys() | before.facts.keys()
    changed = {
        fact: {"before": before.facts.get(fact, 0), "now": facts.get(fact, 0)}
        for fact in sorted(compared)
        if facts.get(fact, 0) != before.facts.get(fact, 0)
    }
    same = not changed and again.judgement.verdict is before.verdict
    if as_json:
        print_json({"same": same, "before": before.verdict, "changed": changed, **again.summary()})
    else:
        _show([again], before.seed)
        if changed:
            rows = [(fact, *values.values()) for fact, values in changed.items()]
            print_table(("fact", "before", "now"), rows)
        click.echo(f"{'the same' if same else 'not the same'} as in {folder}")
    return Exit.PASS if same else Exit.FAIL


def _against(ctx: click.Context, processed: str | None, patience: float | None) -> Against:
    import re

    from sandbox.scenarios.outcome import PATIENCE_SECONDS, Against

    command = ctx.meta[_COMMAND]
    if not command:
        raise click.UsageError("--client needs a command behind the options: --client -- COMMAND [ARG]...")
    asked = ctx.get_parameter_source("channel") is not ParameterSource.DEFAULT
    if asked and ctx.params["channel"] != "kinesis":
        raise click.UsageError("--client reads a stream through the AWS port: --channel kinesis, or none")
    if ctx.params["pace"] is not None:
        raise click.UsageError("--client plays in real time as the command works, so --pace does not apply")
    if processed is not None:
        try:
            re.compile(processed)
        except re.error as error:
            raise click.UsageError(f"--processed {processed!r} is no regular expression: {error}") from error
    return Against(command, processed, PATIENCE_SECONDS if patience is None else patience)


def _refuse(chosen: list[tuple[str, Scenario]], *, everything: bool) -> dict[str, str]:
    """Why scenarios cannot be played against a command; one that was asked for by name is a usage error."""
    from sandbox.scenarios.command_play import find_obstacle

    refused = {name: why for name, each in chosen if (why := find_obstacle(each))}
    if refused and not everything:
        raise CommandFailedError("; ".join(refused.values()), Exit.USAGE)
    return refused


def _chosen(wanted: tuple[str, ...], *, everything: bool) -> list[tuple[str, Scenario]]:
    from sandbox.scenarios.scenario import find_scenario, library

    if everything == bool(wanted):
        raise click.UsageError("name a scenario or a file, or say --all; sandbox scenario list has the names")
    if not everything:
        return [(name, find_scenario(name)) for name in wanted]
    if found := library():
        return list(found.items())
    why = "no scenario of ours is for messages of this contract; sandbox scenario run happy-path says why"
    raise CommandFailedError(why, Exit.USAGE)


def _play_all(
    chosen: list[tuple[str, Scenario]],
    seed: int,
    kind: str,
    reports: frozenset[str],
    runs: Path,
    *,
    pace: float | None,
    against: Against | None,
) -> list[Run]:
    from sandbox.scenarios.outcome import ReportKind
    from sandbox.scenarios.play import AT_ONCE, ViewerOptions
    from sandbox.scenarios.scenario_run import run_scenario
    from sandbox.visible_output import make_console

    wanted = frozenset(ReportKind(name) for name in reports)
    amqp = _read_amqp(kind)
    done: list[Run] = []
    talk = make_console(stderr=True)
    with sigterm_as_interrupt(), talk.status(f"seed {seed}") as status:
        for name, each in chosen:
            status.update(f"{name} (seed {seed})")
            tell = partial(_tell_what_to_watch, talk, each, kind)
            done.append(
                run_scenario(
                    each,
                    name,
                    seed=seed,
                    kind=kind,
                    reports=wanted,
                    runs=runs,
                    show=ViewerOptions(pace, tell) if pace else AT_ONCE,
                    against=against,
                    amqp=amqp,
                )
            )
    return done


def _read_amqp(kind: str) -> Amqp:
    """Read which broker carries the messages, from the setting that ``sandbox up`` reads."""
    from emulator.channels.kind_registry import KINDS
    from emulator.settings.settings import read_settings

    # Without channels at an AMQP port a scenario has no use for settings, nor for a mistake in them.
    asked = read_settings({}, os.environ).amqp if KINDS[kind].broker == "amqp" else None
    return "server" if asked == "server" else "embedded"


def _tell_what_to_watch(talk: Console, scenario: Scenario, kind: str, control: str) -> None:
    """Say where a scenario that plays now can be watched, and what to look at there."""
    from emulator.channels.kind_registry import KINDS
    from sandbox.cli.environment.watch_command import watch_address

    # Messages in a broker's queues are in no stream.
    lanes = "the shards of input, how far the receiver is in each, and " if KINDS[kind].streams else ""
    faults = ", ".join(fault.name or fault.type for fault in scenario.faults)
    lines = (
        f"to watch: {watch_address(control, None)} in a browser, or: sandbox tui --control {control}",
        f"what happens: {scenario.teach.happens}",
        f"look at: {lanes}the figures from offered to processed",
        f"faults that strike: {faults}" if faults else "faults that strike: none",
    )
    for line in lines:
        talk.print(line, markup=False, highlight=False, soft_wrap=True)


_COLOURS = {"pass": "green", "fail": "bold red", "inconclusive": "yellow"}


def _show(done: list[Run], seed: int) -> None:
    from sandbox.visible_output import make_console

    console = make_console(highlight=False, soft_wrap=True)
    for each in done:
        verdict = each.judgement.verdict.value
        mark = f"[{_COLOURS[verdict]}]{verdict:<12}[/]"
        console.print(f"{mark} {each.scenario.name:<28} {each.folder}/")
        if each.judgement.note:
            console.print(f"    {each.judgement.note}", markup=False)
        unseen = each.judgement.not_observable
        for line in each.judgement.lines:
            if not line.holds and line.claim not in unseen:
                console.print(
                    f"    {line.claim} is {line.observed}; it must be {line.expected}", markup=False
                )
        for fact, why in unseen.items():
            console.print(f"    {fact} is not observable: {why}", markup=False)
        for remark in each.judgement.remarks:
            console.print(f"    {remark}", markup=False)
    console.print(f"\nseed {seed}; sandbox replay FOLDER plays one of them again")
