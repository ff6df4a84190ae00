from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from emulator.settings.settings import Settings
    from sandbox.profiles.docker_engine import Finding
    from sandbox.profiles.running import Running

_PARTS = ("sandbox", "amqp", "tui", "pipeline", "compose")


def stack_findings(here: Running | None) -> list[Finding]:
    """Findings about the containers of the stack started here; none where the engine does not answer."""
    if here is None or here.stack is None:
        return []
    from docker.errors import DockerException

    from sandbox.profiles.container_events import ailing

    try:
        return ailing(here.stack)
    except (DockerException, OSError):
        return []


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(_PARTS), metavar="[PART]...")
@json_option
def doctor(parts: tuple[str, ...], as_json: bool) -> None:
    """Look for what is missing here, and say what to do.

    PART is sandbox (Python, ports, disk, data), amqp (RabbitMQ), tui, pipeline (Spark and its Java) or
    compose (Docker). Without PART it looks at all of them. Exit code 3: something is missing that PART
    needs; without PART, that the profile in the settings needs.
    """
    from emulator.settings.settings import read_settings

    settings = read_settings({}, os.environ)
    asked = parts or ("sandbox", *(["compose"] if settings.profile == "compose" else []))
    found = {part: list(_check(part, settings)) for part in parts or _PARTS}
    if as_json:
        print_json([finding for findings in found.values() for finding in findings])
    else:
        for part, findings in found.items():
            _show(part, findings, asked=part in asked)
    stopping = [finding for part in asked for finding in found[part] if finding.stops]
    if stopping:
        raise CommandFailedError(
            f"missing for {', '.join(part for part in asked if any(f.stops for f in found[part]))}: "
            f"{stopping[0].found}",
            Exit.ENVIRONMENT,
        )


def _check(part: str, settings: Settings) -> Iterable[Finding]:
    from sandbox.profiles import docker_engine, machine_checks, running

    # A running sandbox uses its own ports, so these are not findings.
    here = running.find()
    ports = {} if here else machine_checks.own_ports(settings)
    match part:
        case "sandbox":
            yield machine_checks.check_python()
            yield from machine_checks.check_ports(ports)
            yield machine_checks.check_disk(settings.data_dir)
            yield from machine_checks.check_data(settings.data_dir)
        case "amqp":
            yield machine_checks.check_amqp(settings)
            listens = not here and (settings.amqp != "none" or settings.upstream_amqp is not None)
            yield from machine_checks.check_ports({"amqp": settings.amqp_port} if listens else {})
        case "tui":
            yield machine_checks.check_package("textual", "textual", "tui")
        case "pipeline":
            yield machine_checks.check_package("spark", "pyspark", "pipeline")
            yield machine_checks.check_java()
        case "compose":
            yield from docker_engine.findings(os.environ)
            yield from stack_findings(running.read())


def _show(part: str, findings: list[Finding], *, asked: bool) -> None:
    click.echo(f"{part}:")
    for finding in findings:
        mark = "!!" if finding.stops and asked else "--" if finding.remedy else "ok"
        click.echo(f"  {mark}  {finding.about:<9} {finding.found}")
        for line in finding.remedy.splitlines():
            click.echo(f"{'':<16}{line}")
