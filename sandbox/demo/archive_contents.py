"""What the archives of a sandbox have of a scenario that was played in it: the audit log and the buckets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from emulator.channels.kind_registry import KINDS
from emulator.streams.amqp_log import stream_of_channel
from rdss_sandbox.files.record_lines import ArchivedRecord, read_line
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.receiver.assembled_receiver import BUCKETS
from sandbox.scenarios.facts import changed_messages
from sandbox.scenarios.play import Played
from sandbox.scenarios.scenario import INPUT
from schemas.bound import CONTRACT

AUDIT_BUCKET = "rdss-audit"


@dataclass(frozen=True, slots=True)
class Archived:
    """``stored`` are the messages of the channel, copies included. ``kept`` are the rejects by code.

    ``missing`` counts the messages, byte for byte, that are not in the audit log.
    """

    stored: int
    kept: Counter[str]
    missing: int


def read_archives(endpoint: AwsEndpoint, kind: str, played: Played) -> Archived:
    """Read what the archives have of a run over channels of this kind."""

    def recorded(name: str) -> str:
        return name if KINDS[kind].streams else stream_of_channel(name)

    logged = Counter(
        (line.source.stream, _digest(line.data))
        for line in read_bucket(endpoint, AUDIT_BUCKET)
        if line.source is not None
    )
    return Archived(
        stored=sum(times for (stream, _), times in logged.items() if stream == recorded(INPUT)),
        kept=Counter(
            str(CONTRACT.peek(line.data).error_code)
            for queue, bucket in BUCKETS.items()
            for line in read_bucket(endpoint, bucket)
            if line.stream == recorded(queue)
        ),
        missing=sum((recorded(channel), digest) not in logged for channel, digest in _messages(played)),
    )


def read_bucket(endpoint: AwsEndpoint, bucket: str) -> Iterator[ArchivedRecord]:
    """Yield every record of the archive in a bucket."""
    s3 = endpoint.s3()
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
        for found in page.get("Contents", ()):
            if found["Key"].endswith(".ndjson"):
                body = s3.get_object(Bucket=bucket, Key=found["Key"])["Body"].read()
                yield from (read_line(line) for line in body.splitlines())


def _messages(played: Played) -> set[tuple[str, str]]:
    """The channel and the digest of each message that the broker took, and that no fault changed."""
    changed = changed_messages(played.events)
    return {
        (each.fields["channel"], each.fields["digest"])
        for each in played.events
        if each.kind == "message.acknowledged" and each.fields["message_id"] not in changed
    }


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()
