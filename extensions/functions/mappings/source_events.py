"""The events that functions get from a stream or a queue, and the documents of what was given up."""

from __future__ import annotations

import json
from collections.abc import Mapping as ReadOnly
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from emulator.archive.kinesis_event import make_event
from emulator.channels.channel import Delivery
from emulator.rng import new_uuid
from extensions.functions.mappings.batches import OLD, GivenUp
from extensions.functions.mappings.event_patterns import matches
from extensions.functions.mappings.mapping import Mapping


def kinesis_event(mapping: Mapping, records: Sequence[Delivery]) -> dict[str, Any]:
    """The event of a batch."""
    return make_event(mapping.source, records)


def queue_event(mapping: Mapping, messages: Sequence[ReadOnly[str, Any]]) -> dict[str, Any]:
    """The event of messages as ReceiveMessage gives them."""
    return {"Records": [_queue_record(mapping, message) for message in messages]}


def _queue_record(mapping: Mapping, message: ReadOnly[str, Any]) -> dict[str, Any]:
    attributes = {
        name: {
            **{part[0].lower() + part[1:]: value for part, value in given.items()},
            "stringListValues": [],
            "binaryListValues": [],
        }
        for name, given in message.get("MessageAttributes", {}).items()
    }
    digest = message.get("MD5OfMessageAttributes")
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message.get("Attributes", {}),
        "messageAttributes": attributes,
        **({"md5OfMessageAttributes": digest} if digest else {}),
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": mapping.source,
        "awsRegion": mapping.region,
    }


def windowed(
    mapping: Mapping, shard: str, event: dict[str, Any], start: float, state: str, *, final: bool, early: bool
) -> dict[str, Any]:
    """The event of a tumbling window that begins at ``start``, in seconds since the epoch."""
    return {
        **event,
        "window": {"start": _second(start), "end": _second(start + mapping.window_seconds)},
        "state": json.loads(state),
        "shardId": shard,
        "eventSourceARN": mapping.source,
        "isFinalInvokeForWindow": final,
        "isWindowTerminatedEarly": early,
    }


def passes_filters(
    patterns: Sequence[ReadOnly[str, Any]], event: ReadOnly[str, Any], data: bytes | str
) -> bool:
    """Whether one of the patterns lets a record through, whose ``data`` they see as JSON where it is.

    One that asks for fields of the data lets none through that is no JSON.
    """
    if not patterns:
        return True
    content: object = data if isinstance(data, str) else data.decode(errors="replace")
    name = "data" if "kinesis" in event else "body"
    try:
        content = json.loads(data)
    except ValueError:
        patterns = [each for each in patterns if not isinstance(each.get(name), dict)]
    whole = {**event.get("kinesis", event), name: content}
    return any(matches(pattern, whole) for pattern in patterns)


def failure_document(mapping: Mapping, given_up: GivenUp, now: float) -> dict[str, Any]:
    """What an on-failure destination is told of records that were given up."""
    records, condition, calls, outcome = given_up
    too_old = condition == OLD
    document = {
        "requestContext": {
            "requestId": outcome.request_id if outcome else new_uuid(),
            "functionArn": mapping.function_arn,
            "condition": condition,
            # The look that finds a record too old counts as one, in recordings of AWS.
            "approximateInvokeCount": calls + too_old,
        },
        "responseContext": {
            "statusCode": 200,
            "executedVersion": mapping.qualifier or "$LATEST",
            "functionError": outcome.error if outcome and outcome.error else None,
        },
        "version": "1.0",
        "timestamp": _milliseconds(now),
        "KinesisBatchInfo": {
            "shardId": records[0].shard,
            "startSequenceNumber": records[0].sequence_number,
            "endSequenceNumber": records[-1].sequence_number,
            "approximateArrivalOfFirstRecord": _milliseconds(records[0].arrived),
            "approximateArrivalOfLastRecord": _milliseconds(records[-1].arrived),
            "batchSize": len(records),
            "streamArn": mapping.source,
        },
    }
    if too_old:
        del document["responseContext"]
    return document


def _second(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _milliseconds(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
