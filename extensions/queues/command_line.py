"""``sandbox claim``: hold messages of a queue for a time, in which no other worker gets them."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING

import click

from rdss_sandbox.shapes.queues import (
    PROJECT,
    Claim,
    ClaimList,
    ClaimRenewal,
    NewClaim,
    QueueList,
    QueueMessage,
)
from sandbox.cli.options.asking import shows
from sandbox.cli.options.control_connection import asks_sandbox
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import print_json, print_line, print_table

if TYPE_CHECKING:
    from rdss_sandbox.client import Client

_PREVIEW = 60


class QueueOrCommand(click.Group):
    """A group that takes a word that is not one of its commands as the queue to claim from."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            return "take", self.commands["take"], args
        return super().resolve_command(ctx, args)


_grace_option = click.option(
    "--grace",
    type=click.IntRange(60, 43_200),
    metavar="N",
    default=60,
    help="Keep a message that would expire before the claim this many seconds longer than the claim.",
)
_project_option = click.option(
    "--project",
    default=PROJECT,
    help="The project that has the queue; the error and invalid queues are in rdss.",
)


@click.group(cls=QueueOrCommand)
def claim() -> None:
    """Hold messages of a queue for a time: sandbox claim QUEUE.

    QUEUE is error, invalid, a stream that the topology marks claimable, or a queue that a client made on
    the port of queues.
    """


def _list_queues(found: QueueList) -> None:
    rows = (
        (q.project, q.name, "yes" if q.view else "no", q.total, q.claimed, q.free, q.claims)
        for q in found.queues
    )
    print_table(("project", "queue", "of a stream", "messages", "held", "free", "claims"), rows)
    for why in found.trouble:
        click.echo(why, err=True)


def _list(found: QueueList | ClaimList) -> None:
    if isinstance(found, QueueList):
        _list_queues(found)
        return
    rows = ((c.id, c.client, len(c.messages), f"{c.age:.0f} s", f"{c.left:.0f} s") for c in found.claims)
    print_table(("claim", "held by", "messages", "age", "left"), rows)


def _show(found: dict[str, Claim | None]) -> None:
    held = found["claim"]
    if held is None:
        queue = click.get_current_context().params["queue"]
        click.echo(f"nothing to claim: {queue} has no message that is free")
        return
    click.echo(f"claim {held.id}: {len(held.messages)} messages for {held.left:.0f} s, held by {held.client}")
    titles = ("message", "age", "claimed", "size", "code", "type", "messageId")
    print_table(titles, map(_row, held.messages))


def _row(message: QueueMessage) -> tuple[object, ...]:
    shown = message.message_id or bytes(message.body).decode(errors="replace")[:_PREVIEW]
    age = f"{message.age:.0f} s"
    return message.id, age, message.claims, message.size, message.code, message.message_type, shown


@claim.command()
@click.argument("queue")
@click.option(
    "--limit", type=click.IntRange(1, 20), metavar="N", default=10, help="Claim at most this many messages."
)
@click.option(
    "--ttl",
    type=click.IntRange(60, 43_200),
    metavar="N",
    default=300,
    help="Hold them for this many seconds.",
)
@_grace_option
@click.option("--worker", help="Who holds them.  [default: your user name]")
@_project_option
@shows(_show)
def take(
    *, queue: str, limit: int, ttl: int, grace: int, worker: str | None, project: str, client: Client
) -> dict[str, Claim | None]:
    """Hold the oldest free messages of QUEUE; the word take may be left out."""
    new = NewClaim(worker or getpass.getuser(), ttl, grace, limit)
    return {"claim": client.queues.claim(project, queue, new)}


@claim.command("list")
@click.argument("queue", required=False)
@_project_option
@shows(_list)
def list_(queue: str | None, project: str, client: Client) -> QueueList | ClaimList:
    """Show the claims on QUEUE; without QUEUE, show every queue."""
    return client.queues.list() if queue is None else ClaimList(client.queues.claims(project, queue))


@claim.command()
@click.argument("queue")
@click.argument("claim_id", metavar="CLAIM")
@click.option("--ttl", type=click.IntRange(60, 43_200), metavar="N", default=300, help="Seconds from now.")
@_grace_option
@_project_option
@shows(_show)
def renew(
    *, queue: str, claim_id: str, ttl: int, grace: int, project: str, client: Client
) -> dict[str, Claim | None]:
    """Restart the time of CLAIM on QUEUE."""
    return {"claim": client.queues.renew(project, queue, claim_id, ClaimRenewal(ttl, grace))}


@claim.command()
@click.argument("queue")
@click.argument("claim_id", metavar="CLAIM")
@_project_option
@asks_sandbox
def release(queue: str, claim_id: str, project: str, client: Client, as_json: bool) -> None:
    """Release CLAIM on QUEUE: its remaining messages are free at once."""
    released = client.queues.release(project, queue, claim_id)
    if not released and not as_json:
        raise CommandFailedError(
            f"{queue} has no claim {claim_id}: it has expired or was released", Exit.FAIL
        )
    print_line({"released": released}, f"released {claim_id}", as_json=as_json)


@claim.command()
@click.argument("queue")
@click.argument("messages", nargs=-1, required=True, metavar="MESSAGE...")
@click.option("--claim", "claim_id", metavar="CLAIM", help="The claim that holds them.")
@_project_option
@asks_sandbox
def delete(
    *,
    queue: str,
    messages: tuple[str, ...],
    claim_id: str | None,
    project: str,
    client: Client,
    as_json: bool,
) -> None:
    """Delete messages of QUEUE, by their ids, with the claim that holds them."""
    for each in messages:
        client.queues.delete(project, queue, each, claim_id)
        if not as_json:
            click.echo(f"deleted {each}")
    if as_json:
        print_json({"deleted": messages})
