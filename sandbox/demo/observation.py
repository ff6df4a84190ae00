"""The observed outcome of a demonstration, read from streams, buckets, repositories and events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from emulator.channels import Delivery
from emulator.channels.kinesis import KinesisChannel
from emulator.clock import Clock
from rdss_sandbox.client import Client
from rdss_sandbox.record_lines import ArchivedRecord, RecordAddress, read_line
from sandbox.demo.plan import CHANNEL
from sandbox.demo.workload import Item
from sandbox.endpoint import Endpoint
from sandbox.receiver.assembled_receiver import BUCKETS
from sandbox.repository import Repository
from schemas.error_codes import Queue
from schemas.peek import peek

AUDIT_BUCKET = "rdss-audit"
PATIENCE_SECONDS = 5.0
"""The time in seconds that a read of a stream waits for the next record."""


@dataclass(frozen=True, slots=True)
class Injections:
    """The effects of the faults.

    ``retries`` are copies put into the stream, ``redeliveries`` copies delivered, ``delays`` delayed answers,
    ``grown`` the messageIds of messages made oversize. ``reshards`` counts changes of shards by action.
    """

    retries: int
    redeliveries: int
    delays: int
    grown: frozenset[str]
    reshards: Counter[str]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message that the application processed: its body's digest, its parts, and the number of times."""

    body: str
    parts: int
    times: int


@dataclass(frozen=True, slots=True)
class Observation:
    """The observed numbers of a run, of serialised messages with the parts of a sequence one by one.

    ``stored`` are the stream's records, copies included. ``arrivals`` are whole messages by messageId.
    ``lost`` were sent but are not processed, rejected or waiting for other parts. ``rejects`` and ``kept``
    are the messages in the error and invalid queues and in their buckets, by code. ``echoes`` came back to
    the application that had sent them, and were dropped.
    """

    sent: int
    acknowledged: int
    delivered: int
    stored: int
    duplicates_dropped: int
    waiting: int
    lost: int
    arrivals: dict[str, Arrival]
    rejects: Counter[str]
    kept: Counter[str]
    audit_missing: int
    injections: Injections
    echoes: int = 0


def observe(
    endpoint: Endpoint,
    *,
    control: Client,
    clock: Clock,
    sender: Repository,
    receiver: Repository,
    items: Sequence[Item],
    since: int,
    echoes: int = 0,
) -> Observation:
    """Read the outcome of a run; the faults must be removed and the queues at rest.

    ``since`` is the id of the last event before the first message. ``echoes`` is the number of own messages
    that an application dropped.
    """
    statuses = Counter(status for (status,) in _rows(sender, "SELECT status FROM messages"))
    arrivals = _arrivals(receiver)
    outcomes = _Outcomes(receiver)
    parts = [outcomes.find(part) for part in dict.fromkeys(part for item in items for part in item.parts)]
    counts = {stream.name: stream.records for stream in control.streams()}
    streams = {name: records(endpoint, clock, name, counts[name]) for name in (CHANNEL, *map(str, Queue))}
    rejected = [delivery.data for queue in Queue for delivery in streams[str(queue)]]
    return Observation(
        sent=statuses.total(),
        acknowledged=statuses["SENT"],
        delivered=sum(outcome is not None for outcome in parts),
        stored=len(streams[CHANNEL]),
        duplicates_dropped=receiver.counted("duplicate"),
        waiting=parts.count("waiting"),
        lost=parts.count(None) + sum(outcomes.vanished(item, arrivals) for item in items),
        arrivals=arrivals,
        rejects=_codes(rejected),
        kept=_codes(line.data for queue in Queue for line in read_archive(endpoint, BUCKETS[queue])),
        audit_missing=_missing(streams, read_archive(endpoint, AUDIT_BUCKET)),
        injections=injections(control, since),
        echoes=echoes,
    )


def records(endpoint: Endpoint, clock: Clock, stream: str, count: int) -> list[Delivery]:
    """Read ``count`` records of a stream, every shard from its start; fewer when no more arrive."""
    channel = KinesisChannel(endpoint.kinesis(), stream, clock=clock)
    found: list[Delivery] = []
    while len(found) < count and (more := channel.read(limit=10_000, wait=PATIENCE_SECONDS)):
        found += more
    channel.close()
    return found


def read_archive(endpoint: Endpoint, bucket: str) -> Iterator[ArchivedRecord]:
    """Yield every record of the archive in a bucket."""
    s3 = endpoint.s3()
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for found in page.get("Contents", ()):
            if found["Key"].endswith(".ndjson"):
                body = s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
                yield from (read_line(line) for line in body.splitlines())


def injections(control: Client, since: int) -> Injections:
    """Sum up the injections of the faults since an event."""
    found = [event.fields for event in events(control, since) if event.kind == "fault.injected"]
    by_fault: dict[str, list[dict[str, Any]]] = {}
    for fields in found:
        by_fault.setdefault(f"{fields['type']} {fields['direction']}", []).append(fields)
    copies = {fault: sum(f["data"]["copies"] for f in by_fault.get(fault, ())) for fault in _DUPLICATES}
    return Injections(
        retries=copies[_DUPLICATES[0]],
        redeliveries=copies[_DUPLICATES[1]],
        delays=len(by_fault.get("latency publish", ())),
        grown=frozenset(f["message_id"] for f in by_fault.get("oversize publish", ())),
        reshards=Counter(f["data"]["action"] for f in by_fault.get("reshard control", ())),
    )


def events(control: Client, last: int) -> Iterator[Any]:
    """Yield every event with an id above ``last``."""
    while page := control.events(after=last):
        yield from page
        last = page[-1].id


class _Outcomes:
    """The outcomes of messages in the receiver's repository, by the bytes or else by the messageId."""

    def __init__(self, receiver: Repository) -> None:
        rows = _rows(
            receiver,
            "SELECT digest, messageId, outcome FROM messages WHERE status = 'RECEIVED' AND channel = ?",
            CHANNEL,
        )
        self._by_digest = {digest: outcome for digest, _, outcome in rows}
        self._by_id = {message_id: outcome for _, message_id, outcome in rows if message_id}

    def find(self, data: bytes) -> str | None:
        seen = peek(data)
        by_id = None if seen.damaged else self._by_id.get(seen.message_id)
        return self._by_digest.get(sha256(data).digest(), by_id)

    def vanished(self, item: Item, arrivals: dict[str, Arrival]) -> bool:
        """Whether the repository has the item as processed but the application has not recorded it."""
        seen = peek(item.data)
        processed = all(self.find(part) == "processed" for part in item.parts)
        return processed and seen.total == 1 and seen.message_id not in arrivals


def _arrivals(receiver: Repository) -> dict[str, Arrival]:
    query = "SELECT messageId, min(body), min(parts), count(*) FROM arrivals GROUP BY messageId"
    return {
        message_id: Arrival(body, parts, times) for message_id, body, parts, times in _rows(receiver, query)
    }


def _missing(streams: Mapping[str, list[Delivery]], audit: Iterable[ArchivedRecord]) -> int:
    """The number of stream records that are not in the audit log byte for byte."""
    logged = {line.source: sha256(line.data).digest() for line in audit}
    return sum(
        logged.get(RecordAddress(stream, record.shard, record.sequence_number))
        != sha256(record.data).digest()
        for stream, records in streams.items()
        for record in records
    )


def _rows(repository: Repository, query: str, *values: str) -> list[Any]:
    with repository.transaction() as store:
        return store.execute(query, values).fetchall()


def _codes(messages: Iterable[bytes]) -> Counter[str]:
    return Counter(str(peek(data).error_code) for data in messages)


_DUPLICATES = ("duplicate publish", "duplicate deliver")
