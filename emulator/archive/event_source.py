"""Calls a Lambda function with the records of a stream, as AWS's event source mapping does."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from emulator.channels.channel import Channel, Delivery
from emulator.rng import new_uuid

_BATCH: Final = 2_000
_LARGEST_PAYLOAD: Final = 2_000_000
"""Bytes of data in a batch, unless one record has more. Lambda allows more than twice as much."""
_ROLE: Final = "arn:aws:iam::000000000000:role/sandbox"


@dataclass(frozen=True, slots=True)
class LambdaContext:
    """The fields of Lambda's context object that identify a call."""

    function_name: str
    aws_request_id: str


class EventSource:
    """Hands a stream's records to a function, shard by shard, in order.

    A batch is committed when the function returns, and ``done`` is called with it. When
    the function raises, the next run hands over the same batch again.
    """

    def __init__(
        self,
        channel: Channel,
        arn: str,
        function: Callable[[dict[str, Any], object], object],
        function_name: str,
        *,
        done: Callable[[Sequence[Delivery]], None] = lambda _batch: None,
    ) -> None:
        self._channel = channel
        self._done = done
        self._arn = arn
        self._function = function
        self._function_name = function_name
        self._batches: list[list[Delivery]] = []

    def run_once(self) -> int:
        """Hand over the records of one read, and return their number. Raises what the function raises."""
        if not self._batches:
            self._batches = list(_split_batches(self._channel.read(limit=_BATCH)))
        done = 0
        while self._batches:
            batch = self._batches[0]
            context = LambdaContext(self._function_name, new_uuid())
            self._function(lambda_event(self._arn, batch), context)
            self._channel.commit(batch[-1])
            self._done(batch)
            done += len(self._batches.pop(0))
        return done


def lambda_event(arn: str, batch: Sequence[Delivery]) -> dict[str, Any]:
    """The event that Lambda passes to a function, for these records of one shard of the stream ``arn``."""
    region = arn.split(":")[3]
    return {"Records": [_build_record(arn, region, delivery) for delivery in batch]}


def _build_record(arn: str, region: str, delivery: Delivery) -> dict[str, Any]:
    return {
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": delivery.key,
            "sequenceNumber": delivery.sequence_number,
            "data": b64encode(delivery.data).decode(),
            "approximateArrivalTimestamp": delivery.arrived,
        },
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"{delivery.shard}:{delivery.sequence_number}",
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": _ROLE,
        "awsRegion": region,
        "eventSourceARN": arn,
    }


def _split_batches(deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
    """Split deliveries into batches of one shard each, within the largest payload."""
    shards: dict[str, list[Delivery]] = {}
    for delivery in deliveries:
        shards.setdefault(delivery.shard, []).append(delivery)
    for group in shards.values():
        batch: list[Delivery] = []
        size = 0
        for delivery in group:
            if batch and size + len(delivery.data) > _LARGEST_PAYLOAD:
                yield batch
                batch, size = [], 0
            batch.append(delivery)
            size += len(delivery.data)
        yield batch
