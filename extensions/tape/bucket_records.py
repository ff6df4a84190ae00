"""Reads what an archive's bucket, or that of the audit log, holds: entries in the order of arrival."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.archive.audit_objects import AuditLine, AuditObjects
from emulator.streams.merged_reading import ShardCursor, merge_by_arrival
from rdss_sandbox.files.record_lines import place_in_key
from rdss_sandbox.shapes.tape import TapedMessage
from sandbox.aws_endpoint import connect_s3


def read_bucket(name: str, endpoint: str | None, region: str, token: str | None) -> Iterator[TapedMessage]:
    """Give the messages of a bucket; those of the audit log as they came to their own stream.

    Raises ``BucketUnreadableError``.
    """
    s3 = connect_s3(endpoint, region=region, token=token)
    objects = AuditObjects(lambda: s3, name, name)
    cursors = [ShardCursor(key, number, None) for number, key in enumerate(objects.shards())]
    while found := merge_by_arrival(cursors, objects):
        for _, line in found:
            assert isinstance(line, AuditLine)
            yield _read_line(line)


def _read_line(line: AuditLine) -> TapedMessage:
    place = place_in_key(line.partition_key or "")
    if place is not None:
        return TapedMessage(
            line.arrived, place.stream, line.data, len(line.data), "", place.shard_id, place.sequence_number
        )
    return TapedMessage(
        line.arrived, line.stream, line.data, len(line.data), line.partition_key or "", line.shard_id,
        line.sequence_number,
    )  # fmt: skip
