"""The observed outcome of a demonstration, read from streams, buckets, repositories and events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from emulator.channels import Delivery
from rdss_sandbox.client import Client
from rdss_sandbox.files.record_lines import ArchivedRecord, RecordAddress, read_line
from sandbox.demo.leg import Leg
from sandbox.demo.transports import read_back
from sandbox.demo.workload import Item
from sandbox.endpoint import Endpoint
from sandbox.receiver.assembled_receiver import BUCKETS
from sandbox.repository import Repository
from schemas.rdss.error_codes import Queue
from schemas.rdss.peek import peek

AUDIT_BUCKET = "rdss-audit"


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

    ``stored`` are the records of the stream or queue, copies included. ``arrivals`` are whole messages by
    messageId. ``lost`` were sent but are not processed, rejected or waiting for other parts. ``rejects`` and
    ``kept`` are the messages in the error and invalid queues and in their buckets, by code. ``echoes`` came
    back to the application that had sent them, and were dropped.
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


def observe_stream(
    endpoint: Endpoint, leg: Leg, *, control: Client, since: int, echoes: int = 0
) -> Observation:
    """Read what came of the messages that went through Kinesis; faults removed, queues at rest.

    ``since`` is the id of the last event before the first message. ``echoes`` is the number of own messages
    that an application dropped.
    """
    counts = {stream.name: stream.records for stream in control.streams()}
    names = (leg.channel, *map(str, Queue))
    streams = {name: read_back(leg.transport, name, counts[name]) for name in names}
    rejected = [delivery.data for queue in Queue for delivery in streams[str(queue)]]
    missing = _missing_records(streams, read_archive(endpoint, AUDIT_BUCKET))
    return _observe(
        endpoint,
        leg,
        rejected,
        stored=len(streams[leg.channel]),
        audit_missing=missing,
        injected=injections(control, since, leg.channel),
        echoes=echoes,
    )


def observe_queue(endpoint: Endpoint, leg: Leg, *, control: Client, since: int) -> Observation:
    """Read what came of the messages that went through AMQP; faults removed, queues at rest.

    A broker forgets what was consumed, so the audit log says how many messages were stored.
    """
    sent = {str(queue): sum(leg.receiver.tally(str(queue)).values()) for queue in Queue}
    queues = {name: [each.data for each in read_back(leg.transport, name, sent[name])] for name in sent}
    injected = injections(control, since, leg.channel)
    parts = [part for item in leg.items for part in item.parts]
    bodies = {leg.channel: [part for part in parts if peek(part).message_id not in injected.grown], **queues}
    logged = Counter(
        (line.source.stream, line.data)
        for line in read_archive(endpoint, AUDIT_BUCKET)
        if line.source is not None
    )
    recorded = leg.transport.recorded_in
    return _observe(
        endpoint,
        leg,
        [data for rejected in queues.values() for data in rejected],
        stored=sum(times for (stream, _), times in logged.items() if stream == recorded(leg.channel)),
        audit_missing=sum(
            (recorded(name), body) not in logged for name, found in bodies.items() for body in found
        ),
        injected=injected,
    )


def _observe(
    endpoint: Endpoint,
    leg: Leg,
    rejected: Iterable[bytes],
    *,
    stored: int,
    audit_missing: int,
    injected: Injections,
    echoes: int = 0,
) -> Observation:
    statuses = Counter(status for (status,) in _rows(leg.sender, "SELECT status FROM messages"))
    arrivals = _arrivals(leg.receiver)
    outcomes = _Outcomes(leg.receiver, leg.channel)
    parts = [outcomes.find(part) for part in dict.fromkeys(part for item in leg.items for part in item.parts)]
    archived = {leg.transport.recorded_in(str(queue)): BUCKETS[queue] for queue in Queue}
    return Observation(
        sent=statuses.total(),
        acknowledged=statuses["SENT"],
        delivered=sum(outcome is not None for outcome in parts),
        stored=stored,
        duplicates_dropped=leg.receiver.counted("duplicate"),
        waiting=parts.count("waiting"),
        lost=parts.count(None) + sum(outcomes.vanished(item, arrivals) for item in leg.items),
        arrivals=arrivals,
        rejects=_codes(rejected),
        kept=_codes(
            line.data
            for stream, bucket in archived.items()
            for line in read_archive(endpoint, bucket)
            if line.stream == stream
        ),
        audit_missing=audit_missing,
        injections=injected,
        echoes=echoes,
    )


def read_archive(endpoint: Endpoint, bucket: str) -> Iterator[ArchivedRecord]:
    """Yield every record of the archive in a bucket."""
    s3 = endpoint.s3()
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for found in page.get("Contents", ()):
            if found["Key"].endswith(".ndjson"):
                body = s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
                yield from (read_line(line) for line in body.splitlines())


def injections(control: Client, since: int, channel: str) -> Injections:
    """Sum up the injections of the faults on a channel since an event."""
    found = [
        event.fields
        for event in events(control, since)
        if event.kind == "fault.injected" and event.fields["channel"] == channel
    ]
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

    def __init__(self, receiver: Repository, channel: str) -> None:
        rows = _rows(
            receiver,
            "SELECT digest, messageId, outcome FROM messages WHERE status = 'RECEIVED' AND channel = ?",
            channel,
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


def _missing_records(streams: Mapping[str, list[Delivery]], audit: Iterable[ArchivedRecord]) -> int:
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
