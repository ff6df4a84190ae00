"""A journal of states that an earlier release wrote: its entries were states without keys."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine, Scope

WRITTEN = 1_795_666_500.0
"""Seconds since the epoch, just after the journal was written: a day later its closed shard has expired."""


def test_the_states_of_the_format_before_are_taken_over_once(tmp_path: Path) -> None:
    """Streams, what became of their shards, the account's settings, and the numbers that were used."""
    journal = tmp_path / "state.log"
    shutil.copyfile(Path(__file__).with_name("format_1_state.log"), journal)
    home, clock = Scope("000000000000", "us-east-1"), Clock(frozen_at=WRITTEN)
    for _ in range(2):
        with closing(Engine(tmp_path, clock, Events(clock))) as engine:
            assert engine.names(home) == ["one", "three"]
            shards = engine.call("ListShards", {"StreamName": "one"}, home)["Shards"]
            assert [shard.get("ParentShardId") for shard in shards] == [None, *["shardId-000000000000"] * 2]
            billing = engine.call("DescribeAccountSettings", {}, home)["MinimumThroughputBillingCommitment"]
            assert billing["Status"] == "ENABLED"
        assert journal.read_bytes().count(b'"name":"one"') == 1
    with closing(Engine(tmp_path, clock, Events(clock))) as engine:
        engine.call("CreateStream", {"StreamName": "five", "ShardCount": 1}, home)
        (five,) = (view for view in engine.streams(home) if view.name == "five")
        assert five.generation == "000000005"
