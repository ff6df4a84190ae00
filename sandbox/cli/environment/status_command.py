from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rdss_sandbox.text.figures import size
from sandbox.cli.environment.doors import describe_doors
from sandbox.cli.options.control_connection import connect, control_option
from sandbox.cli.output.printing import json_option, print_json, print_table

if TYPE_CHECKING:
    from rdss_sandbox.shapes.clock import ClockReading
    from rdss_sandbox.shapes.status import Status
    from sandbox.profiles.docker_engine import Finding


@click.command()
@control_option
@json_option
def status(control: str | None, as_json: bool) -> None:
    """Show where the sandbox answers and what it holds."""
    with connect(control) as client:
        found = client.status()
        faults = client.faults()
    if as_json:
        print_json(found)
        return
    for name, value in _facts(found):
        click.echo(f"{name:<8} {value}")
    for note in found.notes:
        click.echo(f"{'note':<9}{note}")
    for finding in _ailing(control):
        click.echo(f"{'trouble':<9}{finding.found}; {finding.remedy}")
    for fault in faults:
        click.echo(f"{'fault':<9}{fault.name}: {fault.type} on {fault.channel}, {fault.injected} injected")
    click.echo()
    titles = ("stream", "status", "open", "closed", "records", "unread", "size")
    rows = (
        (s.name, s.status, s.open_shards, s.closed_shards, s.records, s.unread, size(s.bytes))
        for s in found.streams
    )
    print_table(titles, rows)


def _ailing(control: str | None) -> list[Finding]:
    """Findings about the containers of the stack started here, if its status is asked for."""
    if control is not None:
        return []
    from sandbox.cli.environment.doctor import stack_findings
    from sandbox.profiles import running

    return stack_findings(running.find())


def _facts(found: Status) -> list[tuple[str, str]]:
    return [
        (
            "sandbox",
            f"{found.version}, profile {found.profile}, process {found.pid}, up {found.uptime:.0f} s",
        ),
        ("contract", found.contract),
        ("aws", found.aws),
        ("control", found.control),
        ("amqp", found.amqp or "-"),
        *([("", f"{found.amqp_management}/api/   (its management)")] if found.amqp_management else []),
        *found.ports.items(),
        *([("open to", describe_doors(found.doors))] if found.doors else []),
        ("data", found.data_dir),
        ("seed", str(found.seed)),
        ("clock", describe_clock(found.clock)),
        ("messages", str(found.messages)),
    ]


def describe_clock(clock: ClockReading) -> str:
    from rdss_sandbox.text.timestamps import timestamp

    if clock.real:
        how = "real time"
    elif clock.speed == 0:
        how = "frozen"
    else:
        how = f"set by hand, {clock.speed:g} seconds a second"
    return f"{timestamp(clock.time)} ({how})"
