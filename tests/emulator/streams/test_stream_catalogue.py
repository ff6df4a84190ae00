"""The streams by their labels, and the shards to index."""

from __future__ import annotations

from emulator.channels.memory import DEFAULT_SCOPE
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from emulator.streams.amqp_log import AmqpLog
from emulator.streams.merged_reading import ShardKey
from emulator.streams.stream_catalogue import Catalogue
from tests.emulator.faulted_brokers import NOON


def test_a_stream_created_again_under_its_name_has_another_generation() -> None:
    """All shards of a stream have its one generation, also those that a reshard makes."""
    clock = Clock(frozen_at=NOON)
    engine, amqp = Engine(None, clock, Events(clock)), AmqpLog(None, clock, DEFAULT_SCOPE)
    catalogue = Catalogue(engine, DEFAULT_SCOPE, amqp)
    found: list[str] = []
    for _ in range(2):
        engine.call("CreateStream", {"StreamName": "input", "ShardCount": 1}, DEFAULT_SCOPE)
        scaled = {"StreamName": "input", "TargetShardCount": 2, "ScalingType": "UNIFORM_SCALING"}
        engine.call("UpdateShardCount", scaled, DEFAULT_SCOPE)
        (view,) = engine.streams(DEFAULT_SCOPE)
        shards = [ShardKey("input", shard.id, view.generation) for shard in view.shards]
        assert [*catalogue.shards()] == [*catalogue.shards_of("input")] == shards
        assert len(shards) == 3
        found.append(view.generation)
        engine.call("DeleteStream", {"StreamName": "input"}, DEFAULT_SCOPE)
    assert found[0] != found[1]
    amqp.close()
    engine.close()
