"""The event that AWS's event source mapping hands to a Lambda function: records of one shard of a stream."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any, Final

from emulator.channels.channel import Delivery

MOST_EVENT_BYTES: Final = 6 << 20
"""The longest event of a synchronous invocation."""
_RECORD_BYTES: Final = 420
"""What a record takes in an event beside its data and key."""
_ROLE: Final = "arn:aws:iam::000000000000:role/sandbox"


def make_event(arn: str, records: Sequence[Delivery]) -> dict[str, Any]:
    """The event of these records of the stream ``arn``."""
    region = arn.split(":")[3]
    return {"Records": [_make_record(arn, region, record) for record in records]}


def count_fitting(records: Sequence[Delivery], most: int) -> int:
    """How many records, from the first on, one event holds: at most ``most``, and at least one."""
    size = 0
    for count, record in enumerate(records[:most]):
        size += len(record.data) * 4 // 3 + len(record.key) + _RECORD_BYTES
        if size > MOST_EVENT_BYTES:
            return max(count, 1)
    return min(len(records), most)


def _make_record(arn: str, region: str, record: Delivery) -> dict[str, Any]:
    return {
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": record.key,
            "sequenceNumber": record.sequence_number,
            "data": b64encode(record.data).decode(),
            "approximateArrivalTimestamp": record.arrived,
        },
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"{record.shard}:{record.sequence_number}",
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": _ROLE,
        "awsRegion": region,
        "eventSourceARN": arn,
    }
