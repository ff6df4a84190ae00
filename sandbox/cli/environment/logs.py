from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.questions.deadline import Deadline
from sandbox.cli.environment.events_command import live_events, show_event
from sandbox.cli.options.control_connection import control_option
from sandbox.cli.options.waiting import timeout_option, within
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option

if TYPE_CHECKING:
    from sandbox.profiles.running import Running


@click.command()
@click.argument("service", required=False)
@click.option("--tail", type=click.IntRange(min=0), metavar="N", default=100, help="How many lines.")
@click.option("--follow", is_flag=True, help="Go on as more comes: events, or what a container writes.")
@timeout_option("With --follow: stop after this long: 500ms, 30s, 5m.")
@control_option
@json_option
def logs(
    *,
    service: str | None,
    tail: int,
    follow: bool,
    timeout: float | None,
    control: str | None,
    as_json: bool,
) -> None:
    """Show what happened in the sandbox: its events, and what its process or containers wrote.

    Without SERVICE it shows what the sandbox's process wrote, then the events, the newest last. This works
    for a sandbox that has stopped, too. SERVICE is sandbox, localstack or compose: it shows what that
    process wrote. In the profile compose it is a container's name; --follow without one follows the
    events. --json prints events alone.
    """
    from sandbox.profiles import running

    found = None if control else running.read()
    deadline = Deadline(timeout)
    if found is not None and found.stack is not None and (service is not None or not follow):
        _print_container_logs(found, service, tail, deadline, follow=follow)
        return
    if service is not None:
        _print_file(service, tail)
        return
    written = [] if control or as_json else _last_lines(_file("sandbox"), tail)
    for line in written:
        click.echo(line, nl=False)
    if control or (found is not None and found.alive):
        for event in within(deadline, live_events(control, tail, follow=follow)):
            show_event(event, as_json)
    elif follow:
        raise CommandFailedError(
            "no sandbox runs here to follow; start one with: sandbox up --detach", Exit.ENVIRONMENT
        )
    else:
        _print_stored_events(found, tail, as_json, alone=not written)


def _print_stored_events(found: Running | None, tail: int, as_json: bool, *, alone: bool) -> None:
    """Print the last events of a stopped sandbox."""
    import os

    from emulator.assembly.data_directory import read_events
    from emulator.settings.settings import read_settings

    place = Path(found.data_dir) if found else read_settings({}, os.environ).data_dir
    try:
        events = deque(read_events(place), tail) if place else deque[Any]()
    except FileNotFoundError:
        events = deque()
    if not events and alone and not as_json:
        raise CommandFailedError(
            "there is nothing to show: no sandbox was started here; start one with: sandbox up --detach",
            Exit.ENVIRONMENT,
        )
    for event in events:
        show_event(event, as_json)


def _print_container_logs(
    found: Running, service: str | None, tail: int, deadline: Deadline, *, follow: bool
) -> None:
    from docker.errors import DockerException

    from sandbox.profiles import compose_profile

    try:
        names = [each.name for each in compose_profile.services(str(found.stack))]
        if service is not None and service not in names:
            there = ", ".join(names) or "none"
            raise CommandFailedError(f"no service {service!r}; there are: {there}", Exit.USAGE)
        for piece in within(deadline, compose_profile.logs(str(found.stack), service, tail, follow=follow)):
            click.echo(piece, nl=False)
    except (DockerException, OSError) as error:
        raise CommandFailedError(f"the Docker engine does not answer: {error}", Exit.ENVIRONMENT) from error


def _file(service: str) -> Path:
    """The log file of a process. Raises CommandFailedError for an unknown one."""
    from emulator.settings.settings import STATE_DIRECTORY
    from sandbox.profiles.in_process import LOG_NAME
    from sandbox.profiles.running import state_directory

    known = {
        "sandbox": state_directory() / LOG_NAME,
        "localstack": Path(STATE_DIRECTORY, "localstack", "localstack.log"),
        "compose": Path(STATE_DIRECTORY, "compose.log"),
    }
    if service not in known:
        raise CommandFailedError(f"no log {service!r}; there are: {', '.join(known)}", Exit.USAGE)
    return known[service]


def _print_file(service: str, tail: int) -> None:
    path = _file(service)
    if not path.exists():
        raise CommandFailedError(
            f"there is no {path}: only sandbox up --detach, and other profiles, write one", Exit.ENVIRONMENT
        )
    for line in _last_lines(path, tail):
        click.echo(line, nl=False)


def _last_lines(path: Path, tail: int) -> list[str]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return list(deque(file, tail))
    except FileNotFoundError:
        return []
