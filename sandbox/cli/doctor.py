"""``sandbox doctor``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from sandbox.cli.failures import CommandFailed, Exit
from sandbox.cli.output import json_option, print_json

if TYPE_CHECKING:
    from sandbox.profiles.docker_engine import Finding
    from sandbox.profiles.running import Running


def stack_findings(here: Running | None) -> list[Finding]:
    """What ails the containers of the stack that was started here; nothing where an engine does not say."""
    if here is None or here.stack is None:
        return []
    from docker.errors import DockerException  # noqa: PLC0415 -- kept out of sandbox --help

    from sandbox.profiles.container_events import ailing  # noqa: PLC0415 -- as above

    try:
        return ailing(here.stack)
    except (DockerException, OSError):
        return []


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Look at what sandbox up --profile compose needs here: what is wrong, and what to do.

    Exit code 3 when something keeps it from starting.
    """
    from emulator.settings import read_settings  # noqa: PLC0415 -- kept out of sandbox --help
    from sandbox.profiles import docker_engine, running  # noqa: PLC0415 -- as above

    settings = read_settings({}, os.environ)
    ports = {"aws": settings.aws_port, "control": settings.control_port, "amqp": settings.amqp_port}
    here = running.find()
    # Its own ports are taken by a sandbox that runs, as they should be.
    found = list(docker_engine.findings(os.environ, {} if here else ports))
    found += stack_findings(running.read())
    if as_json:
        print_json(found)
    else:
        for finding in found:
            mark = "!!" if finding.stops else "--" if finding.remedy else "ok"
            click.echo(f"{mark}  {finding.about:<8} {finding.found}")
            if finding.remedy:
                click.echo(f"{'':<13}{finding.remedy}")
    if stopping := [finding for finding in found if finding.stops]:
        raise CommandFailed(
            f"the compose profile cannot start here: {stopping[0].found}; sandbox up needs none of this",
            Exit.ENVIRONMENT,
        )
