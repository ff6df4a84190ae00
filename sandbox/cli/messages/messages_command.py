from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import click

from rdss_sandbox.files.ndjson import write_line
from sandbox.cli.options.control_connection import asks_sandbox
from sandbox.cli.output.printing import print_json, print_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdss_sandbox.api.messages import Messages
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.audit import AuditPlace
    from rdss_sandbox.shapes.messages import MessageDetail, MessageRow
    from rdss_sandbox.transports import Blocking

_PAGE = 1000


@click.command()
@click.option(
    "--filter",
    "matching",
    default="",
    show_default=False,
    metavar="FILTER",
    help="As in: type:Metadata* size>500k",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="List at most this many.")
@click.option(
    "--audit",
    type=click.Choice(["stream", "bucket"]),
    help="List the entries of the audit log instead, from its stream or from its bucket.",
)
@click.option("--raw", is_flag=True, help="Print each message as it was sent, one a line.")
@asks_sandbox
def messages(
    *,
    matching: str,
    limit: int | None,
    audit: AuditPlace | None,
    raw: bool,
    client: Client,
    as_json: bool,
) -> None:
    """List the messages in the streams, oldest first; with --raw, as send takes them back."""
    log = client.audit(audit) if audit else client
    rows = _rows(log, matching, limit)
    if raw:
        for row in rows:
            _print_raw(log.message(row.id))
    elif as_json:
        for row in rows:
            print_json(row)
    else:
        print_table(("UTC", "stream", "shard", "type", "size", "code", "marks", "id"), map(_line, rows))


def _rows(log: Messages[Blocking], matching: str, limit: int | None) -> Iterator[MessageRow]:
    after, left = 0, limit
    while left != 0:
        page = log.messages(after=after, limit=min(_PAGE, left or _PAGE), matching=matching).messages
        if not page:
            return
        yield from page
        after, left = page[-1].id, None if left is None else left - len(page)


def _print_raw(detail: MessageDetail) -> None:
    """Print a message as send reads it: on one line, so JSON over several lines is encoded again."""
    import msgspec

    if detail.raw is None:
        if detail.raw_base64 is None:
            click.echo(f"message {detail.id} is past its stream's retention", err=True)
        else:
            click.echo(write_line(base64.b64decode(detail.raw_base64)))
    elif "\n" in detail.raw and detail.header is not None:
        click.echo(msgspec.json.encode(msgspec.json.decode(detail.raw)))
    else:
        click.echo(detail.raw.encode())


def _line(row: MessageRow) -> tuple[object, ...]:
    from rdss_sandbox.text.timestamps import timestamp

    marks = " ".join(row.marks)
    queue = row.shard.startswith("amqp-")
    shard = "amqp" if queue else row.shard.removeprefix("shardId-").lstrip("0") or "0"
    return (
        timestamp(row.time)[11:-1],
        row.stream,
        shard,
        row.message_type,
        row.size,
        row.code,
        marks,
        row.message_id,
    )
