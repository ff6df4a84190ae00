"""Tumbling windows: the state goes from batch to batch, and ends with the window, or with the shard."""

from __future__ import annotations

from typing import Any

from emulator.clock import Clock
from tests.extensions.functions.mappings.mapped_stream import SCOPE, MappedStream, data_of

SHARD = "shardId-000000000000"


class Sums:
    """A handler that counts records by window, and keeps what each final invocation was given."""

    def __init__(self) -> None:
        self.finals: list[tuple[str, str, int]] = []

    def __call__(self, event: dict[str, Any]) -> object:
        if event["isFinalInvokeForWindow"]:
            assert event["Records"] == []
            self.finals.append((event["shardId"], event["window"]["start"], event["state"].get("n", 0)))
            return {}
        return {"state": {"n": event["state"].get("n", 0) + len(data_of(event))}}


async def test_each_window_is_processed_once_with_what_came_in_it() -> None:
    """Batches of a window share its state, and the next window begins with none."""
    clock, sums = Clock(frozen_at=1_000_000.0), Sums()
    async with MappedStream.running(sums, clock) as stream:
        stream.put(map(str, range(7)), key="k")
        stream.map(window_seconds=60, batch_size=3)
        await stream.until(lambda: len(stream.processed()) == 7)
        clock.advance(60)
        stream.put(map(str, range(5)), key="k")
        await stream.until(lambda: len(stream.processed()) == 12)
        clock.advance(60)
        await stream.until(lambda: len(sums.finals) == 2)
    assert sums.finals == [(SHARD, "1970-01-12T13:46:00Z", 7), (SHARD, "1970-01-12T13:47:00Z", 5)]


async def test_a_split_ends_the_window_of_the_shard_and_its_children_begin_their_own() -> None:
    """No record is in two windows, or in none."""
    clock, sums = Clock(frozen_at=1_000_000.0), Sums()
    async with MappedStream.running(sums, clock) as stream:
        stream.map(window_seconds=60)
        stream.put(map(str, range(10)))
        await stream.until(lambda: len(stream.processed()) == 10)
        split = {"StreamName": "readings", "ShardToSplit": SHARD, "NewStartingHashKey": str(1 << 127)}
        stream.engine.call("SplitShard", split, SCOPE)
        stream.put(map(str, range(10, 20)))
        await stream.until(lambda: len(stream.processed()) == 20)
        clock.advance(60)
        await stream.until(lambda: sum(count for _, _, count in sums.finals) == 20)
    assert sums.finals[0] == (SHARD, "1970-01-12T13:46:00Z", 10)
    assert {shard for shard, _, _ in sums.finals[1:]} == {"shardId-000000000001", "shardId-000000000002"}


async def test_an_answer_without_a_state_is_a_failure() -> None:
    """As Lambda treats it: the batch is tried again, and given up in the end."""
    async with MappedStream.running(lambda _event: {"count": 1}) as stream:
        stream.put(["a"])
        stream.map(window_seconds=60, retries=1)
        await stream.until(lambda: stream.failures.sent)
    assert stream.failures.sent[0]["requestContext"]["approximateInvokeCount"] == 2


async def test_an_open_window_is_kept_over_a_restart() -> None:
    """With its state."""
    clock, sums = Clock(frozen_at=1_000_000.0), Sums()
    async with MappedStream.running(sums, clock) as stream:
        stream.map(window_seconds=60)
        stream.put(["a", "b"], key="k")
        await stream.until(lambda: len(stream.processed()) == 2)
        await stream.restart()
        stream.put(["c"], key="k")
        await stream.until(lambda: len(stream.processed()) == 3)
        clock.advance(60)
        await stream.until(lambda: sums.finals)
    assert sums.finals == [(SHARD, "1970-01-12T13:46:00Z", 3)]


async def test_a_final_invocation_that_fails_is_tried_again_before_anything_else() -> None:
    """The shard waits for it."""
    clock, failures = Clock(autojump=True), iter(range(3))
    seen: list[str] = []

    def handle(event: dict[str, Any]) -> object:
        if event["isFinalInvokeForWindow"]:
            seen.append("final")
            if next(failures, None) is not None:
                raise ValueError
        else:
            seen.extend(data_of(event))
        return {"state": {}}

    async with MappedStream.running(handle, clock) as stream:
        stream.put(["a"], key="k")
        stream.map(window_seconds=30)
        await stream.until(lambda: "a" in seen)
        clock.advance(31)
        stream.put(["b"], key="k")
        await stream.until(lambda: "b" in seen)
    assert seen[:6] == ["a", "final", "final", "final", "final", "b"]
