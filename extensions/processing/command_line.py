"""``sandbox process``: asynchronous messages: send, find, restart and cancel them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sandbox.cli.options.connection import asks_sandbox
from sandbox.cli.output.printing import print_json, print_line, print_rows, print_table

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.processing import AsyncMessage, AsyncMessageDetail, OutsideCall

_TITLES = ("number", "received", "state", "service", "operation", "source", "correlation", "failed", "why")


@click.group()
def process() -> None:
    """Hand messages over to be processed, find them, restart or cancel them.

    By default the messages of the service metadata, operations create, update and delete, go to the
    simulated systems repository, preservation and catalogue. To faults these are the channels outside/NAME.
    """


@process.command()
@click.argument("service")
@click.argument("operation")
@click.argument("body", default="")
@click.option("--source", default="CLI", help="The system that the message comes from.")
@click.option("--correlation", metavar="ID", help="The id that this system gave it.  [default: drawn]")
@click.option(
    "--object",
    "object_id",
    metavar="ID",
    help="The object that it changes; a newer message outdates an older one.",
)
@click.option("--entity", "entity_type", metavar="TYPE", help="The type of that object.")
@click.option("--funnel", metavar="VALUE", help="Process one message with this value at a time.")
@click.option(
    "--in-order",
    "guaranteed_order",
    is_flag=True,
    help="With --funnel: process them in the order of their times.",
)
@asks_sandbox
def send(client: Client, as_json: bool, **given: Any) -> None:
    """Hand over a message of SERVICE's OPERATION; it is persisted when this returns."""
    from rdss_sandbox.shapes.processing import NewAsyncMessage

    taken = client.processing.receive(NewAsyncMessage(**given))
    print_line(taken, f"message {taken.message.number} is {taken.message.state}", as_json=as_json)


@process.command("list")
@click.option("--state", metavar="STATE", help="NEW, IN_QUEUE, PROCESSING, PARTLY_FAILED, OK, FAILED, ...")
@click.option("--source", metavar="TEXT", help="A part of the source's name.")
@click.option("--correlation", metavar="TEXT", help="A part of the correlation id.")
@click.option("--process", metavar="TEXT", help="A part of the process id.")
@click.option("--service", metavar="TEXT", help="A part of the service's name.")
@click.option("--operation", metavar="TEXT", help="A part of the operation's name.")
@click.option("--error-code", metavar="CODE", help="The code of the last error.")
@click.option("--text", metavar="TEXT", help="A part of the message, or of its description.")
@click.option("--before", type=int, metavar="NUMBER", help="Only messages before this number.")
@click.option("--limit", type=click.IntRange(1, 1000), default=100, help="Show at most this many.")
@asks_sandbox
def list_(client: Client, as_json: bool, **wanted: Any) -> None:
    """Find messages, the newest first."""
    found = client.processing.search(**{name: value for name, value in wanted.items() if value is not None})
    print_rows({"messages": found}, _TITLES, (_row(each) for each in found), as_json=as_json)


@process.command()
@click.argument("number", type=int)
@asks_sandbox
def show(number: int, client: Client, as_json: bool) -> None:
    """Show message NUMBER with its changes of state, calls, children and errors."""
    found = client.processing.show(number)
    _show(found, as_json=as_json)


@process.command()
@click.argument("number", type=int)
@click.option("--total", is_flag=True, help="Repeat all calls, also those that succeeded.")
@asks_sandbox
def restart(number: int, total: bool, client: Client, as_json: bool) -> None:
    """Process message NUMBER again, once it has ended."""
    from rdss_sandbox.shapes.processing import Restart

    found = client.processing.restart(number, Restart("total" if total else "partial"))
    _show(found, as_json=as_json)


@process.command()
@click.argument("number", type=int)
@asks_sandbox
def cancel(number: int, client: Client, as_json: bool) -> None:
    """End message NUMBER, which has not ended yet."""
    found = client.processing.cancel(number)
    _show(found, as_json=as_json)


@process.command()
@click.argument("number", type=int)
@click.argument("answer")
@asks_sandbox
def answer(number: int, answer: str, client: Client, as_json: bool) -> None:
    """Give message NUMBER the ANSWER that it waits for, and process it again."""
    from rdss_sandbox.shapes.processing import Answer

    found = client.processing.answer(number, Answer(answer))
    _show(found, as_json=as_json)


@process.command()
@click.argument("name", required=False)
@click.argument("answers", nargs=-1, metavar="[ANSWER]...")
@asks_sandbox
def systems(name: str | None, answers: tuple[str, ...], client: Client, as_json: bool) -> None:
    """Show the simulated systems; with NAME, have that one answer ANSWERs from now on, and ok after them.

    An ANSWER is ok, "ok: TEXT", "business: WHY", "validation: WHY", 500, "timeout 5s", "slow 2s" or
    "down 1m".
    """
    from rdss_sandbox.shapes.processing import Script

    api = client.processing
    found = api.script(name, Script(answers)) if name and answers else api.systems()
    found = tuple(each for each in found if name in {None, each.name})
    print_rows(
        {"systems": found},
        ("system", "called", "answers next"),
        ((each.name, each.received, ", ".join(each.script) or "ok") for each in found),
        as_json=as_json,
    )


def _row(message: AsyncMessage) -> tuple[object, ...]:
    from rdss_sandbox.text.timestamps import timestamp

    return (
        message.number,
        timestamp(message.received),
        message.state,
        message.service,
        message.operation,
        message.source,
        message.correlation,
        message.failed,
        message.description,
    )


def _again(call: OutsideCall) -> str | None:
    """When a confirmation that failed is tried again; a call waits for its message."""
    from rdss_sandbox.text.timestamps import timestamp

    return timestamp(call.due) if call.due and call.state == "FAILED" else None


def _show(found: AsyncMessageDetail, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    from rdss_sandbox.text.timestamps import timestamp

    print_table(_TITLES, [_row(found.message)])
    for error in found.business_errors:
        click.echo(f"business error: {error}")
    click.echo()
    changes = ((timestamp(e.time), e.before, e.cause, e.after, e.why) for e in found.changes)
    print_table(("time", "was", "what happened", "is", "why"), changes)
    if found.calls:
        click.echo()
        calls = ((e.operation, e.key, e.state, e.failed, _again(e), e.description) for e in found.calls)
        print_table(("call", "key", "state", "failed", "again at", "why"), calls)
    if found.children:
        click.echo()
        print_table(_TITLES, (_row(each) for each in found.children))
    if found.actions:
        click.echo(f"\nmay be: {', '.join(found.actions)}")
