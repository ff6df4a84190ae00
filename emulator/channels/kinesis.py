"""A channel over any Kinesis endpoint, through boto3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from emulator.back_off import back_off
from emulator.channels.aws_answers import (
    TRANSIENT,
    code_of,
    entry_outcome,
    parse_shard,
    publish_failure,
)
from emulator.channels.aws_session import aws_session
from emulator.channels.channel import ChannelUnavailableError, Delivery, Outcome, Receipt
from emulator.channels.checkpoints import Checkpoints, MemoryCheckpoints
from emulator.channels.shard_calls import MOST_CALLS, CallsAtOnce, Fetched
from emulator.channels.shard_reader import ShardListing, ShardReader
from emulator.clock import Clock
from emulator.kinesis.batches import Entry, batches
from schemas.bound import CONTRACT
from schemas.headers import leave_headers_out

if TYPE_CHECKING:
    from mypy_boto3_kinesis import KinesisClient
    from mypy_boto3_kinesis.type_defs import GetRecordsOutputTypeDef

POLL_SECONDS: Final = 0.2
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 5.0
_MOST_RECORDS: Final = 10_000
_MOST_RENEWALS: Final = 20

_Answer = TypeVar("_Answer")


def connect(
    endpoint: str,
    *,
    region: str = "us-east-1",
    timeout: float = 10.0,
    token: str | None = None,
    trust: Path | None = None,
) -> KinesisClient:
    """A client that sends each request once, since the channel does the retries, with ``timeout`` in seconds.

    It has the environment's credentials, or a pair that every emulator accepts. A sandbox's ``token``
    becomes the session token. The authorities in ``trust`` are trusted, or those of the environment.
    """
    from botocore.config import Config

    config = Config(
        connect_timeout=timeout,
        read_timeout=timeout,
        retries={"total_max_attempts": 1},
        # Each shard is asked on a thread of its own.
        max_pool_connections=MOST_CALLS,
    )
    return aws_session(region, token, trust).client("kinesis", endpoint_url=endpoint, config=config)


class KinesisChannel:
    """One stream behind a Kinesis endpoint.

    A put is tried once: when to try again is the gateway's to decide, by the specification (Network Failure
    Behaviour). A read asks each shard on a thread of its own, and tries up to ``attempts`` times after
    transient errors, with growing pauses on the clock. An expired iterator is replaced by one after the last
    record read.

    A read waits for records on the clock ``polling``, by default the same clock. A client that
    follows the clock of another process polls on the machine's clock instead, because records
    arrive from others while the followed clock is frozen.
    """

    def __init__(
        self,
        client: KinesisClient,
        name: str,
        *,
        clock: Clock,
        checkpoints: Checkpoints | None = None,
        polling: Clock | None = None,
        attempts: int = 5,
    ) -> None:
        self.name = name
        self._client = client
        self._clock = clock
        self._polling = polling or clock
        self._attempts = attempts
        self._iterators: dict[str, str] = {}
        self._furthest: dict[str, int] = {}
        self._reader = ShardReader(self, CallsAtOnce(self.fetch), checkpoints or MemoryCheckpoints())

    def publish(self, data: bytes, key: str) -> Receipt:
        try:
            response = self._client.put_record(
                StreamName=self.name, Data=leave_headers_out(CONTRACT.headers, data), PartitionKey=key
            )
        except Exception as error:
            raise publish_failure(error) from error
        return Receipt(response["ShardId"], response["SequenceNumber"])

    def publish_many(self, entries: Sequence[Entry]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for batch in batches(entries):
            outcomes += self._put(batch)
        return outcomes

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        return self._reader.read_within(wait, limit, self._polling, POLL_SECONDS, in_hand)

    def commit(self, delivery: Delivery) -> None:
        self._reader.commit(delivery)

    def close(self) -> None:
        self._client.close()

    def shards(self) -> list[ShardListing]:
        """List the stream's shards, for ``ShardReader``."""
        found: list[ShardListing] = []
        request: dict[str, Any] = {"StreamName": self.name}
        while True:
            response = self._call_for_read(partial(self._client.list_shards, **request))
            found += [parse_shard(dict(shard)) for shard in response["Shards"]]
            if not (token := response.get("NextToken")):
                return found
            request = {"NextToken": token}

    def fetch(self, shard: str, after: str | None, limit: int) -> Fetched:
        """Fetch records of a shard, for ``CallsAtOnce``."""
        response = self._get_records(shard, after, min(limit, _MOST_RECORDS))
        following = response.get("NextShardIterator")
        if following:
            self._iterators[shard] = following
        else:
            self._iterators.pop(shard, None)
        return Fetched(
            [self._build_delivery(shard, dict(record)) for record in response["Records"]],
            drained=not following,
        )

    def _get_records(self, shard: str, after: str | None, limit: int) -> GetRecordsOutputTypeDef:
        iterator = self._iterators.get(shard) or self._get_iterator(shard, after)
        for _ in range(_MOST_RENEWALS):
            try:
                ask = partial(self._client.get_records, ShardIterator=iterator, Limit=limit)
                return self._call_for_read(ask)
            except ExpiredIteratorError:
                # Where the clock runs fast, the new one may have expired as well when it is used.
                iterator = self._get_iterator(shard, after)
        raise ChannelUnavailableError(
            f"{self.name}: {_MOST_RENEWALS} iterators of {shard} in a row had expired"
        )

    def _get_iterator(self, shard: str, after: str | None) -> str:
        start: dict[str, Any] = (
            {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "StartingSequenceNumber": after}
            if after
            else {"ShardIteratorType": "TRIM_HORIZON"}
        )
        request = {"StreamName": self.name, "ShardId": shard, **start}
        return self._call_for_read(lambda: self._client.get_shard_iterator(**request))["ShardIterator"]

    def _build_delivery(self, shard: str, record: dict[str, Any]) -> Delivery:
        number = int(record["SequenceNumber"])
        redelivered = number <= self._furthest.get(shard, -1)
        self._furthest[shard] = max(number, self._furthest.get(shard, -1))
        arrived = record["ApproximateArrivalTimestamp"].timestamp()
        return Delivery(
            record["Data"],
            record["PartitionKey"],
            shard,
            record["SequenceNumber"],
            arrived,
            redelivered=redelivered,
        )

    def _put(self, batch: Sequence[Entry]) -> list[Outcome]:
        records: list[Any] = [
            {"Data": leave_headers_out(CONTRACT.headers, data), "PartitionKey": key} for data, key in batch
        ]
        try:
            response = self._client.put_records(StreamName=self.name, Records=records)
        except Exception as error:  # noqa: BLE001 -- every failure is the outcome of these entries
            failure = publish_failure(error)
            return [failure] * len(batch)
        return [entry_outcome(dict(entry)) for entry in response["Records"]]

    def _call_for_read(self, call: Callable[[], _Answer]) -> _Answer:
        pauses = islice(back_off(_FIRST_PAUSE, _LONGEST_PAUSE), self._attempts - 1)
        while True:
            try:
                return call()
            except Exception as error:
                if code_of(error) == "ExpiredIteratorException":
                    raise ExpiredIteratorError from error
                pause = next(pauses, None)
                if pause is None or code_of(error) not in TRANSIENT:
                    raise ChannelUnavailableError(f"{self.name}: {error}") from error
            self._clock.wait(pause)


class ExpiredIteratorError(Exception):
    """The iterator is older than five minutes."""
