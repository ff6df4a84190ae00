"""AWS's throughput limits and account quotas: enforced on the clock when strict, absent when relaxed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from emulator.clock import Clock
from emulator.kinesis.entries import Written
from emulator.kinesis.errors import invalid_argument, limit_exceeded, throughput_exceeded
from emulator.kinesis.scope import Scope
from emulator.kinesis.stream import Routed, Shard, Stream

WRITE_RECORDS_A_SECOND = 1000
WRITE_BYTES_A_SECOND = 1 << 20
READ_CALLS_A_SECOND = 5
READ_BYTES_A_SECOND = 2 << 20
ITERATORS_A_SECOND = 5
ON_DEMAND_STREAMS = 50
CONSUMERS_A_STREAM = 20
CREATING_AT_ONCE = 5
SCALINGS_A_DAY = 10
SHARDS_A_STREAM = 10_000
SHARDS_SCALED = 3_000
"""Open shards that UpdateShardCount takes or makes at most. It makes up to two more for each on the way, and
others wait for it. AWS's own quota is 1,000 in most regions."""
SHARDS_BEFORE_RESHARDING = 30_000
"""With closed ones, which AWS does not count. A change of a stream writes down and looks at all of them."""
_DAY = 86_400.0
_BIG_REGIONS = ("us-east-1", "us-west-2", "eu-west-1")

CALLS_A_SECOND = dict.fromkeys(
    (
        "AddTagsToStream",
        "CreateStream",
        "DecreaseStreamRetentionPeriod",
        "DeleteResourcePolicy",
        "DeleteStream",
        "DeregisterStreamConsumer",
        "DescribeAccountSettings",
        "DisableEnhancedMonitoring",
        "EnableEnhancedMonitoring",
        "GetResourcePolicy",
        "IncreaseStreamRetentionPeriod",
        "ListStreamConsumers",
        "ListStreams",
        "ListTagsForResource",
        "ListTagsForStream",
        "MergeShards",
        "PutResourcePolicy",
        "RegisterStreamConsumer",
        "RemoveTagsFromStream",
        "SplitShard",
        "StartStreamEncryption",
        "StopStreamEncryption",
        "TagResource",
        "UntagResource",
        "UpdateAccountSettings",
        "UpdateMaxRecordSize",
        "UpdateStreamMode",
        "UpdateStreamWarmThroughput",
    ),
    5,
) | {
    "DescribeLimits": 1,
    "DescribeStream": 10,
    "DescribeStreamConsumer": 20,
    "DescribeStreamSummary": 20,
    "ListShards": 1000,
    "UpdateShardCount": 10,
}
"""How many calls of an operation an account may make in a second."""


def shard_quota(scope: Scope) -> int:
    """How many open shards an account may have in a region."""
    return 20_000 if scope.region in _BIG_REGIONS else 1000


class EngineLimits(Protocol):
    """The checks that the engine makes before it acts. Each raises AWS's exception beyond its limit."""

    def operation(self, name: str, scope: Scope, /) -> None: ...
    def admit(self, stream: Stream, routed: Routed, sizes: list[int], written: Written, /) -> Routed: ...
    def iterator(self, stream: Stream, shard: Shard, /) -> None: ...
    def read(self, stream: Stream, shard: Shard, /) -> None: ...
    def delivered(self, shard: Shard, size: int, /) -> None: ...
    def new_stream(self, scope: Scope, creating: int, on_demand: int, /) -> None: ...
    def new_shards(self, scope: Scope, current: int, more: int, /) -> None: ...
    def new_consumer(self, stream: Stream, now: float, /) -> None: ...
    def scaling(self, stream: Stream, target: int, now: float, /) -> None: ...


class Relaxed:
    """No limits, except for the most shards that a stream can have."""

    def operation(self, _name: str, _scope: Scope) -> None:
        """Allow any rate."""

    def admit(self, _stream: Stream, routed: Routed, _sizes: list[int], _written: Written) -> Routed:
        """Admit every entry."""
        return routed

    def iterator(self, _stream: Stream, _shard: Shard) -> None:
        """Allow any rate."""

    def read(self, _stream: Stream, _shard: Shard) -> None:
        """Allow any rate."""

    def delivered(self, _shard: Shard, _size: int) -> None:
        """Count nothing."""

    def new_stream(self, _scope: Scope, _creating: int, _on_demand: int) -> None:
        """Allow any number."""

    def new_shards(self, _scope: Scope, _current: int, _more: int) -> None:
        """Allow any number."""

    def new_consumer(self, _stream: Stream, _now: float) -> None:
        """Allow any number."""

    def scaling(self, _stream: Stream, target: int, _now: float) -> None:
        """Allow any number of shards that a stream can have."""
        if target > SHARDS_A_STREAM:
            raise _too_many_shards(target)


class Strict:
    """AWS's limits, as token buckets that fill on the sandbox's clock. A bucket holds a second's worth."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[Hashable, tuple[float, float]] = {}

    def operation(self, name: str, scope: Scope) -> None:
        rate = CALLS_A_SECOND.get(name)
        if rate is not None and not self._take((name, scope), 1, rate):
            raise limit_exceeded(f"Rate exceeded for account {scope.account}.")

    def admit(self, stream: Stream, routed: Routed, sizes: list[int], written: Written) -> Routed:
        """Admit entries within each shard's 1,000 records and 1 MiB a second; fail others in ``written``."""
        admitted: Routed = {}
        for shard, indexes in routed.items():
            fit = [i for i in indexes if self._admits(shard, sizes[i])]
            if fit:
                admitted[shard] = fit
            if len(fit) < len(indexes):
                kept = set(fit)
                error = throughput_exceeded(_rate_exceeded(stream, shard))
                written.fail([i for i in indexes if i not in kept], error.code, error.message)
        return admitted

    def iterator(self, stream: Stream, shard: Shard) -> None:
        if not self._take(("iterators", shard.prefix), 1, ITERATORS_A_SECOND):
            raise throughput_exceeded(_rate_exceeded(stream, shard))

    def read(self, stream: Stream, shard: Shard) -> None:
        calls, sent = ("reads", shard.prefix), ("read", shard.prefix)
        # Below 0 after a large answer: AWS returns 10 MiB at once, and then nothing for five seconds.
        if self._left(sent, READ_BYTES_A_SECOND) <= 0 or not self._take(calls, 1, READ_CALLS_A_SECOND):
            raise throughput_exceeded(_rate_exceeded(stream, shard))

    def delivered(self, shard: Shard, size: int) -> None:
        self._spend(("read", shard.prefix), size, READ_BYTES_A_SECOND)

    def new_stream(self, scope: Scope, creating: int, on_demand: int) -> None:
        if creating >= CREATING_AT_ONCE:
            raise limit_exceeded(f"Only {CREATING_AT_ONCE} streams can be in the CREATING state at one time.")
        if on_demand >= ON_DEMAND_STREAMS:
            raise limit_exceeded(
                f"Account {scope.account} can have only {ON_DEMAND_STREAMS} on-demand streams."
            )

    def new_shards(self, scope: Scope, current: int, more: int) -> None:
        limit = shard_quota(scope)
        if more > 0 and current + more > limit:
            raise limit_exceeded(
                f"This request would exceed the shard limit for the account {scope.account} in "
                f"{scope.region}. Current shard count for the account: {current}. Limit: {limit}. Number of "
                f"additional shards that would have resulted from this request: {more}. Refer to the AWS "
                "Service Limits page (http://docs.aws.amazon.com/general/latest/gr/aws_service_limits.html) "
                "for current limits and how to request higher limits."
            )

    def new_consumer(self, stream: Stream, now: float) -> None:
        consumers = stream.state.consumers
        if len(consumers) >= CONSUMERS_A_STREAM:
            raise limit_exceeded(f"Stream {stream.name} can have only {CONSUMERS_A_STREAM} consumers.")
        if sum(now < consumer.ready for consumer in consumers) >= CREATING_AT_ONCE:
            raise limit_exceeded(
                f"Only {CREATING_AT_ONCE} consumers can be in the CREATING state at one time."
            )

    def scaling(self, stream: Stream, target: int, now: float) -> None:
        current = len(stream.open_shards)
        counts = f"Current open shard count: {current} Target shard count: {target}"
        if target > SHARDS_A_STREAM:
            raise _too_many_shards(target)
        if target > 2 * current:
            raise invalid_argument(
                f"UpdateShardCount cannot scale up over double your current open shard count. {counts}"
            )
        if 2 * target < current:
            raise invalid_argument(
                f"UpdateShardCount cannot scale down below half your current open shard count. {counts}"
            )
        if sum(now - at < _DAY for at in stream.state.scalings) >= SCALINGS_A_DAY:
            raise limit_exceeded(
                f"Stream {stream.name} under account {stream.account} has been scaled {SCALINGS_A_DAY} times "
                "in the last 24 hours."
            )

    def _admits(self, shard: Shard, size: int) -> bool:
        records, data = ("records", shard.prefix), ("data", shard.prefix)
        left = self._left(data, WRITE_BYTES_A_SECOND)
        # A record may be larger than a second's worth: it takes a bucket that is full.
        if left < min(size, WRITE_BYTES_A_SECOND) or not self._take(records, 1, WRITE_RECORDS_A_SECOND):
            return False
        self._spend(data, size, WRITE_BYTES_A_SECOND)
        return True

    def _take(self, bucket: Hashable, cost: float, rate: float) -> bool:
        if self._left(bucket, rate) < cost:
            return False
        self._spend(bucket, cost, rate)
        return True

    def _left(self, bucket: Hashable, rate: float) -> float:
        now = self._clock.elapsed()
        left, since = self._buckets.get(bucket, (rate, now))
        return min(rate, left + (now - since) * rate)

    def _spend(self, bucket: Hashable, cost: float, rate: float) -> None:
        self._buckets[bucket] = (self._left(bucket, rate) - cost, self._clock.elapsed())


def _rate_exceeded(stream: Stream, shard: Shard) -> str:
    return f"Rate exceeded for shard {shard.id} in stream {stream.name} under account {stream.account}."


def _too_many_shards(target: int) -> Exception:
    return invalid_argument(
        f"Target shard count or number of open shards cannot be greater than {SHARDS_A_STREAM}. "
        f"Target shard count: {target}"
    )
