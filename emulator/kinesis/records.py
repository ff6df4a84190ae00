"""A record as it is kept: the line of JSON in which it will leave."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

DATA_BYTES_IN_ANSWER = 10 * 1024 * 1024

encode_key = msgspec.json.Encoder().encode


class Line(msgspec.Struct):
    """A kept line, read back; ``Data`` decoded, ``ApproximateArrivalTimestamp`` in seconds since the epoch."""

    SequenceNumber: str
    ApproximateArrivalTimestamp: float
    Data: bytes
    PartitionKey: str
    EncryptionType: str | None = None


class StoredRecord(NamedTuple):
    """A record for readers in this process; ``arrived`` in seconds since the epoch."""

    sequence_number: str
    partition_key: str
    data: bytes
    arrived: float


_decode_lines = msgspec.json.Decoder(list[Line]).decode


def joined(parts: list[bytes]) -> bytes:
    """Kept lines as the inside of a JSON array: without the last comma."""
    return b"".join(parts)[:-2]


def read_lines(parts: list[bytes]) -> list[Line]:
    """Kept lines, decoded."""
    return _decode_lines(b"[" + joined(parts) + b"]") if parts else []


def shape(line: Line) -> dict[str, Any]:
    """A record in botocore's shape."""
    record: dict[str, Any] = {
        "SequenceNumber": line.SequenceNumber,
        "ApproximateArrivalTimestamp": line.ApproximateArrivalTimestamp,
        "Data": line.Data,
        "PartitionKey": line.PartitionKey,
    }
    if line.EncryptionType is not None:
        record["EncryptionType"] = line.EncryptionType
    return record


def data_size(text: bytes | msgspec.Raw) -> int:
    """The size of what a quoted base64 text decodes to: exact for big ones, else up to 2 bytes too many."""
    length = len(text)
    size = (length - 2) // 4 * 3
    return size - bytes(text)[-3:].count(b"=") if length > _BIG else size


_BIG = 100_000
