"""``sandbox events``, and how a line of an event is written."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.questions.deadline import Deadline
from sandbox.cli.options.control_connection import connect, control_option
from sandbox.cli.options.waiting import timeout_option, within
from sandbox.cli.output.exit_codes import Exit
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from rdss_sandbox.shapes.events import Event

_LOOK_SECONDS = 0.2
_PAGE = 1000


@click.command()
@click.option(
    "--tail",
    type=click.IntRange(min=0),
    metavar="N",
    default=100,
    help="How many of the newest to begin with.",
)
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only these: fault.injected, stream.*")
@click.option("--follow", is_flag=True, help="Go on as more come.")
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="Stop after N events.")
@timeout_option("With --follow: stop after this long: 500ms, 30s, 5m.")
@control_option
@json_option
def events(
    *,
    tail: int,
    kinds: tuple[str, ...],
    follow: bool,
    count: int | None,
    timeout: float | None,
    control: str | None,
    as_json: bool,
) -> int:
    """Show what happened in a running sandbox of any profile, one event a line, the newest last.

    Exit code 4: fewer than N events came before the timeout.
    """
    shown = 0
    for event in within(Deadline(timeout), live_events(control, tail, follow=follow)):
        if kinds and not any(fnmatchcase(event.kind, kind) for kind in kinds):
            continue
        show_event(event, as_json)
        shown += 1
        if shown == count:
            return Exit.PASS
    return Exit.PASS if count is None else Exit.INCONCLUSIVE


def live_events(control: str | None, tail: int, *, follow: bool) -> Iterator[Event]:
    """Yield the last events of a running sandbox, and with ``follow`` the coming ones."""
    from emulator.clock import Clock

    clock = Clock()
    with connect(control) as client:
        after = max(0, client.last_event() - tail)
        while True:
            while page := client.events(after=after, limit=_PAGE):
                yield from page
                after = page[-1].id
            if not follow:
                return
            clock.wait(_LOOK_SECONDS)


def show_event(event: Event, as_json: bool) -> None:
    """Print an event on a line; a traceback in it is on the lines below."""
    from rdss_sandbox.text.timestamps import timestamp

    if as_json:
        print_json({"id": event.id, "time": event.time, "kind": event.kind, **event.fields})
        return
    short = {name: value for name, value in event.fields.items() if value is not None and name != "trace"}
    click.echo(
        " ".join([f"{timestamp(event.time)}  {event.kind:<22}", *map("=".join, _texts(short))]).rstrip()
    )
    for line in str(event.fields.get("trace", "")).splitlines():
        click.echo(f"    {line}")


def _texts(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    import msgspec

    for name, value in fields.items():
        plain = isinstance(value, str) and value and not set(value) & set(' "\n=')
        yield name, value if plain else msgspec.json.encode(value).decode()
