"""The log of what was published through the AMQP port."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock
from emulator.kinesis import KinesisError
from emulator.streams.amqp_log import LARGEST, AmqpLog, is_amqp, stream_of_channel
from tests.emulator.faulted_brokers import NOON


def of_channel(log: AmqpLog, name: str) -> list[tuple[bytes, str]]:
    channel = MemoryChannel(log, stream_of_channel(name), clock=Clock())
    return [(found.data, found.key) for found in channel.read(limit=1000)]


@given(st.lists(st.text(max_size=255), min_size=1, max_size=8, unique=True))
def test_a_channel_may_have_any_name(names: list[str]) -> None:
    """Each has its own messages, under its own name as far as that fits."""
    log = AmqpLog(None, Clock(frozen_at=NOON), DEFAULT_SCOPE)
    for number, name in enumerate(names):
        log.record(name, [(str(number).encode(), "key")])
    for number, name in enumerate(names):
        assert of_channel(log, name) == [(str(number).encode(), "key")]
    shown = {view.name for view in log.streams(DEFAULT_SCOPE)}
    assert {stream_of_channel(name) for name in names if len(name) < 12} <= shown
    log.close()


def test_messages_outlive_the_process(tmp_path: Path) -> None:
    """In order, with their keys; the shard is known by the same id."""
    log = AmqpLog(tmp_path, Clock(), DEFAULT_SCOPE)
    log.record("error", [(b"one", "a"), (b"two", "")])
    (before,) = log.streams(DEFAULT_SCOPE)[0].shards
    log.close()
    log = AmqpLog(tmp_path, Clock(), DEFAULT_SCOPE)
    log.record("error", [(b"three", "k" * 255)])
    assert of_channel(log, "error") == [(b"one", "a"), (b"two", "-"), (b"three", "k" * 255)]
    (after,) = log.streams(DEFAULT_SCOPE)[0].shards
    assert before.id == after.id
    assert is_amqp(after.id)
    log.close()


def test_queues_that_brokers_name_share_one_stream() -> None:
    """However many reply queues come and go, and names that are no UTF-8 are made readable."""
    log = AmqpLog(None, Clock(), DEFAULT_SCOPE)
    for number in range(5):
        log.record(f"amq.gen-{number}", [(b"reply", "k")])
        log.record(f"amq.rabbitmq.reply-to.g1h{number}", [(b"reply", "k")])
    log.record("caf\udce9", [(b"old", "k\udce9")])
    names = [view.name for view in log.streams(DEFAULT_SCOPE)]
    assert names == ["amqp:amq.gen", "amqp:amq.rabbitmq.reply-to", "amqp:caf\ufffd"]
    log.close()


def test_what_is_no_stream_is_refused() -> None:
    """Nothing can be made or written through the service; a channel nobody published to has no shards."""
    log = AmqpLog(None, Clock(), DEFAULT_SCOPE)
    assert log.call("ListShards", {"StreamName": "amqp:none"}, DEFAULT_SCOPE) == {"Shards": []}
    with pytest.raises(KinesisError, match="no Kinesis stream"):
        log.call("CreateStream", {"StreamName": "amqp:none", "ShardCount": 1}, DEFAULT_SCOPE)
    with pytest.raises(KinesisError, match="no more"):
        log.read("amqp:none", "amqp-1", None, 1)
    log.record("large", [(b"x" * LARGEST, "k" * 256)])
    assert len(of_channel(log, "large")[0][0]) == LARGEST
    log.clear()
    assert log.streams(DEFAULT_SCOPE) == []
    log.record("large", [(b"anew", "k")])
    assert of_channel(log, "large") == [(b"anew", "k")]
    log.close()
