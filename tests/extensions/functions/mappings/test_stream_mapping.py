"""Mappings of streams: batches, retries, bisection, partial failures, order, reshards, pauses, restarts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.rng import Chance
from extensions.functions.mappings.mapping import PARTIAL
from extensions.functions.mappings.mapping_store import MappingStore
from tests.extensions.functions.mappings.mapped_stream import (
    SCOPE,
    MappedStream,
    RefusedError,
    data_of,
    report_failed,
)

SEEDS = [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 50))]
ISOLATING: list[dict[str, Any]] = [
    {"bisect": True},
    {"bisect": True, "response_types": (PARTIAL,)},
    {"batch_size": 1, "response_types": (PARTIAL,)},
]


@pytest.mark.parametrize("settings", ISOLATING, ids=["bisect", "bisect and partial", "partial, one by one"])
@pytest.mark.parametrize("seed", SEEDS)
async def test_one_poison_record_in_a_thousand_goes_to_the_destination_alone(
    seed: int, settings: dict[str, Any]
) -> None:
    """The 999 others are processed once by invocations that succeed, whatever the batch."""
    draws = Chance(seed).draws("poison")
    poison = str(draws.randrange(1000))
    succeeded: Counter[str] = Counter()

    def handle(event: dict[str, Any]) -> object:
        data = data_of(event)
        if "response_types" in settings:
            good = data[: data.index(poison)] if poison in data else data
            succeeded.update(good)
            return report_failed(event, lambda each: each == poison)
        if poison in data:
            raise ValueError(poison)
        succeeded.update(data)
        return None

    async with MappedStream.running(handle) as stream:
        stream.put(map(str, range(1000)), key="one shard")
        stream.map(**{"batch_size": draws.choice((10, 100, 1000)), "retries": 2, **settings})
        await stream.until(lambda: len(succeeded) == 999 and stream.failures.sent)
    assert set(succeeded.values()) == {1}
    assert poison not in succeeded
    (told,) = stream.failures.sent
    assert told["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert told["KinesisBatchInfo"]["batchSize"] == 1


async def test_without_bisection_what_is_left_of_the_batch_is_given_up() -> None:
    """As Lambda does: after the retries, the failed record and what stands behind it in its batch."""

    def handle(event: dict[str, Any]) -> object:
        return report_failed(event, lambda each: each == "30")

    async with MappedStream.running(handle) as stream:
        stream.put(map(str, range(100)), key="k")
        stream.map(batch_size=50, retries=2, response_types=(PARTIAL,))
        await stream.until(lambda: "99" in stream.processed())
    batch = stream.failures.sent[0]["KinesisBatchInfo"]
    assert batch["batchSize"] == 20
    assert [len(data_of(event)) for event in stream.here.events] == [50, 20, 20, 50]


async def test_a_failing_batch_is_tried_as_often_as_it_may_be_and_holds_up_its_shard() -> None:
    """The first batch is tried 1 + 3 times before the second is seen."""

    def handle(event: dict[str, Any]) -> None:
        if "0" in data_of(event):
            raise ValueError

    async with MappedStream.running(handle) as stream:
        stream.put(map(str, range(20)), key="k")
        stream.map(batch_size=10, retries=3)
        await stream.until(lambda: "19" in stream.processed())
    assert [data_of(event)[0] for event in stream.here.events] == ["0"] * 4 + ["10"]
    (told,) = stream.failures.sent
    assert told["requestContext"]["approximateInvokeCount"] == 4
    assert told["responseContext"]["functionError"] == "Unhandled"


async def test_records_that_are_too_old_are_given_up_and_younger_ones_are_not() -> None:
    """By the sandbox's clock."""
    clock = Clock(frozen_at=1_000_000.0)

    def handle(event: dict[str, Any]) -> None:
        if "old" in data_of(event):
            raise ValueError

    async with MappedStream.running(handle, clock) as stream:
        stream.put(["old"], key="k")
        clock.advance(61)
        stream.put(["young"], key="k")
        stream.map(record_age=60)
        await stream.until(lambda: "young" in stream.processed())
    assert stream.processed() == ["young"]
    assert stream.failures.sent[0]["requestContext"]["condition"] == "RecordAgeExceeded"


async def test_a_throttled_batch_is_no_retry() -> None:
    """It is tried until it is invoked, however few retries there are."""
    refusals = iter(range(5))

    def handle(_event: dict[str, Any]) -> None:
        if next(refusals, None) is not None:
            raise RefusedError

    async with MappedStream.running(handle) as stream:
        stream.put(["a"])
        stream.map(retries=0)
        await stream.until(lambda: stream.processed() == ["a"])
    assert stream.failures.sent == []


async def test_a_batch_waits_for_its_window_or_for_being_full() -> None:
    """On the sandbox's clock."""
    clock = Clock(frozen_at=1_000_000.0)
    async with MappedStream.running(lambda _event: None, clock) as stream:
        stream.put(["a", "b"], key="k")
        stream.map(batch_size=3, batching_seconds=10)
        await stream.until_state("Enabled")
        stream.put(["c"], key="k")
        await stream.until(stream.processed)
        assert [data_of(event) for event in stream.here.events] == [["a", "b", "c"]]
        began = clock.elapsed()
        stream.put(["d"], key="k")

        def pass_time() -> bool:
            clock.advance(1)
            return len(stream.here.events) > 1

        await stream.until(pass_time)
    assert data_of(stream.here.events[1]) == ["d"]
    assert clock.elapsed() - began >= 10


async def test_ten_lanes_of_a_shard_keep_the_order_of_each_key() -> None:
    """Batches are under way at the same time."""
    async with MappedStream.running(lambda _event: None) as stream:
        stream.map(lanes=10, batch_size=10)
        for number in range(50):
            for key in range(20):
                stream.put([f"{key}:{number}"], key=str(key))
        await stream.until(lambda: len(stream.processed()) >= 1000)
    by_key: dict[str, list[int]] = {}
    for each in stream.processed():
        key, _, number = each.partition(":")
        by_key.setdefault(key, []).append(int(number))
    assert all(numbers == list(range(50)) for numbers in by_key.values())
    assert stream.here.most_running > 1


async def test_parents_come_before_their_children() -> None:
    """Through a split and a merge, nothing is lost and no record of a child comes early."""
    async with MappedStream.running(lambda _event: None) as stream:
        stream.put([f"parent {number}" for number in range(30)])
        stream.map(batch_size=7)
        shard = "shardId-000000000000"
        split = {"StreamName": "readings", "ShardToSplit": shard, "NewStartingHashKey": str(1 << 127)}
        stream.engine.call("SplitShard", split, SCOPE)
        stream.put([f"child {number}" for number in range(30)])
        both = {"ShardToMerge": "shardId-000000000001", "AdjacentShardToMerge": "shardId-000000000002"}
        stream.engine.call("MergeShards", {"StreamName": "readings", **both}, SCOPE)
        stream.put([f"merged {number}" for number in range(30)])
        await stream.until(lambda: len(stream.processed()) >= 90)
    generations = [each.split()[0] for each in stream.processed()]
    assert generations == ["parent"] * 30 + ["child"] * 30 + ["merged"] * 30
    assert len(set(stream.processed())) == 90


@pytest.mark.parametrize(("start", "seen"), [("TRIM_HORIZON", ["a", "b"]), ("LATEST", ["b"])])
async def test_where_a_mapping_begins(start: str, seen: list[str]) -> None:
    """LATEST is decided when the mapping is made, also on a clock that stands."""
    async with MappedStream.running(lambda _event: None, Clock(frozen_at=1e6)) as stream:
        stream.put(["a"])
        stream.map(start=start)
        stream.put(["b"])
        await stream.until(lambda: "b" in stream.processed())
    assert stream.processed() == seen


async def test_a_mapping_begins_at_a_time() -> None:
    """With the first record that came then, or later."""
    clock = Clock(frozen_at=1_000_000.0)
    async with MappedStream.running(lambda _event: None, clock) as stream:
        stream.put(["a"])
        clock.advance(10)
        stream.put(["b"])
        stream.map(start="AT_TIMESTAMP", start_time=1_000_005.0)
        await stream.until(stream.processed)
    assert stream.processed() == ["b"]


async def test_a_filter_lets_through_what_it_names() -> None:
    """By the record's JSON data; what is no JSON does not match. The rest is done with."""
    async with MappedStream.running(lambda _event: None) as stream:
        stream.put(['{"kind": "a"}', "no json", '{"kind": "b"}', '{"kind": "a", "n": 2}'], key="k")
        stream.map(filters=('{"data": {"kind": ["a"]}}',))
        await stream.until(lambda: len(stream.processed()) == 2)
        await stream.until(lambda: stream.store.position("m", "shardId-000000000000"))
    assert stream.processed() == ['{"kind": "a"}', '{"kind": "a", "n": 2}']


async def test_a_filter_on_fields_lets_no_data_through_that_is_no_json() -> None:
    """Not even where it asks that a field is not there."""
    async with MappedStream.running(lambda _event: None) as stream:
        stream.put(["no json", '{"n": 1}'], key="k")
        stream.map(filters=('{"data": {"kind": [{"exists": false}]}}',))
        await stream.until(stream.processed)
    assert stream.processed() == ['{"n": 1}']


async def test_what_no_filter_lets_through_costs_one_entry_of_the_log_a_read(tmp_path: Path) -> None:
    """Not one a record, which would take more than the records themselves."""
    log = tmp_path / "mappings.log"
    async with MappedStream.running(lambda _event: None, store=MappingStore(log, fsync=False)) as stream:
        stream.map(batch_size=1000, filters=('{"data": {"kind": ["a"]}}',))
        before = log.stat().st_size
        stream.put(map(str, range(1000)), key="k")
        stream.put(['{"kind": "a"}'], key="k")
        await stream.until(stream.processed)
        await stream.service.stop()
    assert log.stat().st_size - before < 1000
    stream.store.close()


async def test_a_mapping_that_is_disabled_goes_on_where_it_was() -> None:
    """Nothing comes meanwhile, and nothing twice."""
    async with MappedStream.running(lambda _event: None) as stream:
        mapping = stream.map(batch_size=5)
        stream.put(map(str, range(10)), key="k")
        await stream.until(lambda: len(stream.processed()) == 10)
        mapping.enabled = False
        assert stream.service.update(mapping, transition="Disabling").state == "Disabling"
        await stream.until_state("Disabled")
        stream.put(map(str, range(10, 20)), key="k")
        assert len(stream.processed()) == 10
        mapping.enabled = True
        stream.service.update(mapping, transition="Enabling")
        await stream.until(lambda: len(stream.processed()) == 20)
    assert stream.processed() == list(map(str, range(20)))


async def test_changed_settings_apply_to_what_comes_next() -> None:
    async with MappedStream.running(lambda _event: None) as stream:
        mapping = stream.map(batch_size=2)
        stream.put(map(str, range(4)), key="k")
        await stream.until(lambda: len(stream.processed()) == 4)
        mapping.batch_size = 4
        stream.service.update(mapping, transition="Updating")
        await stream.until_state("Enabled")
        stream.put(map(str, range(4, 8)), key="k")
        await stream.until(lambda: len(stream.processed()) == 8)
    assert [len(event["Records"]) for event in stream.here.events] == [2, 2, 4]


async def test_a_restart_goes_on_behind_what_was_done(tmp_path: Path) -> None:
    """With what the store has in its file."""
    store = MappingStore(tmp_path / "mappings.log", fsync=False)
    async with MappedStream.running(lambda _event: None, store=store) as stream:
        stream.map(batch_size=5)
        stream.put(map(str, range(10)), key="k")
        await stream.until(lambda: len(stream.processed()) == 10)
        await stream.service.stop()
        store.close()
        stream.store = MappingStore(tmp_path / "mappings.log", fsync=False)
        stream.put(["next"], key="k")
        await stream.restart()
        await stream.until(lambda: "next" in stream.processed())
    assert stream.processed() == [*map(str, range(10)), "next"]
    stream.store.close()


async def test_a_stream_that_is_gone_is_said_and_one_made_again_is_read_from_its_start() -> None:
    async with MappedStream.running(lambda _event: None) as stream:
        stream.map()
        stream.put(["a"])
        await stream.until(lambda: stream.processed() == ["a"])
        stream.engine.call("DeleteStream", {"StreamName": "readings"}, SCOPE)
        await stream.until(lambda: "not found" in stream.store.get("m").result)
        stream.engine.call("CreateStream", {"StreamName": "readings", "ShardCount": 1}, SCOPE)
        stream.put(["b"])
        await stream.until(lambda: "b" in stream.processed())
