from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.text.figures import counted
from sandbox.cli.options.control_connection import connect, control_option
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json, print_styled, print_table

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.diagnosis import Diagnosis, Finding

_LOOK_SECONDS = 2.0


@click.command()
@click.option("--stream", help="Only what concerns this stream.")
@click.option("--client", "name", help="Only what this client did, by the name that sandbox readers shows.")
@click.option("--watch", is_flag=True, help="Go on, and print each new finding.")
@click.option("--rules", is_flag=True, help="Show every rule with its verdict, those without a finding too.")
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write what the clients were seen to do to this file, as JSON.",
)
@click.option(
    "--from",
    "saved",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Judge the file that --save wrote, not the running sandbox.",
)
@control_option
@json_option
def diagnose(
    *,
    stream: str | None,
    name: str | None,
    watch: bool,
    rules: bool,
    save: Path | None,
    saved: Path | None,
    control: str | None,
    as_json: bool,
) -> None:
    """Say what clients do wrong: with the evidence, and what to do.

    Every client that uses the sandbox's Kinesis is judged by what it was seen to do. docs/diagnose.md has
    the rules. The exit code is 1 when something was found.
    """
    if saved is not None and (watch or save is not None):
        raise CommandFailedError("--from FILE goes with neither --watch nor --save", Exit.USAGE)
    if saved is not None:
        found = _judge_saved(saved)
        chosen = [each for each in found.findings if stream in {None, each.stream}]
        _show(found, [each for each in chosen if name in {None, each.client}], rules=rules, as_json=as_json)
        return
    with connect(control) as client:
        if save is not None:
            import msgspec

            save.write_bytes(msgspec.json.format(msgspec.json.encode(client.recorded_exchange())))
        if watch:
            _watch(client, stream, name, as_json=as_json)
            return
        found = _look(client, stream, name)
        if stream and not found.findings:
            client.stream(stream)  # refused where there is none: nothing is found of a name that is mistyped
        _show(found, list(found.findings), rules=rules, as_json=as_json)


def _look(client: Client, stream: str | None, name: str | None) -> Diagnosis:
    """Ask until all that the streams hold was looked through."""
    while not (found := client.diagnosis(stream=stream, client=name)).complete:
        pass
    return found


def _judge_saved(path: Path) -> Diagnosis:
    import msgspec

    from emulator.diagnosis.diagnosis import diagnose as judge
    from rdss_sandbox.shapes.recorded_exchange import Exchange

    try:
        return judge(msgspec.json.decode(path.read_bytes(), type=Exchange))
    except msgspec.MsgspecError as error:
        raise CommandFailedError(f"{path} was not written by sandbox diagnose --save", Exit.USAGE) from error


def _show(found: Diagnosis, findings: list[Finding], *, rules: bool, as_json: bool) -> None:
    if as_json:
        import msgspec

        print_json(msgspec.structs.replace(found, findings=tuple(findings)))
    else:
        for each in findings:
            _print_finding(each)
        if rules:
            _print_rules(found)
        if not found.known:
            click.echo(
                "an upstream has the streams: clients that go past this sandbox are not seen, "
                "and nobody looks into the records"
            )
        looked = sum(each.looked > 0 for each in found.rules)
        click.echo(
            f"{counted(len(findings), 'finding')} about {counted(len(found.clients), 'client')}; "
            f"{looked} of {len(found.rules)} rules had something to look at"
        )
    if findings:
        click.get_current_context().exit(Exit.FAIL)


def _write(value: Any) -> str:
    """A value of the evidence for people; times between two things are in seconds."""
    match value:
        case list() | tuple():
            return ", ".join(map(_write, value)) or "none"
        case dict():
            return ", ".join(f"{name} {_write(each)}" for name, each in value.items()) or "none"
        case float():
            return f"{value:.3g} s"
        case None:
            return "none"
    return str(value)


def _print_finding(found: Finding) -> None:
    from rdss_sandbox.text.timestamps import timestamp

    print_styled(f"{found.rule} ({found.harm})", fg="red", bold=True)
    click.echo(f"  {found.said}")
    for step in found.steps:
        click.echo(f"    {timestamp(step.at)}  {step.said}")
    if not found.steps:
        click.echo(f"    {timestamp(found.at)}")
    click.echo(
        f"  evidence: {'; '.join(f'{name}: {_write(value)}' for name, value in found.evidence.items())}"
    )
    if found.faults:
        click.echo(f"  faults: {', '.join(found.faults)}")
    click.echo(f"  do: {found.advice}\n")


def _print_rules(found: Diagnosis) -> None:
    rows = [(each.rule, each.verdict, each.looked, each.findings, each.title) for each in found.rules]
    print_table(("rule", "verdict", "looked", "found", "what it finds"), rows)


def _watch(client: Client, stream: str | None, name: str | None, *, as_json: bool) -> None:
    """Print each finding once, until the command is interrupted."""
    from emulator.clock import Clock

    printed: set[tuple[str, str | None, str, str | None]] = set()
    clock = Clock()
    while True:
        for each in _look(client, stream, name).findings:
            key = (each.rule, each.client, each.stream, each.shard)
            if key not in printed:
                printed.add(key)
                if as_json:
                    print_json(each)
                else:
                    _print_finding(each)
        clock.wait(_LOOK_SECONDS)
