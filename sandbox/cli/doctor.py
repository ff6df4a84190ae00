"""``sandbox doctor``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from sandbox.cli.exit_codes import CommandFailedError, Exit
from sandbox.cli.printing import json_option, print_json

if TYPE_CHECKING:
    from sandbox.profiles.docker_engine import Finding
    from sandbox.profiles.running import Running


def _rabbitmq() -> Finding:
    """Say what answers on the AMQP port of every profile except compose."""
    from emulator.rabbitmq.broker_process import explain_missing_server, find_server
    from sandbox.profiles.docker_engine import Finding

    server = find_server(os.environ)
    if server is not None:
        return Finding("rabbitmq", f"{server} is here: sandbox up starts it; --amqp embedded does not")
    missing = explain_missing_server(os.environ)
    return Finding("rabbitmq", f"{missing}: the sandbox's own broker answers on the AMQP port")


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
@json_option
def doctor(as_json: bool) -> None:
    """Look for what is missing here, and say what to do.

    The profile compose needs Docker; the others need nothing. Exit code 3: the profile
    compose cannot start.
    """
    from emulator.settings.settings import read_settings
    from sandbox.profiles import docker_engine, running

    settings = read_settings({}, os.environ)
    ports = {"aws": settings.aws_port, "control": settings.control_port, "amqp": settings.amqp_port}
    here = running.find()
    # A running sandbox uses its own ports, so these are not findings.
    found = list(docker_engine.findings(os.environ, {} if here else ports))
    found += stack_findings(running.read())
    found.append(_rabbitmq())
    if as_json:
        print_json(found)
    else:
        for finding in found:
            mark = "!!" if finding.stops else "--" if finding.remedy else "ok"
            click.echo(f"{mark}  {finding.about:<9} {finding.found}")
            for line in finding.remedy.splitlines():
                click.echo(f"{'':<14}{line}")
    if stopping := [finding for finding in found if finding.stops]:
        raise CommandFailedError(
            f"the profile compose cannot start here: {stopping[0].found}; sandbox up needs no Docker",
            Exit.ENVIRONMENT,
        )
