"""What the Kinesis channel does beyond the seam: patience, and honesty about what it cannot know."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from emulator.channels.channel import (
    ChannelUnavailableError,
    PublishRefusedError,
    PublishUnknownError,
    Receipt,
)
from emulator.channels.kinesis import KinesisChannel, connect
from emulator.clock import Clock

if TYPE_CHECKING:
    from tests.emulator.faulted_brokers import Broker


@pytest.fixture
def broker(brokers: Callable[[str], Broker]) -> Broker:
    found = brokers("kinesis")
    found.create()
    return found


def test_a_throttled_publish_is_refused_at_once(broker: Broker) -> None:
    """A channel puts once: the gateway's pauses are those of the specification, so no other pause may be."""
    broker.fault("throttle", when={"fails": 1})
    before = broker.clock.elapsed()
    channel = broker.open()
    with pytest.raises(PublishRefusedError) as refused:
        channel.publish(b"x", "k")
    assert refused.value.code == "ProvisionedThroughputExceededException"
    assert broker.clock.elapsed() - before < 0.1
    channel.publish(b"x", "k")
    assert [d.data for d in channel.read()] == [b"x"]


def test_of_a_batch_only_the_throttled_entries_are_refused(broker: Broker) -> None:
    """So that who tries again puts those alone, and the others are not there twice."""
    code = "ProvisionedThroughputExceededException"
    broker.fault("partial_failure", when={"every": 3}, attributes={"code": code})
    channel = broker.open()
    outcomes = channel.publish_many([(b"%d" % number, "k") for number in range(10)])
    refused = [number for number, outcome in enumerate(outcomes) if not isinstance(outcome, Receipt)]
    assert refused == [2, 5, 8]
    came = {delivery.sequence_number: delivery.data for delivery in channel.read(limit=100)}
    taken = {o.sequence_number: b"%d" % at for at, o in enumerate(outcomes) if isinstance(o, Receipt)}
    assert came == taken


def test_a_throttled_read_goes_on_by_itself(broker: Broker) -> None:
    """Within its tries; beyond them the channel is unavailable, and nothing is lost."""
    channel = broker.open(attempts=3)
    channel.publish(b"x", "k")
    name = broker.fault("throttle", direction="deliver", when={"fails": 2})
    assert [d.data for d in channel.read()] == [b"x"]
    broker.fault_engine.remove(name)
    channel.publish(b"y", "k")
    name = broker.fault("throttle", direction="deliver")
    with pytest.raises(ChannelUnavailableError, match="Rate exceeded"):
        channel.read()
    broker.fault_engine.remove(name)
    assert [d.data for d in channel.read()] == [b"y"]


@pytest.mark.parametrize("type_", ["disconnect", "error"])
def test_a_read_that_failed_is_tried_again(broker: Broker, type_: str) -> None:
    """A connection cut or an error inside Kinesis: reading once more does no harm."""
    channel = broker.open()
    channel.publish(b"x", "k")
    broker.fault(type_, direction="deliver", when={"fails": 2})
    assert [d.data for d in channel.read()] == [b"x"]


def test_an_expired_iterator_is_taken_anew(broker: Broker) -> None:
    """Behind the last record read: nothing is skipped and nothing comes twice."""
    channel = broker.open()
    channel.publish_many([(b"%d" % number, "k") for number in range(4)])
    assert [d.data for d in channel.read(limit=2)] == [b"0", b"1"]
    broker.fault("expire_iterator", limit=1)
    assert [d.data for d in channel.read(limit=2)] == [b"2", b"3"]


def test_iterators_that_expire_at_once_are_taken_anew(broker: Broker) -> None:
    """As they do while the clock runs fast; what always expires is said."""
    channel = broker.open()
    channel.publish_many([(b"%d" % number, "k") for number in range(2)])
    broker.fault("expire_iterator", limit=7)
    assert [d.data for d in channel.read()] == [b"0", b"1"]
    broker.fault("expire_iterator")
    channel.publish(b"2", "k")
    with pytest.raises(
        ChannelUnavailableError, match="20 iterators of shardId-000000000000 in a row had expired"
    ):
        channel.read()


def test_a_record_delivered_again_is_marked(broker: Broker) -> None:
    """A sequence number that was seen before in this session is a redelivery."""
    channel = broker.open()
    broker.fault("duplicate", direction="deliver")
    channel.publish(b"x", "k")
    assert [d.redelivered for d in channel.read()] == [False, True]


@pytest.fixture
def nobody() -> str:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    return f"http://127.0.0.1:{port}"


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_an_endpoint_that_cannot_be_reached_has_not_got_the_message(nobody: str) -> None:
    """Nothing was sent: a definite refusal for the publisher; for the reader, unavailable."""
    channel = KinesisChannel(connect(nobody), "input", clock=Clock())
    with pytest.raises(PublishRefusedError) as refused:
        channel.publish(b"x", "k")
    assert refused.value.code == "EndpointConnectionError"
    with pytest.raises(ChannelUnavailableError):
        channel.read()
    channel.close()


def test_an_endpoint_that_does_not_answer_may_have_the_message(silent: str) -> None:
    """It was sent and nobody knows: for one message and for each of a batch."""
    channel = KinesisChannel(connect(silent, timeout=0.2), "input", clock=Clock())
    with pytest.raises(PublishUnknownError) as unknown:
        channel.publish(b"x", "k")
    assert unknown.value.code == "ReadTimeoutError"
    assert [type(outcome) for outcome in channel.publish_many([(b"x", "k")] * 2)] == [PublishUnknownError] * 2
    channel.close()


def test_what_boto3_refuses_was_never_sent(broker: Broker) -> None:
    """An empty partition key fails its validation, or Kinesis': refused either way."""
    with pytest.raises(PublishRefusedError):
        broker.open().publish(b"x", "")
