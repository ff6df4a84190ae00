"""Producers and readers of a stream, and the model that knows what was acknowledged and in which order.

A producer sends its messages one after another under one partition key, each again until it is acknowledged.
So a reader meets every number of a key behind the one before it, whatever dies, reshards or is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from emulator.channels.channel import (
    ChannelUnavailableError,
    Delivery,
    PublishRefusedError,
    PublishUnknownError,
    Receipt,
)
from emulator.channels.checkpoints import MemoryCheckpoints
from emulator.channels.memory import DEFAULT_SCOPE
from emulator.kinesis import KinesisError
from emulator.rng import Draws
from schemas.rdss.sequence import split
from tests.sandbox.receiver.receiver_on_tapes import Messages
from tests.simulation.simulated_world import SimulatedWorld
from tests.simulation.virtual_time import Steps

STREAM: Final = "input"
_PART_BYTES: Final = {2: 400, 3: 380}


@dataclass(slots=True)
class SentMessage:
    """A message of a producer, or the parts of one, and what is to become of it.

    What is rejected of it are so many ``rejects``, and each has the ``mark``. A sequence is rejected as a
    whole where the receiver had not all its parts in time.
    """

    body_id: str
    parts: list[bytes]
    fate: str
    mark: str
    rejects: int = 1


@dataclass
class StreamHistory:
    """What producers sent, by the bytes, and what of it was acknowledged."""

    numbers: dict[bytes, tuple[str, int]] = field(default_factory=dict)
    sent: dict[str, SentMessage] = field(default_factory=dict)
    acknowledged: dict[str, int] = field(default_factory=dict)
    receipts: dict[tuple[str, str], bytes] = field(default_factory=dict)
    excused: dict[str, int] = field(default_factory=dict)
    """Of each key the number up to which retention may have taken what nobody had read."""
    finished: int = 0

    def excuse(self) -> None:
        """Let retention have taken everything that was sent until now."""
        for key, number in self.numbers.values():
            self.excused[key] = max(number, self.excused.get(key, 0))


class KeyedProducer:
    """Sends messages of every kind; ``history`` is told what it sent and what was acknowledged."""

    def __init__(self, world: SimulatedWorld, history: StreamHistory, key: str) -> None:
        self._world = world
        self._history = history
        self._key = key
        self._draws = world.chance.draws("producer", key)
        self._messages = Messages(self._draws)
        self._number = 0
        self._channel = world.open_channel(STREAM, self._draws, faulted=True)

    def steps(self) -> Steps:
        while not self._world.is_ending:
            message = self._make()
            self._history.sent[message.body_id] = message
            for part in message.parts:
                self._number += 1
                self._history.numbers[part] = self._key, self._number
                while not self._publish(part):
                    yield 0.2 + self._draws.random()
                yield self._draws.random() * 2
        self._history.finished += 1

    def _publish(self, data: bytes) -> bool:
        world, history = self._world, self._history
        try:
            receipt = self._channel.publish(data, self._key)
        except (PublishRefusedError, PublishUnknownError) as error:
            world.tell(f"{self._key} {self._number} not acknowledged: {error.code}")
            return False
        world.tell(f"{self._key} {self._number} acknowledged: {receipt.shard} {receipt.sequence_number}")
        history.acknowledged[self._key] = self._number
        self._check_number(receipt, data)
        return True

    def _check_number(self, receipt: Receipt, data: bytes) -> None:
        place = receipt.shard, receipt.sequence_number
        other = self._history.receipts.setdefault(place, data)
        self._world.require(other == data, "one record for each number", f"{place} was given to two records")

    def _make(self) -> SentMessage:
        kind = self._draws.random()
        message = self._messages.small()
        body_id = message["messageBody"]["objectUUID"]
        if kind < 0.08:
            message["messageHeader"]["messageId"] = self._draws.uuid4()
            message["messageBody"] = {"objectUUID": f"no UUID {body_id}"}
            return SentMessage(body_id, [msgspec.json.encode(message)], "rejected", body_id)
        if kind < 0.25:
            return self._make_sequence(message, body_id)
        return SentMessage(body_id, [msgspec.json.encode(message)], "processed", body_id)

    def _make_sequence(self, message: dict[str, Any], body_id: str) -> SentMessage:
        draws, count = self._draws, self._draws.choice((2, 3))
        place = message["messageHeader"]["messageSequence"]
        own = message["messageHeader"]["messageId"]
        shares_id = draws.random() < 0.4
        cut = partial(
            split, message, limit=_PART_BYTES[count], new_id=(lambda: own) if shares_id else draws.uuid4
        )
        parts = cut()
        begun = parts[: draws.randrange(1, count)]
        fate = draws.random()
        if fate < 0.25:
            return SentMessage(body_id, begun, "rejected", place["sequence"], len(begun))
        if fate < 0.5:
            # Its sender died, and sends it whole again, under the same messageId.
            place["sequence"] = draws.uuid4()
            return SentMessage(body_id, [*begun, *cut()], "processed", place["sequence"], count)
        return SentMessage(body_id, parts, "processed", place["sequence"], count)


class StreamReader:
    """Reads the stream as it is, commits some of what it read, and begins anew at its checkpoints."""

    def __init__(self, world: SimulatedWorld, history: StreamHistory) -> None:
        self._world = world
        self._history = history
        self._draws = world.chance.draws("reader")
        self._checkpoints = MemoryCheckpoints()
        self._committed: dict[str, set[int]] = {}
        self._begin()

    def _begin(self) -> None:
        self._channel = self._world.open_channel(STREAM, self._draws, self._checkpoints)
        self._last = dict.fromkeys(self._committed, 0)
        self._read: list[Delivery] = []

    def steps(self) -> Steps:
        while True:
            yield 0.3 + self._draws.random() * 2
            if self._draws.random() < 0.15:
                self._world.tell("reader begins anew")
                self._begin()
            self.read(self._draws.randrange(1, 20))

    def read(self, limit: int) -> int:
        """Read up to so many records, and commit some; return how many there were."""
        try:
            found = self._channel.read(limit=limit)
        except ChannelUnavailableError:
            return 0
        for each in found:
            self._take(each)
        for each in found[: self._draws.randrange(len(found) + 1)]:
            self._channel.commit(each)
            self._note_committed(each)
        return len(found)

    def check_end(self) -> None:
        """Whether everything acknowledged was read. Nothing is refused any more."""
        self._begin()
        while self.read(100):
            pass
        for key, acknowledged in self._history.acknowledged.items():
            self._skip_committed(key)
            self._world.require(
                self._last[key] >= acknowledged, "nothing acknowledged lost",
                f"{key} {acknowledged} was acknowledged and does not come, after {self._last[key]}",
            )  # fmt: skip

    def _take(self, delivery: Delivery) -> None:
        self._read.append(delivery)
        known = self._history.numbers.get(delivery.data)
        self._world.require(known is not None, "nothing torn", f"{delivery.data!r} was never sent")
        assert known is not None
        key, number = known
        place = delivery.shard, delivery.sequence_number
        first = self._history.receipts.setdefault(place, delivery.data)
        self._world.require(first == delivery.data, "one record for each number", f"{place} has two records")
        self._skip_committed(key)
        last = self._last[key]
        self._world.tell(f"reader {key} {number} {delivery.shard}")
        self._world.require(number <= last + 1, "order in a shard", f"{key} {number} comes after {last}")
        self._last[key] = max(last, number)

    def _skip_committed(self, key: str) -> None:
        last = max(self._last.get(key, 0), self._history.excused.get(key, 0))
        while last + 1 in self._committed.get(key, ()):
            last += 1
        self._last[key] = last

    def _note_committed(self, delivery: Delivery) -> None:
        while self._read:
            at = next((i for i, each in enumerate(self._read) if each.shard == delivery.shard), None)
            if at is None or int(self._read[at].sequence_number) > int(delivery.sequence_number):
                return
            key, number = self._history.numbers[self._read.pop(at).data]
            self._committed.setdefault(key, set()).add(number)


class Resharder:
    """Splits, merges and scales the stream, and makes a stream that is new."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self._draws: Draws = world.chance.draws("resharder")
        self._streams = world.distant_streams(self._draws)

    def steps(self) -> Steps:
        while not self._world.is_ending:
            yield self._draws.random() * 8
            try:
                self._reshard()
            except KinesisError as error:
                self._world.tell(f"reshard refused: {error.code}")

    def _reshard(self) -> None:
        listed = self._streams.call("ListShards", {"StreamName": STREAM}, DEFAULT_SCOPE)["Shards"]
        still = [each for each in listed if "EndingSequenceNumber" not in each["SequenceNumberRange"]]
        shard = self._draws.choice(still)
        low, high = (int(shard["HashKeyRange"][end]) for end in ("StartingHashKey", "EndingHashKey"))
        beside = next(
            (each for each in still if int(each["HashKeyRange"]["StartingHashKey"]) == high + 1), None
        )
        if beside is not None and self._draws.random() < 0.5:
            asked = {"ShardToMerge": shard["ShardId"], "AdjacentShardToMerge": beside["ShardId"]}
            self._streams.call("MergeShards", {"StreamName": STREAM, **asked}, DEFAULT_SCOPE)
        elif len(still) < 6 and high > low:
            at = str(low + 1 + self._draws.randrange(high - low))
            asked = {"ShardToSplit": shard["ShardId"], "NewStartingHashKey": at}
            self._streams.call("SplitShard", {"StreamName": STREAM, **asked}, DEFAULT_SCOPE)
