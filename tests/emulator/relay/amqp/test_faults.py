"""Each fault, met by pika's messages on their way through the relay."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from pika import exceptions
from pika.adapters.blocking_connection import BlockingChannel

from emulator.clock import Clock, stopwatch
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.faulted_message import Message
from emulator.faults.targets import TargetProcess
from emulator.rng import Chance
from rdss_sandbox.shapes.faults import NewFault
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from tests.emulator.relay.amqp.relay_under_test import Relay, consumed, drained, heard
from tests.waiting import wait_until

SAMPLES = [serialise(message) for message in Samples(3).stream(12)]


def publish(channel: BlockingChannel, queue: str, *bodies: bytes) -> None:
    for body in bodies:
        channel.basic_publish("", queue, body)


def numbers(*values: int) -> list[bytes]:
    return [b"%d" % value for value in values]


def bodies(came: list[Any]) -> list[bytes]:
    return [body for _, _, body in came]


def test_a_publish_is_put_twice_and_confirmed_once(relay: Relay) -> None:
    """Its own confirm comes, the second's does not, and those behind it keep their own."""
    channel = relay.channel(confirm=True)
    relay.fault("duplicate", limit=2)
    publish(channel, relay.queue, *numbers(1, 2, 3, 4))
    assert relay.at_broker() == numbers(1, 1, 2, 2, 3, 4)


def test_a_publish_put_twice_is_returned_once(relay: Relay) -> None:
    """A mandatory message without a queue, also when it was confirmed."""
    channel = relay.channel(confirm=True)
    relay.fault("duplicate", limit=2)
    with pytest.raises(exceptions.UnroutableError):
        channel.basic_publish("", "no-such-queue", b"x", mandatory=True)
    unconfirmed, returned = relay.channel(), []
    unconfirmed.add_on_return_callback(lambda _channel, _method, _properties, body: returned.append(body))
    unconfirmed.basic_publish("", "no-such-queue", b"y", mandatory=True)
    publish(unconfirmed, relay.queue, b"next")
    unconfirmed.queue_declare(relay.queue, passive=True)
    unconfirmed.connection.process_data_events(0)
    assert returned == [b"y"]
    assert relay.at_broker() == [b"next"]


def test_a_delivery_comes_again_and_is_acknowledged_on_its_own(relay: Relay) -> None:
    """With a tag of its own and marked redelivered; the broker's message is done when both are."""
    channel = relay.channel()
    publish(channel, relay.queue, *numbers(1, 2, 3))
    relay.fault("duplicate", direction="deliver", attributes={"distance": 1}, limit=1)
    came = consumed(channel, relay.queue, 4, ack=False)
    assert [(m.delivery_tag, m.redelivered, body) for m, _, body in came] == [
        (1, False, b"1"),
        (2, False, b"2"),
        (3, True, b"1"),
        (4, False, b"3"),
    ]
    channel.basic_ack(2)
    channel.basic_ack(3)
    channel.basic_nack(1, requeue=True)
    channel.basic_ack(4)
    channel.cancel()
    assert relay.at_broker() == [b"1"]


def test_a_multiple_acknowledgement_reaches_what_it_covers(relay: Relay) -> None:
    """And no more, though the tags of the two sides differ by then."""
    channel = relay.channel()
    publish(channel, relay.queue, *numbers(1, 2, 3, 4))
    relay.fault("duplicate", direction="deliver", limit=2)
    came = consumed(channel, relay.queue, 6, ack=False)
    assert bodies(came) == numbers(1, 1, 2, 2, 3, 4)
    channel.basic_ack(5, multiple=True)
    channel.connection.close()
    assert relay.at_broker() == [b"4"]


def test_prefetch_holds_with_copies(relay: Relay) -> None:
    """A client that takes one at a time is never given two."""
    channel = relay.channel()
    publish(channel, relay.queue, *numbers(1, 2))
    relay.fault("duplicate", direction="deliver")
    channel.basic_qos(prefetch_count=1)
    seen = []
    for body in numbers(1, 1, 2, 2):
        came = consumed(channel, relay.queue, 1, ack=False)
        assert bodies(came) == [body]
        assert consumed(channel, relay.queue, 1, wait=0.3) == []
        seen.append(came[0][0].delivery_tag)
        channel.basic_ack(seen[-1])
    assert seen == [1, 2, 3, 4]
    channel.cancel()
    assert relay.at_broker() == []


def test_reorder_lets_others_go_first(relay: Relay) -> None:
    """And each is still acknowledged as itself."""
    channel = relay.channel()
    publish(channel, relay.queue, *numbers(1, 2, 3))
    relay.fault("reorder", attributes={"distance": 1}, limit=1)
    came = consumed(channel, relay.queue, 3, ack=False)
    assert bodies(came) == numbers(2, 1, 3)
    channel.basic_ack(1)
    channel.connection.close()
    assert relay.at_broker() == numbers(1, 3)


def test_reorder_of_gets(relay: Relay) -> None:
    """The second message is got first, then the first."""
    channel = relay.channel()
    publish(channel, relay.queue, *numbers(1, 2))
    relay.fault("reorder", attributes={"distance": 1}, limit=1)
    assert drained(channel, relay.queue) == numbers(2, 1)


def test_latency_delays_publishes_and_deliveries(relay: Relay) -> None:
    """By the delay, and in their order; a connection closed meanwhile loses nothing."""
    channel = relay.channel(confirm=True)
    relay.fault("latency", attributes={"delay": 0.3})
    began = stopwatch()
    publish(channel, relay.queue, b"1")
    assert stopwatch() - began >= 0.3
    unconfirmed = relay.connection()
    publish(unconfirmed.channel(), relay.queue, b"2")
    unconfirmed.close()
    relay.fault_engine.clear()
    relay.fault("latency", direction="deliver", attributes={"delay": 0.3})
    began = stopwatch()
    assert bodies(consumed(channel, relay.queue, 2)) == numbers(1, 2)
    assert 0.3 <= stopwatch() - began < 2


def test_oversize_is_cut_into_frames_the_client_agreed_to(relay: Relay) -> None:
    """On the way in and on the way out, with frames of 8 KiB."""
    channel = relay.connection(frame_max=8192).channel()
    channel.queue_declare(relay.queue, durable=True)
    channel.confirm_delivery()
    relay.fault("oversize", limit=1)
    publish(channel, relay.queue, SAMPLES[0], SAMPLES[1])
    grown, same = relay.at_broker()
    assert len(grown) > 1_000_000
    assert same == SAMPLES[1]
    publish(channel, relay.queue, SAMPLES[2])
    relay.fault("oversize", name="out", direction="deliver", limit=1)
    ((_, _, body),) = consumed(channel, relay.queue, 1)
    assert len(body) > 1_000_000


def test_corrupt_damages_bytes_and_not_frames(relay: Relay) -> None:
    """One bit of one message, or its end; the connection is none the worse."""
    channel = relay.channel(confirm=True)
    relay.fault("corrupt", limit=1)
    relay.fault("corrupt", name="out", direction="deliver", attributes={"how": "truncate"}, limit=1)
    publish(channel, relay.queue, SAMPLES[0], SAMPLES[1])
    first, second = bodies(consumed(channel, relay.queue, 2))
    assert len(first) < len(SAMPLES[0])
    assert second == SAMPLES[1]


def test_errors_refuse_return_or_close(relay: Relay) -> None:
    """A nack below 500, AMQP's own answer for AMQP's own codes, a closed channel from 500 on."""
    channel = relay.channel(confirm=True)
    relay.fault("error", attributes={"status": 400}, limit=1)
    with pytest.raises(exceptions.NackError):
        publish(channel, relay.queue, b"1")
    relay.fault_engine.clear()
    relay.fault("error", attributes={"code": "NO_ROUTE"}, limit=1)
    with pytest.raises(exceptions.UnroutableError) as returned:
        channel.basic_publish("", relay.queue, b"2", mandatory=True)
    assert returned.value.messages[0].body == b"2"
    publish(channel, relay.queue, b"3")
    for code, reply in (("InternalFailure", 541), ("NOT_FOUND", 404)):
        relay.fault_engine.clear()
        relay.fault("error", attributes={"code": code}, limit=1)
        with pytest.raises(exceptions.ChannelClosedByBroker) as closed:
            publish(channel, relay.queue, b"4")
        assert closed.value.reply_code == reply
        channel = channel.connection.channel()
        channel.confirm_delivery()
        publish(channel, relay.queue, b"5")
    assert relay.at_broker() == numbers(3, 5, 5)


@pytest.mark.parametrize(("code", "reply"), [("NOT_FOUND", 404), ("FRAME_ERROR", 501)])
def test_an_errors_message_may_be_longer_than_a_reply_text(relay: Relay, code: str, reply: int) -> None:
    """The client hears its beginning, whatever its characters take in bytes."""
    relay.fault("error", attributes={"code": code, "message": "é" * 200}, limit=1)
    with pytest.raises(
        (exceptions.ChannelClosedByBroker, exceptions.ConnectionClosedByBroker), match=f"{code} - éé"
    ) as closed:
        publish(relay.channel(confirm=True), relay.queue, b"1")
    assert closed.value.reply_code == reply


def test_an_error_after_the_message_was_taken(relay: Relay) -> None:
    """Nacked, and there all the same: the publisher cannot know."""
    channel = relay.channel(confirm=True)
    relay.fault("error", attributes={"status": 400, "written": True}, limit=1)
    with pytest.raises(exceptions.NackError):
        publish(channel, relay.queue, b"1")
    publish(channel, relay.queue, b"2")
    assert relay.at_broker() == numbers(1, 2)


def test_an_error_on_delivery_closes_the_channel(relay: Relay) -> None:
    """The message stays at the broker. A connection's code closes the connection."""
    channel = relay.channel()
    publish(channel, relay.queue, b"1")
    relay.fault("error", direction="deliver", limit=1)
    with pytest.raises(exceptions.ChannelClosedByBroker):
        consumed(channel, relay.queue, 1)
    relay.fault_engine.clear()
    relay.fault("error", direction="deliver", attributes={"code": "CONNECTION_FORCED"}, limit=1)
    with pytest.raises(exceptions.ConnectionClosedByBroker) as closed:
        consumed(channel.connection.channel(), relay.queue, 1)
    assert closed.value.reply_code == 320
    assert relay.at_broker() == [b"1"]


@pytest.mark.parametrize("written", [False, True])
def test_disconnect_cuts_without_a_word(relay: Relay, written: bool) -> None:
    """And with written, the message is in the queue all the same."""
    channel = relay.channel(confirm=True)
    relay.fault("disconnect", attributes={"written": written}, limit=1)
    with pytest.raises(exceptions.AMQPConnectionError):
        publish(channel, relay.queue, b"1")
    publish(relay.channel(confirm=True), relay.queue, b"2")
    assert relay.at_broker() == (numbers(1, 2) if written else numbers(2))


def test_throttle_blocks_the_connection_until_it_is_over(relay: Relay) -> None:
    """The client is told, waits, is told again, and loses nothing."""
    channel = relay.channel(confirm=True)
    told: list[str] = []
    channel.connection.add_on_connection_blocked_callback(lambda *_: told.append("blocked"))
    channel.connection.add_on_connection_unblocked_callback(lambda *_: told.append("unblocked"))
    relay.fault("throttle", limit=3)
    publish(channel, relay.queue, b"1")
    heard(channel.connection, lambda: len(told) > 1)
    assert told == ["blocked", "unblocked"]
    assert relay.at_broker() == [b"1"]


def test_a_throttled_reader_gets_nothing_for_now(relay: Relay) -> None:
    """By delivery or by get, and then everything in its order."""
    channel = relay.channel()
    publish(channel, relay.queue, *numbers(1, 2))
    relay.fault("throttle", direction="deliver", limit=3)
    assert bodies(consumed(channel, relay.queue, 2)) == numbers(1, 2)
    channel.cancel()
    publish(channel, relay.queue, b"3")
    channel.queue_declare(relay.queue, passive=True)
    relay.fault_engine.clear()
    relay.fault("throttle", direction="deliver", limit=1)
    assert channel.basic_get(relay.queue)[0] is None
    assert drained(channel, relay.queue) == [b"3"]


def test_a_cancelled_consumer_leaves_what_was_held_back(relay: Relay) -> None:
    """It goes to the next one."""
    channel = relay.channel()
    publish(channel, relay.queue, *numbers(1, 2))
    relay.fault("latency", direction="deliver", attributes={"delay": 60}, limit=1)
    assert consumed(channel, relay.queue, 1, wait=0.3) == []
    channel.cancel()
    assert relay.at_broker() == numbers(1, 2)


def test_transactions_keep_their_meaning(relay: Relay) -> None:
    """A publish put twice is committed twice or not at all; what was rolled back is settled again."""
    channel = relay.channel()
    publish(channel, relay.queue, b"taken")
    channel.queue_declare(relay.queue, passive=True)
    relay.fault("duplicate")
    relay.fault("duplicate", name="again", direction="deliver")
    came = consumed(channel, relay.queue, 2, ack=False)
    channel.tx_select()
    channel.basic_ack(2, multiple=True)
    publish(channel, relay.queue, b"made")
    channel.tx_rollback()
    assert bodies(came) == [b"taken", b"taken"]
    relay.fault_engine.clear()
    channel.basic_ack(1)
    channel.basic_ack(2)
    channel.tx_commit()
    channel.connection.close()
    assert relay.at_broker() == []


def test_the_same_seed_strikes_the_same_messages(relay: Relay) -> None:
    """As on Kinesis, whatever the channel's name is: the choice hangs on seed, fault and message."""
    channel = relay.channel(confirm=True)
    relay.fault("duplicate", name="some", toxicity=0.5)
    publish(channel, relay.queue, *SAMPLES)
    struck = [event.fields["message_id"] for event in relay.injections()]
    clock = Clock()
    other = FaultEngine(Chance(7), clock, Events(clock))
    other.add(NewFault("duplicate", name="some", toxicity=0.5))
    call = other.plan_publish("input", "kinesis", [Message(data) for data in SAMPLES])
    assert struck == [item.message.message_id for item in call.items if item.copies]
    assert 0 < len(struck) < len(SAMPLES)
    relay.direct().queue_delete(relay.queue)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that outlives the relay, which lets go of it at its end."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_pause_halts_a_process_at_a_message(sleeper: subprocess.Popen[bytes], relay: Relay) -> None:
    """The message has gone through by then."""
    channel = relay.channel(confirm=True)
    relay.fault_engine.add_target("sleeper", TargetProcess.of(sleeper.pid))
    relay.fault("pause", attributes={"target": str(sleeper.pid), "lasts": 60}, when={"every": 1}, limit=1)
    publish(channel, relay.queue, b"1")
    assert relay.at_broker() == [b"1"]
    (event,) = wait_until(relay.injections)
    assert event.fields["type"] == "pause"
