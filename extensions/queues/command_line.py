"""``sandbox claim``: hold messages of a queue for a time, in which no other worker gets them."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import click

from rdss_sandbox.shapes.queues import PROJECT
from sandbox.cli.options.connection import asks_sandbox
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import print_json, print_rows, print_table

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.queues import Claim, QueueList, QueueMessage

R = TypeVar("R")
_PREVIEW = 60


class QueueOrCommand(click.Group):
    """A group that takes a word that is not one of its commands as the queue to claim from."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            return "take", self.commands["take"], args
        return super().resolve_command(ctx, args)


def in_queue(command: Callable[..., R]) -> Callable[..., R]:
    """Add the options of every command about one queue, which gets a ``client`` of the sandbox."""
    project = click.option(
        "--project",
        default=PROJECT,
        help="The project that has the queue; the error and invalid queues are in rdss.",
    )
    return project(asks_sandbox(command))


@click.group(cls=QueueOrCommand)
def claim() -> None:
    """Hold messages of a queue for a time: sandbox claim QUEUE.

    The error and the invalid queue can be claimed, as can what the topology calls claimable, and the
    queues that clients of the messaging port have made.
    """


@claim.command()
@click.argument("queue")
@click.option("--limit", type=click.IntRange(1, 20), default=10, help="Claim at most this many messages.")
@click.option("--ttl", type=click.IntRange(60, 43_200), default=300, help="Hold them for this many seconds.")
@click.option(
    "--grace",
    type=click.IntRange(60, 43_200),
    default=60,
    help="Keep a message that would expire before the claim this many seconds longer than the claim.",
)
@click.option("--worker", help="Who holds them.  [default: your user name]")
@in_queue
def take(
    *,
    queue: str,
    limit: int,
    ttl: int,
    grace: int,
    worker: str | None,
    project: str,
    client: Client,
    as_json: bool,
) -> None:
    """Hold the oldest free messages of QUEUE; the word take may be left out."""
    from rdss_sandbox.shapes.queues import NewClaim

    new = NewClaim(worker or getpass.getuser(), ttl, grace, limit)
    held = client.queues.claim(project, queue, new)
    if as_json:
        print_json({"claim": held})
    elif held is None:
        click.echo(f"nothing to claim: {queue} has no message that is free")
    else:
        _show(held)


@claim.command("list")
@click.argument("queue", required=False)
@in_queue
def list_(queue: str | None, project: str, client: Client, as_json: bool) -> None:
    """Show the claims on QUEUE; without QUEUE, show every queue."""
    if queue is None:
        _show_queues(client.queues.list(), as_json=as_json)
    else:
        _show_claims(client.queues.claims(project, queue), as_json=as_json)


@claim.command()
@click.argument("queue")
@click.argument("claim_id", metavar="CLAIM")
@click.option("--ttl", type=click.IntRange(60, 43_200), default=300, help="Seconds from now.")
@click.option("--grace", type=click.IntRange(60, 43_200), default=60, help="The same as for a new claim.")
@in_queue
def renew(
    *, queue: str, claim_id: str, ttl: int, grace: int, project: str, client: Client, as_json: bool
) -> None:
    """Restart the time of CLAIM on QUEUE."""
    from rdss_sandbox.shapes.queues import ClaimRenewal

    held = client.queues.renew(project, queue, claim_id, ClaimRenewal(ttl, grace))
    if as_json:
        print_json({"claim": held})
    else:
        _show(held)


@claim.command()
@click.argument("queue")
@click.argument("claim_id", metavar="CLAIM")
@in_queue
def release(queue: str, claim_id: str, project: str, client: Client, as_json: bool) -> None:
    """Release CLAIM on QUEUE: its remaining messages are free at once."""
    released = client.queues.release(project, queue, claim_id)
    if as_json:
        print_json({"released": released})
    elif released:
        click.echo(f"released {claim_id}")
    else:
        raise CommandFailedError(
            f"{queue} has no claim {claim_id}: it has expired or was released", Exit.FAIL
        )


@claim.command()
@click.argument("queue")
@click.argument("messages", nargs=-1, required=True, metavar="MESSAGE...")
@click.option("--claim", "claim_id", metavar="CLAIM", help="The claim that holds them.")
@in_queue
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


def _show_queues(found: QueueList, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    titles = ("project", "queue", "view", "messages", "held", "free", "claims")
    print_table(
        titles,
        (
            (q.project, q.name, "yes" if q.view else "no", q.total, q.claimed, q.free, q.claims)
            for q in found.queues
        ),
    )
    for why in found.trouble:
        click.echo(why, err=True)


def _show_claims(claims: tuple[Claim, ...], *, as_json: bool) -> None:
    titles = ("claim", "held by", "messages", "age", "left")
    print_rows(
        {"claims": claims},
        titles,
        ((c.id, c.client, len(c.messages), f"{c.age:.0f} s", f"{c.left:.0f} s") for c in claims),
        as_json=as_json,
    )


def _show(held: Claim) -> None:
    click.echo(f"claim {held.id}: {len(held.messages)} messages for {held.left:.0f} s, held by {held.client}")
    titles = ("message", "age", "claimed", "size", "code", "type", "messageId")
    print_table(titles, (_row(message) for message in held.messages))


def _row(message: QueueMessage) -> tuple[object, ...]:
    shown = message.message_id or bytes(message.body).decode(errors="replace")[:_PREVIEW]
    age = f"{message.age:.0f} s"
    return message.id, age, message.claims, message.size, message.code, message.message_type, shown
