"""Methods, tables and properties: what is written is what is read, and what another codec writes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pamqp import commands
from pamqp.frame import marshal

from emulator.amqp.wire import frames
from emulator.amqp.wire import methods as m
from emulator.amqp.wire.commands import CommandReader
from emulator.amqp.wire.field_tables import BadTableError, Field, decode_table, encode_table, text
from emulator.amqp.wire.method_codec import (
    TruncatedMethodError,
    UnknownMethodError,
    decode_method,
    encode_method,
)
from emulator.amqp.wire.methods import CLASSES
from emulator.amqp.wire.properties import Properties
from tests.emulator.amqp.raw_client import read_all

NAMES = st.text("abcxyz-é", min_size=1, max_size=20)
SIMPLE = st.one_of(
    st.builds(Field, st.just("t"), st.booleans()),
    st.builds(Field, st.just("b"), st.integers(-128, 127)),
    st.builds(Field, st.just("B"), st.integers(0, 255)),
    st.builds(Field, st.just("s"), st.integers(-(1 << 15), (1 << 15) - 1)),
    st.builds(Field, st.just("u"), st.integers(0, (1 << 16) - 1)),
    st.builds(Field, st.just("I"), st.integers(-(1 << 31), (1 << 31) - 1)),
    st.builds(Field, st.just("i"), st.integers(0, (1 << 32) - 1)),
    st.builds(Field, st.just("l"), st.integers(-(1 << 63), (1 << 63) - 1)),
    st.builds(Field, st.just("d"), st.floats(allow_nan=False, allow_infinity=False)),
    st.builds(Field, st.just("T"), st.integers(0, (1 << 64) - 1)),
    st.builds(Field, st.just("D"), st.tuples(st.integers(0, 255), st.integers(0, (1 << 32) - 1))),
    st.builds(Field, st.sampled_from("Sx"), st.binary(max_size=40)),
    st.just(Field("V", None)),
)
FIELDS = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.builds(Field, st.just("A"), st.lists(inner, max_size=4)),
        st.builds(Field, st.just("F"), st.dictionaries(NAMES, inner, max_size=4)),
    ),
    max_leaves=8,
)
TABLES = st.dictionaries(NAMES, FIELDS, max_size=6)
ARGUMENTS: dict[str, st.SearchStrategy[Any]] = {
    "Octet": st.integers(0, 255),
    "Short": st.integers(0, (1 << 16) - 1),
    "Long": st.integers(0, (1 << 32) - 1),
    "LongLong": st.integers(0, (1 << 64) - 1),
    "Bit": st.booleans(),
    "ShortString": st.text(max_size=60),
    "LongString": st.binary(max_size=300),
    "FieldTable": TABLES,
}


@given(TABLES)
def test_a_table_is_read_as_it_was_written(table: dict[str, Field]) -> None:
    """With the type of each value, in its order; cut anywhere it is no table."""
    written = encode_table(table)
    assert decode_table(written) == (table, len(written))
    assert list(decode_table(written)[0]) == list(table)
    for at in range(0, len(written), 7):
        with pytest.raises((BadTableError, IndexError)):
            decode_table(written[:at])


@pytest.mark.parametrize("number", sorted(CLASSES))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_a_method_is_read_as_it_was_written(number: int, data: st.DataObject) -> None:
    """Every one there is, with any arguments."""
    cls = CLASSES[number]
    kinds = [getattr(kind, "__forward_arg__", kind) for kind in cls.__annotations__.values()]
    method = cls(*(data.draw(ARGUMENTS[kind]) for kind in kinds))
    written = encode_method(method)
    assert written[:4] == number.to_bytes(4, "big")
    assert decode_method(written) == method


OTHERS: list[tuple[m.Method, Any]] = [
    (
        m.QueueDeclare(0, "q", False, True, False, True, False, {"x": text("y")}),
        commands.Queue.Declare(queue="q", durable=True, auto_delete=True, arguments={"x": "y"}),
    ),
    (m.BasicPublish(0, "e", "k", True, False), commands.Basic.Publish(0, "e", "k", mandatory=True)),
    (m.BasicNack(7, True, False), commands.Basic.Nack(7, True, False)),
    (m.BasicDeliver("t", 9, True, "e", "k"), commands.Basic.Deliver("t", 9, True, "e", "k")),
    (m.ChannelClose(404, "no", 50, 10), commands.Channel.Close(404, "no", 50, 10)),
    (m.ConnectionTune(2047, 131_072, 60), commands.Connection.Tune(2047, 131_072, 60)),
]


@pytest.mark.parametrize(("ours", "other"), OTHERS)
def test_another_codec_writes_the_same(ours: m.Method, other: Any) -> None:
    """pamqp, byte for byte."""
    assert frames.build_frame(frames.METHOD, 1, encode_method(ours)) == marshal(other, 1)


def test_what_is_no_method_is_refused() -> None:
    """By its id, for want of arguments, or for a table that is none."""
    with pytest.raises(UnknownMethodError):
        decode_method(b"\0\x3c\0\xff")
    with pytest.raises(TruncatedMethodError):
        decode_method(encode_method(m.ConnectionTune(1, 2, 3))[:-1])
    with pytest.raises(UnknownMethodError):
        decode_method(encode_method(m.QueueBind(0, "q", "e", "", False, {}))[:-4] + b"\0\0\0\x03\x01kU")


@given(st.lists(st.binary(max_size=300), max_size=6), st.integers(1, 50))
def test_frames_come_out_however_they_are_cut(payloads: list[bytes], step: int) -> None:
    """In pieces of any size."""
    wire = b"".join(frames.build_frame(frames.BODY, 1, payload) for payload in payloads)
    reader, unread, came = CommandReader(4096), b"", []
    for at in range(0, len(wire), step):
        found, unread = read_all(reader, unread + wire[at : at + step])
        came += found
    assert [frame[7:-1] for command in came for frame in command.frames] == payloads


@given(TABLES, st.text(max_size=20), st.integers(0, 255))
def test_properties_come_back_with_sorted_headers(headers: Any, name: str, mode: int) -> None:
    """And whatever is not touched stays as it is."""
    given_ = Properties()
    given_.set_headers(headers)
    given_.set_text("message_id", name)
    read = Properties(given_.encode())
    assert read.headers() == headers
    assert list(read.headers()) == sorted(headers)
    read.set_text("reply_to", str(mode))
    again = Properties(read.encode())
    assert (again.text("message_id"), again.text("reply_to")) == (name, str(mode))
