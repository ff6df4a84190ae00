"""The engine against a small reference model, over everything that can happen to a stream, in any order."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.emulator.kinesis.engine_calls import SCOPE, Api

LAST = 2**128 - 1
HOUR = 3600
RETENTION = 24 * HOUR


@dataclass
class ModelShard:
    """What a shard should hold: (data, arrival) in order, and how many of them are gone."""

    first: int
    last: int
    parents: list[str]
    records: list[tuple[bytes, float]] = field(default_factory=list)
    gone: int = 0
    closed: float | None = None


@dataclass
class Place:
    """An iterator that a consumer holds, and what it should find there."""

    token: str
    shard: str
    reached: int
    made: float


class StreamMachine(RuleBasedStateMachine):
    """Put, split, merge, scale, let time pass, read, restart: the engine and the model never differ."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.api = Api(self.directory, segment_bytes=700)
        self.shards: dict[str, ModelShard] = {}
        self.places: list[Place] = []
        self.written = 0

    def teardown(self) -> None:
        self.api.engine.close()
        shutil.rmtree(self.directory)

    @initialize(count=st.integers(1, 3))
    def create(self, count: int) -> None:
        self.api.create(shards=count)
        bounds = [(1 << 128) // count * i for i in range(count)] + [LAST + 1]
        for i in range(count):
            self.shards[f"shardId-{i:012d}"] = ModelShard(bounds[i], bounds[i + 1] - 1, [])

    @rule(hash_keys=st.lists(st.integers(0, LAST), min_size=1, max_size=12), fast=st.booleans())
    def put(self, hash_keys: list[int], fast: bool) -> None:
        entries = []
        for key in hash_keys:
            self.written += 1
            entries.append({"Data": b"%d" % self.written, "PartitionKey": "k", "ExplicitHashKey": str(key)})
        answer = self.put_fast(entries) if fast else self.api("PutRecords", StreamName="s", Records=entries)
        assert answer["FailedRecordCount"] == 0
        for key, entry, result in zip(hash_keys, entries, answer["Records"], strict=True):
            shard_id = next(i for i in self.open() if self.shards[i].first <= key <= self.shards[i].last)
            assert result["ShardId"] == shard_id
            self.shards[shard_id].records.append((entry["Data"], self.now()))

    def put_fast(self, entries: list[dict[str, Any]]) -> dict[str, Any]:
        texts = [entry | {"Data": base64.b64encode(entry["Data"]).decode()} for entry in entries]
        body = json.dumps({"StreamName": "s", "Records": texts}).encode()
        answer: dict[str, Any] = json.loads(self.api.engine.put_records_json(body, SCOPE))
        return answer

    @precondition(lambda self: len(self.shards) < 30)
    @rule(data=st.data())
    def split(self, data: st.DataObject) -> None:
        parent = data.draw(st.sampled_from(self.open()))
        shard = self.shards[parent]
        if shard.last - shard.first < 3:
            return
        at = data.draw(st.integers(shard.first + 2, shard.last - 1))
        self.api("SplitShard", StreamName="s", ShardToSplit=parent, NewStartingHashKey=str(at))
        self.close(parent)
        self.begin(shard.first, at - 1, [parent])
        self.begin(at, shard.last, [parent])

    @precondition(lambda self: len(self.open()) > 1)
    @rule(data=st.data())
    def merge(self, data: st.DataObject) -> None:
        ordered = sorted(self.open(), key=lambda shard: self.shards[shard].first)
        i = data.draw(st.integers(0, len(ordered) - 2))
        pair = data.draw(st.permutations(ordered[i : i + 2]))
        self.api("MergeShards", StreamName="s", ShardToMerge=pair[0], AdjacentShardToMerge=pair[1])
        for parent in pair:
            self.close(parent)
        self.begin(self.shards[ordered[i]].first, self.shards[ordered[i + 1]].last, list(pair))

    @rule(hours=st.sampled_from([0.001, 1, 10, 23, 25]))
    def let_time_pass(self, hours: float) -> None:
        self.api.clock.advance(hours * HOUR)
        horizon = self.now() - RETENTION
        for shard_id, shard in list(self.shards.items()):
            shard.gone = sum(arrival < horizon for _, arrival in shard.records)
            if shard.closed is not None and shard.closed < horizon:
                del self.shards[shard_id]

    @rule()
    def restart(self) -> None:
        self.api.restart()

    @rule(data=st.data(), kind=st.sampled_from(["TRIM_HORIZON", "LATEST", "AT_TIMESTAMP"]))
    def begin_reading(self, data: st.DataObject, kind: str) -> None:
        shard_id = data.draw(st.sampled_from(sorted(self.shards)))
        shard = self.shards[shard_id]
        more, reached = {}, {"TRIM_HORIZON": shard.gone, "LATEST": len(shard.records)}.get(kind, 0)
        if kind == "AT_TIMESTAMP":
            age = data.draw(st.integers(0, 30 * HOUR))
            more = {"Timestamp": self.now() - age}
            at = round((self.now() - age) * 1000)
            reached = max(shard.gone, sum(round(arrival * 1000) < at for _, arrival in shard.records))
        token = self.api.iterator(int(shard_id[-12:]), kind, **more)
        self.places.append(Place(token, shard_id, reached, self.now()))

    @precondition(lambda self: self.places)
    @rule(data=st.data(), limit=st.integers(1, 10))
    def read_on(self, data: st.DataObject, limit: int) -> None:
        place = data.draw(st.sampled_from(self.places))
        self.places.remove(place)
        if self.now() - place.made > 300:
            self.api.refuses(
                "ExpiredIteratorException", "Iterator expired", "GetRecords", ShardIterator=place.token
            )
            return
        if place.shard not in self.shards:
            self.api.refuses(
                "ResourceNotFoundException", "Could not find shard", "GetRecords", ShardIterator=place.token
            )
            return
        answer = self.api.get(place.token, Limit=limit)
        shard = self.shards[place.shard]
        reached = max(place.reached, shard.gone)
        expected = shard.records[reached : reached + limit]
        found = [(record["Data"], record["ApproximateArrivalTimestamp"]) for record in answer["Records"]]
        assert [data for data, _ in found] == [data for data, _ in expected]
        assert all(abs(one - other) < 0.002 for (_, one), (_, other) in zip(found, expected, strict=True))
        reached += len(expected)
        drained = reached == len(shard.records)
        assert ("NextShardIterator" not in answer) == (drained and shard.closed is not None)
        assert (answer["MillisBehindLatest"] == 0) or not drained
        if "NextShardIterator" in answer:
            self.places.append(Place(answer["NextShardIterator"], place.shard, reached, self.now()))
        else:
            children = {i for i, child in self.shards.items() if place.shard in child.parents}
            assert {child["ShardId"] for child in answer["ChildShards"]} == children

    @invariant()
    def the_shards_are_those_of_the_model(self) -> None:
        listed = {shard["ShardId"]: shard for shard in self.api.shards()} if self.shards else {}
        assert sorted(listed) == sorted(self.shards)
        for shard_id, shard in self.shards.items():
            keys = listed[shard_id]["HashKeyRange"]
            assert (int(keys["StartingHashKey"]), int(keys["EndingHashKey"])) == (shard.first, shard.last)
            parents = [listed[shard_id].get(name) for name in ("ParentShardId", "AdjacentParentShardId")]
            assert [parent for parent in parents if parent] == shard.parents
            closed = "EndingSequenceNumber" in listed[shard_id]["SequenceNumberRange"]
            assert closed == (shard.closed is not None)

    @invariant()
    def every_record_that_is_left_is_there_once_and_in_order(self) -> None:
        for shard_id, shard in self.shards.items():
            records = self.api.engine.read("s", shard_id, None, 10_000, SCOPE)
            assert [r.data for r in records] == [data for data, _ in shard.records[shard.gone :]]
            numbers = [r.sequence_number for r in records]
            assert numbers == sorted(set(numbers))

    def now(self) -> float:
        return self.api.clock.time()

    def open(self) -> list[str]:
        return [shard_id for shard_id, shard in self.shards.items() if shard.closed is None]

    def close(self, shard_id: str) -> None:
        self.shards[shard_id].closed = self.now()

    def begin(self, first: int, last: int, parents: list[str]) -> None:
        index = 1 + max(int(shard[-12:]) for shard in self.shards)
        self.shards[f"shardId-{index:012d}"] = ModelShard(first, last, parents)


TestStream = StreamMachine.TestCase
TestStream.settings = settings(
    max_examples=25, stateful_step_count=30, suppress_health_check=list(HealthCheck)
)
