"""The life of one message: the streams that it was in, who read it, and its copies in the audit log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.files.record_lines import RecordAddress
from rdss_sandbox.shapes.audit import AuditPlace
from rdss_sandbox.shapes.messages import MessageRead, MessageRow
from rdss_sandbox.shapes.topology import Topology

_MOST = 200
_INCOMPLETE_SECONDS = 0.25


@dataclass(frozen=True)
class Copy:
    """An entry of the audit log: the row, and the stream or bucket ``holder`` that has it."""

    row: MessageRow
    place: AuditPlace
    holder: str


@dataclass(frozen=True)
class MessageLife:
    """Its ``arrivals`` in streams, the ``reads`` of these if they are ``known``, and its ``copies``."""

    arrivals: tuple[MessageRow, ...] = ()
    reads: tuple[MessageRead, ...] = ()
    copies: tuple[Copy, ...] = ()
    known: bool = True


async def follow_life(
    client: AsyncClient, topology: Topology, row: MessageRow, address: RecordAddress
) -> AsyncIterator[MessageLife]:
    """Fetch the life of a message, more and more of it while messages are still being indexed.

    ``address`` is where it was dispatched. A message without an id is followed by that address alone.
    """
    by_id = f'id:"{row.message_id}"' if row.message_id else ""
    here = by_id or f'stream:"{address.stream}" number:"{address.sequence_number}"'
    copied = by_id or f'key:"{address.key}"'
    complete = False
    while not complete:
        page = await client.messages(limit=_MOST, matching=here)
        read = await client.reads(here)
        copies: list[Copy] = []
        complete = page.indexed
        for place, holder in _list_places(topology):
            entries = await client.audit(place).messages(limit=_MOST, matching=copied)
            complete = complete and entries.indexed
            copies += [Copy(entry, place, holder) for entry in entries.messages]
        yield MessageLife(page.messages, read.reads, tuple(copies), read.known)
        if not complete:
            await asyncio.sleep(_INCOMPLETE_SECONDS)


def _list_places(topology: Topology) -> list[tuple[AuditPlace, str]]:
    audit = topology.audit
    return [("stream", audit.stream), ("bucket", audit.bucket)] if audit else []
