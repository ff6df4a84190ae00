"""``sandbox process``: asynchronous messages: send, find, restart and cancel them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rdss_sandbox.api.processing import Processing
from rdss_sandbox.shapes.processing import (
    Answer,
    AsyncMessage,
    AsyncMessageDetail,
    AsyncMessagePage,
    NewAsyncMessage,
    OutsideCall,
    OutsideSystemList,
    Restart,
    Script,
)
from rdss_sandbox.text.timestamps import timestamp
from sandbox.cli.options.asking import asks, shows
from sandbox.cli.output.printing import print_table

if TYPE_CHECKING:
    from rdss_sandbox.client import Client

_TITLES = ("number", "received", "state", "service", "operation", "source", "correlation", "failed", "why")


@click.group()
def process() -> None:
    """Hand messages over to be processed, find them, restart or cancel them.

    By default the messages of the service metadata, operations create, update and delete, go to the
    simulated systems repository, preservation and catalogue. A fault strikes the calls to them with
    --channel outside/NAME.
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
@shows(lambda taken: click.echo(f"message {taken.message.number} is {taken.message.state}"))
def send(client: Client, **given: Any) -> AsyncMessageDetail:
    """Hand over a message of SERVICE's OPERATION; it is persisted when this returns."""
    return client.processing.receive(NewAsyncMessage(**given))


def _row(message: AsyncMessage) -> tuple[object, ...]:
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
    return timestamp(call.due) if call.due and call.state == "FAILED" else None


def _show(found: AsyncMessageDetail) -> None:
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


def _list_systems(found: OutsideSystemList) -> None:
    rows = ((each.name, each.received, ", ".join(each.script) or "ok") for each in found.systems)
    print_table(("system", "called", "answers next"), rows)


@process.command("list")
@asks(Processing.search)
def list_(found: AsyncMessagePage) -> None:
    """Find messages, the newest first."""
    print_table(_TITLES, map(_row, found.messages))


@process.command()
@asks(Processing.show)
def show(found: AsyncMessageDetail) -> None:
    """Show message NUMBER with its changes of state, calls, children and errors."""
    _show(found)


@process.command()
@click.argument("number", type=int)
@click.option("--total", is_flag=True, help="Repeat all calls, also those that succeeded.")
@shows(_show)
def restart(number: int, total: bool, client: Client) -> AsyncMessageDetail:
    """Process message NUMBER again, once it has ended."""
    return client.processing.restart(number, Restart("total" if total else "partial"))


@process.command()
@asks(Processing.cancel)
def cancel(found: AsyncMessageDetail) -> None:
    """End message NUMBER, which has not ended yet."""
    _show(found)


@process.command()
@click.argument("number", type=int)
@click.argument("answer")
@shows(_show)
def answer(number: int, answer: str, client: Client) -> AsyncMessageDetail:
    """Give message NUMBER the ANSWER that it waits for, and process it again."""
    return client.processing.answer(number, Answer(answer))


@process.command()
@click.argument("name", required=False)
@click.argument("answers", nargs=-1, metavar="[ANSWER]...")
@shows(_list_systems)
def systems(name: str | None, answers: tuple[str, ...], client: Client) -> OutsideSystemList:
    """Show the simulated systems; with NAME, have that one answer ANSWERs from now on, and ok after them.

    An ANSWER is ok, "ok: TEXT", "business: WHY", "validation: WHY", 500, "timeout 5s", "slow 2s" or
    "down 1m".
    """
    api = client.processing
    found = api.script(name, Script(answers)) if name and answers else api.systems()
    return OutsideSystemList(tuple(each for each in found if name in {None, each.name}))
