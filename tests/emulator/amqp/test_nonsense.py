"""Bytes that are no AMQP, or AMQP that means nothing: they end their own connection at most."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.amqp.wire import frames
from emulator.amqp.wire import methods as m
from emulator.amqp.wire.method_codec import encode_method
from emulator.amqp.wire.methods import CLASSES
from emulator.rng import Draws
from tests.emulator.amqp.calls import bind, consume, declared, exchange, get, publish, queue
from tests.emulator.amqp.engine_client import EngineClient, OwnBroker

SENSE = b"".join(
    frames.build_frame(frames.METHOD, 1, encode_method(method))
    for method in (
        queue(arguments={"x-max-length": 5, "x-dead-letter-exchange": "", "a": {"b": ["c", None, 1.5]}}),
        exchange("e1", "topic"),
        bind("e1", "a.#"),
        m.ConfirmSelect(False),
        consume(no_ack=True),
        publish("a.b", "e1"),
    )
) + b"".join(frames.build_content(1, b"\x90\x00\x01t\0\0\0\x08\x01hS\0\0\0\x01x", b"body", 4096))


def assert_others_go_on(own: OwnBroker) -> None:
    other = own.client()
    assert other.ask(queue("q3")) == declared("q3")
    assert other.ask(get("q3")) == m.BasicGetEmpty("")


@pytest.mark.parametrize("seed", range(20))
def test_a_million_bytes_of_nonsense_stop_nothing(seed: int) -> None:
    """Sent to a connection that has logged in, and to one that has not, in pieces of any size."""
    draws = Draws(seed)
    own = OwnBroker()
    for client in (own.client(), EngineClient(own)):
        sent = 0
        while sent < 25_000:
            piece = draws.randbytes(draws.randrange(1, 3000))
            client.give(piece)
            sent += len(piece)
    assert_others_go_on(own)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(SENSE) - 1), st.integers(0, 255)), max_size=4), st.data())
def test_damaged_sense_stops_nothing(changes: list[tuple[int, int]], data: st.DataObject) -> None:
    """Some bytes of a conversation are others, and it is cut off somewhere."""
    own = OwnBroker()
    wrong = bytearray(SENSE)
    for at, byte in changes:
        wrong[at] = byte
    cut = data.draw(st.integers(0, len(wrong)))
    client = own.client()
    client.give(bytes(wrong[:cut]))
    client.give(bytes(wrong[cut:]) * 2)
    client.hang_up()
    assert_others_go_on(own)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(CLASSES)), st.binary(max_size=30), st.integers(0, 2)), max_size=8
    )
)
def test_methods_out_of_order_stop_nothing(asked: list[tuple[int, bytes, int]]) -> None:
    """Any method, with arguments of any bytes, on channels that are open and not."""
    own = OwnBroker()
    client = own.client()
    client.give(
        b"".join(
            frames.build_frame(frames.METHOD, channel, number.to_bytes(4, "big") + arguments)
            for number, arguments, channel in asked
        )
    )
    client.take()
    client.hang_up()
    assert_others_go_on(own)
