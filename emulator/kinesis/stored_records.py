"""A record as it is kept: the line of JSON that GetRecords returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

DATA_BYTES_IN_ANSWER = 10 * 1024 * 1024


class RecordLine(msgspec.Struct):
    """A decoded line: ``Data`` is bytes, the arrival is in seconds since the epoch."""

    SequenceNumber: str
    ApproximateArrivalTimestamp: float
    Data: bytes
    PartitionKey: str | None = None
    EncryptionType: str | None = None


class StoredRecord(NamedTuple):
    """A record for readers in this process. ``arrived`` is in seconds since the epoch."""

    sequence_number: str
    partition_key: str | None
    data: bytes
    arrived: float


_BETWEEN = b",\n"
_DATA = b'"Data":"'
_decode_lines = msgspec.json.Decoder(list[RecordLine]).decode


def array(before: bytes, parts: list[memoryview], after: bytes) -> bytes:
    """Join kept lines to the inside of a JSON array, between two other texts.

    Each line ends with a comma and a newline, so only the last line's are cut off.
    """
    last = [part[: -len(_BETWEEN)] for part in parts[-1:]]
    return b"".join([before, *parts[:-1], *last, after])


def read_lines(parts: list[memoryview]) -> list[RecordLine]:
    """Decode kept lines."""
    return _decode_lines(array(b"[", parts, b"]"))


def stored(parts: list[memoryview]) -> list[StoredRecord]:
    """Decode kept lines for readers in this process."""
    return [
        StoredRecord(line.SequenceNumber, line.PartitionKey, line.Data, line.ApproximateArrivalTimestamp)
        for line in read_lines(parts)
    ]


def data_spans(text: bytes) -> Iterator[tuple[int, int, bool]]:
    """Find the data of records in kept lines: where it begins, where it ends, and that it is in base64."""
    end = 0
    while (mark := text.find(_DATA, end)) >= 0:
        begin = mark + len(_DATA)
        end = text.find(b'"', begin)
        if end < 0:
            return
        yield begin, end, True


def shape(line: RecordLine) -> dict[str, Any]:
    record: dict[str, Any] = {
        "SequenceNumber": line.SequenceNumber,
        "ApproximateArrivalTimestamp": line.ApproximateArrivalTimestamp,
        "Data": line.Data,
    }
    if line.PartitionKey is not None:
        record["PartitionKey"] = line.PartitionKey
    if line.EncryptionType is not None:
        record["EncryptionType"] = line.EncryptionType
    return record
