"""``sandbox hub``: start a hub, and say who has a seat there."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from emulator.settings.checks import check_port
from extensions.hub.hub_api import HubSeats, NewSeat, SeatList, SeatView
from extensions.hub.people import Quota
from rdss_sandbox.installed_extensions import list_ports
from sandbox.cli.options.asking import asks, shows
from sandbox.cli.options.contract import bind
from sandbox.cli.options.control_connection import control_option, reach
from sandbox.cli.options.setting_options import arguments, setting_option
from sandbox.cli.options.waiting import duration
from sandbox.cli.output.exit_codes import CommandFailedError
from sandbox.cli.output.printing import json_option, print_line, print_table

if TYPE_CHECKING:
    from emulator.settings.settings import Settings
    from rdss_sandbox.client import Client
    from sandbox.profiles.running import Running

_PORT: Final = 4580
_PEOPLE: Final = "people.toml"
_FOLDER: Final = "hub"
_PORTS: Final = ("aws", "control", "amqp", "amqp_management")


@click.group()
def hub() -> None:
    """Give each person of a class or a team, or each pull request, a sandbox of their own at one address.

    It is for people who trust each other: docs/how-to/hub.md says what it is not.
    """


@hub.command()
@click.option(
    "--port",
    default=_PORT,
    envvar="SANDBOX_HUB_PORT",
    metavar="N",
    help=f"The HTTP port.  [default: {_PORT}; 0: any free]",
)
@setting_option("amqp_port")
@setting_option("host")
@setting_option("allowed_hosts")
@setting_option("tls")
@setting_option("tls_cert")
@setting_option("tls_key")
@setting_option("topology")
@setting_option("contract")
@setting_option("seed")
@click.option(
    "--people",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path(_PEOPLE),
    help=f"The file of people; a command that adds one writes it.  [default: {_PEOPLE}]",
)
@click.option(
    "--idle",
    callback=duration,
    default="10m",
    metavar="TIME",
    help="Put a sandbox to sleep that nobody has used for this long.  [default: 10m]",
)
@click.option("--detach", is_flag=True, help="Return once it is ready, and leave it running.")
@json_option
def up(*, port: int, people: Path, idle: float, detach: bool, as_json: bool, **options: Any) -> None:
    """Start a hub. It runs until Ctrl-C, or with --detach until sandbox down.

    Each sandbox has the settings of sandbox.toml here, and begins at the first call for it. SANDBOX_TOKEN is
    the admin's token; without one it is drawn.
    """
    from sandbox.profiles import in_process, running

    given = {name: value for name, value in options.items() if value not in (None, ())}
    if detach:
        own = ("--port", str(port), "--people", str(people), "--idle", f"{idle}s")
        found = in_process.start_detached((*own, *arguments(given)), command=("hub", "up"))
        _show_hub(found, as_json)
        return
    in_process.refuse_second()
    settings, shared = _read_settings({**given, "control_port": port})
    bind(settings.contract)

    from extensions.hub.fork_server import ForkServer
    from extensions.hub.hub_process import HubPlan
    from extensions.hub.seat_messages import HubReady
    from extensions.hub.seat_process import import_ahead

    import_ahead()
    folder = running.make_state_directory().resolve() / _FOLDER
    plan = HubPlan(settings, shared, people.resolve(), folder, idle, settings.token or "", os.getpid())

    def ready(said: HubReady) -> None:
        running.write(said.running)
        _show_hub(said.running, as_json)

    try:
        ForkServer(plan, ready).run()
    finally:
        running.remove(os.getpid())


def _read_settings(given: dict[str, Any]) -> tuple[Settings, Settings]:
    """The settings of the hub, and those of every seat, which is reached through it alone."""
    from emulator.rng import new_uuid
    from emulator.settings.settings import read_settings

    check_port("port", given["control_port"])
    settings = read_settings(given, os.environ)
    ports = (*_PORTS, *(name for name, _ in list_ports()))
    free = {f"{name}_port": 0 for name in ports}
    shared = replace(
        read_settings({**given, **free, "amqp": "embedded"}, os.environ),
        host="127.0.0.1",
        tls=None,
        tls_cert=None,
        tls_key=None,
        allowed_origins=(),
    )
    return replace(settings, token=settings.token or new_uuid()), shared


def _show_hub(running: Running, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode(running))
        return
    for line in (
        f"hub      {running.control}   (AWS by access key, /seat/NAME, http://NAME.localhost:PORT)",
        f"AMQP     {running.amqp}",
        f"admin    {running.control}/hub?token={running.token}",
        "",
        "next:  sandbox hub add anna     sandbox hub list     sandbox down",
    ):
        click.echo(line, err=True)


def _list_seats(found: SeatList) -> None:
    rows = (
        (each.name, each.state, each.calls, each.refused, each.starts, each.memory_mb, each.disk_mb)
        for each in found.seats
    )
    print_table(("name", "state", "calls", "refused", "starts", "memory MB", "disk MB"), rows)
    for line in (*(f"{each.name}: {each.trouble}" for each in found.seats if each.trouble), found.trouble):
        if line:
            click.echo(line, err=True)


@hub.command("list")
@asks(HubSeats.list)
def list_(found: SeatList) -> None:
    """List everybody, with what their sandboxes do and take."""
    _list_seats(found)


def _show_access(seat: SeatView) -> None:
    """Print the lines that a person pastes."""
    url = reach(click.get_current_context().params["control"])[0].rstrip("/")
    keys = f"AWS_ACCESS_KEY_ID={seat.token} AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION={seat.region}"
    click.echo(f"export AWS_ENDPOINT_URL={url} {keys}")
    click.echo(f"export SANDBOX_CONTROL={url}/seat/{seat.name} SANDBOX_TOKEN={seat.token}")
    click.echo(f"# {seat.control}/?token={seat.token}")


@hub.command()
@click.argument("name")
@click.option("--memory-mb", default=0, metavar="N", help="The most memory, in millions of bytes.")
@click.option("--disk-mb", default=0, metavar="N", help="The most that the data may take, likewise.")
@click.option("--connections", default=0, metavar="N", help="The most connections and calls at a time.")
@click.option("--messages", default=0, metavar="N", help="The most messages a second.")
@shows(_show_access)
def add(name: str, client: Client, **quota: int) -> SeatView:
    """Give NAME a seat, and print what NAME needs. Without limits of their own, they have everybody's."""
    asked = NewSeat(Quota(**quota) if any(quota.values()) else None)
    return HubSeats(client.transport).add(name, asked)


@hub.command("each", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@control_option
def each_(*, command: tuple[str, ...], control: str | None) -> None:
    """Run a COMMAND of sandbox on every seat, one after another: sandbox hub each fault add duplicate.

    It goes on where one fails, with exit code 1 in the end.
    """
    from rdss_sandbox.client import Client
    from sandbox.cli import main

    url, token = reach(control)
    with Client(url, token=token) as client:
        names = [each.name for each in HubSeats(client.transport).list().seats]
    os.environ["SANDBOX_TOKEN"] = token or ""
    failed = []
    for name in names:
        click.echo(f"{name}:")
        os.environ["SANDBOX_CONTROL"] = f"{url.rstrip('/')}/seat/{name}"
        if main(command):
            failed.append(name)
    if failed:
        raise CommandFailedError(f"{' '.join(command)} failed for {', '.join(failed)}")


@hub.command()
@click.option("--name", required=True, metavar="NAME", help="Whose seat it is, such as pr-123.")
@click.option(
    "--for", "seconds", callback=duration, default="2h", metavar="TIME", help="How long.  [default: 2h]"
)
@shows(_show_access)
def lease(name: str, seconds: float, client: Client) -> SeatView:
    """Give NAME a seat for a time, and print what NAME needs. Then it goes, with everything that it holds.

    Leased again before that, it has the time from now on, and keeps what it holds.
    """
    return HubSeats(client.transport).add(name, NewSeat(seconds=seconds))


@hub.command()
@asks(HubSeats.remove)
def remove(_left: SeatList) -> None:
    """Take the seat from NAME, with everything that it holds."""
    click.echo(f"removed {click.get_current_context().params['name']}")


@hub.command()
@click.argument("name")
@control_option
@json_option
def reset(*, name: str, control: str | None, as_json: bool) -> None:
    """Remove every message and fault of NAME, who begins again. Nobody else is touched."""
    with _connect_to(name, control) as client:
        found = client.reset()
    print_line(found, f"reset {name}", as_json=as_json)


@hub.command()
@click.argument("name")
@click.argument("snapshot")
@control_option
@json_option
def snapshot(*, name: str, snapshot: str, control: str | None, as_json: bool) -> None:
    """Save the state of NAME as SNAPSHOT, in place of an earlier one of that name."""
    with _connect_to(name, control) as client:
        saved = client.snapshots.save(snapshot)
    print_line(saved, f"saved {snapshot} of {name}: {saved.records} records", as_json=as_json)


def _connect_to(name: str, control: str | None) -> Client:
    from rdss_sandbox.client import Client

    url, token = reach(control)
    return Client(f"{url.rstrip('/')}/seat/{name}", token=token)
