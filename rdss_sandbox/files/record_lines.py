"""Stream records as lines of NDJSON; each message can be read back byte for byte.

A line is one JSON object::

    {"stream": "audit", "shard_id": "shardId-000000000000", "sequence_number": "4959...",
     "partition_key": "...", "arrived": "2026-11-21T08:00:00.000Z",
     "source": {"stream": "input", "shard_id": "shardId-000000000001", "sequence_number": "4957..."},
     "message": {...}}

Only the audit log has ``source``: the record that was copied. A payload that is
JSON on one line is in ``message`` exactly as it was written. Any other payload is
in ``message_base64``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from rdss_sandbox.text.timestamps import timestamp

_PAYLOAD: Final = b',"message'
_AS_IT_IS: Final = b'":'
_IN_BASE64: Final = b'_base64":"'
_encode: Final = msgspec.json.Encoder().encode
_scan: Final = msgspec.json.Decoder(msgspec.Raw).decode


class RecordAddress(msgspec.Struct, frozen=True):
    """The address of a record: its stream, shard and sequence number."""

    stream: str
    shard_id: str
    sequence_number: str

    @property
    def key(self) -> str:
        """The address as one text; a copy of the record has it as its partition key."""
        return f"{self.stream}/{self.shard_id}/{self.sequence_number}"


class ArchivedRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of an archive. ``arrived`` is RFC 3339; ``data`` is the payload."""

    stream: str
    shard_id: str
    sequence_number: str
    partition_key: str
    arrived: str
    source: RecordAddress | None = None
    message: msgspec.Raw = msgspec.Raw()
    message_base64: bytes | None = None

    @property
    def data(self) -> bytes:
        return bytes(self.message) if self.message_base64 is None else self.message_base64


_read: Final = msgspec.json.Decoder(ArchivedRecord).decode


def read_line(line: bytes) -> ArchivedRecord:
    """Parse a line. Raises ``msgspec.DecodeError``."""
    return _read(line)


def write_line(
    place: RecordAddress, partition_key: str, arrived: float, data: bytes, source: RecordAddress | None
) -> bytes:
    """Format a record as a line with its line feed; ``arrived`` is in seconds since the epoch.

    ``source`` is the copied record, None outside of the audit log.
    """
    head: dict[str, Any] = {
        "stream": place.stream,
        "shard_id": place.shard_id,
        "sequence_number": place.sequence_number,
        "partition_key": partition_key,
        "arrived": timestamp(arrived),
    }
    if source is not None:
        head["source"] = source
    payload = _AS_IT_IS + data if _is_json_line(data) else _IN_BASE64 + b64encode(data) + b'"'
    return _encode(head)[:-1] + _PAYLOAD + payload + b"}\n"


def payload_spans(text: bytes) -> Iterator[tuple[int, int, bool]]:
    """Where the payloads of whole lines stand: from, to, and whether it is in base64."""
    begin = 0
    while (end := text.find(b"\n", begin)) >= 0:
        mark = text.find(_PAYLOAD, begin, end)
        if mark >= 0:
            at = mark + len(_PAYLOAD)
            if text.startswith(_AS_IT_IS, at):
                yield at + len(_AS_IT_IS), end - len(b"}"), False
            elif text.startswith(_IN_BASE64, at):
                yield at + len(_IN_BASE64), end - len(b'"}'), True
        begin = end + 1


def place_in_key(key: str) -> RecordAddress | None:
    """Parse the record address in a partition key; None when the key is no address."""
    parts = key.rsplit("/", 2)
    return RecordAddress(*parts) if len(parts) == 3 and parts[2].isdecimal() else None


def _is_json_line(data: bytes) -> bool:
    """Whether the bytes are UTF-8 and JSON without a line break."""
    if b"\n" in data or b"\r" in data:
        return False
    try:
        data.decode()
        _scan(data)
    except (ValueError, RecursionError):
        return False
    return True
