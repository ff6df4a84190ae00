"""``sandbox logs``."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sandbox.cli.failures import CommandFailed, Exit

if TYPE_CHECKING:
    from sandbox.profiles.running import Running


@click.command()
@click.argument("service", required=False)
@click.option("--tail", type=click.IntRange(min=0), default=100, show_default=True, help="How many lines.")
@click.option("--follow", is_flag=True, help="Go on as they come; needs a SERVICE.")
def logs(service: str | None, tail: int, follow: bool) -> None:
    """Show what the sandbox started here said: its log, or its containers' (one SERVICE, or all)."""
    from sandbox.profiles import running  # noqa: PLC0415 -- kept out of sandbox --help

    found = running.read()
    if found is not None and found.stack is not None:
        _of_containers(found, service, tail, follow=follow)
    else:
        _of_files(service, tail)


def _of_containers(found: Running, service: str | None, tail: int, *, follow: bool) -> None:
    from docker.errors import DockerException  # noqa: PLC0415 -- slow to import

    from sandbox.profiles import compose  # noqa: PLC0415 -- as above

    if follow and service is None:
        raise CommandFailed("--follow needs a SERVICE: localstack, rabbitmq or emulator", Exit.USAGE)
    try:
        names = [each.name for each in compose.services(str(found.stack))]
        if service is not None and service not in names:
            there = ", ".join(names) or "none"
            raise CommandFailed(f"no service {service!r}; there are: {there}", Exit.USAGE)
        for piece in compose.logs(str(found.stack), service, tail, follow=follow):
            click.echo(piece, nl=False)
    except (DockerException, OSError) as error:
        raise CommandFailed(f"the Docker engine does not answer: {error}", Exit.ENVIRONMENT) from error


def _of_files(service: str | None, tail: int) -> None:
    from emulator.settings import STATE_DIRECTORY  # noqa: PLC0415 -- kept out of sandbox --help
    from sandbox.profiles.in_process import LOG_NAME  # noqa: PLC0415 -- as above

    known = {
        "sandbox": Path(STATE_DIRECTORY, LOG_NAME),
        "localstack": Path(STATE_DIRECTORY, "localstack", "localstack.log"),
        "compose": Path(STATE_DIRECTORY, "compose.log"),
    }
    path = known.get(service or "sandbox")
    if path is None:
        raise CommandFailed(f"no log {service!r}; there are: {', '.join(known)}", Exit.USAGE)
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in deque(file, tail):
                click.echo(line, nl=False)
    except FileNotFoundError as error:
        raise CommandFailed(
            f"there is no {path}: no sandbox was started here with --detach", Exit.ENVIRONMENT
        ) from error
