"""Redriving a message: sending it again to the stream where it came from."""

from __future__ import annotations

from collections.abc import Container, Iterable

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.messages import MessageRow, NewMessage


def first_stream_outside(rows: Iterable[MessageRow], apart: Container[str]) -> str | None:
    """The stream of the first of these rows that is not in a stream of ``apart``."""
    return next((row.stream for row in rows if row.stream not in apart), None)


async def find_origin(client: AsyncClient, row: MessageRow, apart: Container[str]) -> str | None:
    """Find the first stream that had the message, outside of those ``apart``; None when there is none."""
    if row.message_id is None:
        return None
    return first_stream_outside((await client.messages(matching=f'id:"{row.message_id}"')).messages, apart)


async def resend(client: AsyncClient, row: MessageRow, target: str) -> None:
    """Send the message again to ``target``, as its sender sent it. Raises RefusedError when it is gone."""
    original = await client.original(row.id)
    await client.redrive(NewMessage(target, original.data, row.partition_key))
