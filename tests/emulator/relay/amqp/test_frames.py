"""Commands are the same however their bytes are cut; a publish that came in one piece is read at once."""

from __future__ import annotations

from struct import Struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.relay.amqp.frames import Command, CommandReader, Method, NotAmqpError, TooMuchError

HEAD = Struct(">BHI")
CONTENT = Struct(">HHQH")


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    return HEAD.pack(kind, channel, len(payload)) + payload + b"\xce"


def method(which: Method, channel: int = 1) -> bytes:
    return frame(1, channel, which.to_bytes(4) + bytes(5))


def header(size: int, channel: int = 1) -> bytes:
    return frame(2, channel, CONTENT.pack(60, 0, size, 0))


def body(size: int, channel: int = 1) -> bytes:
    return frame(3, channel, b"m" * size)


PUBLISH = method(Method.PUBLISH)
PIECES = (
    PUBLISH,
    method(Method.PUBLISH, 2),
    method(Method.ACK),
    header(0),
    header(1),
    header(5),
    header(5, 2),
    frame(2, 1, b"short"),
    body(0),
    body(1),
    body(5),
    body(5, 2),
    frame(8, 0, b""),
    PUBLISH + header(5) + body(5),
    method(Method.PUBLISH, 2) + header(5, 2) + body(5, 2),
)


def read(reader: CommandReader, *parts: bytes) -> list[Command]:
    unread, found = b"", []
    for part in parts:
        unread += part
        taken = -1
        while taken:
            more, taken = reader.feed(memoryview(unread))
            found += more
            unread = unread[taken:]
    return found


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.integers(1, 30))
@example([PUBLISH, header(5), body(5, 2), body(5)], 7)
@example([PUBLISH, header(5, 2), body(5)], 7)
@example([PUBLISH, header(5), body(1), PUBLISH, header(1), body(5)], 7)
@example([PUBLISH, frame(2, 1, CONTENT.pack(60, 0, 0, 0)[:11]), body(206)], 7)
def test_cuts_change_nothing(pieces: list[bytes], step: int) -> None:
    """Contents of other channels in between, missing frames and wrong sizes among them."""
    data = b"".join(pieces)
    cut = [data[at : at + step] for at in range(0, len(data), step)]
    assert read(CommandReader(), data) == read(CommandReader(), *cut)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (PUBLISH + header(50) + body(50), TooMuchError),
        (PUBLISH + frame(2, 1, CONTENT.pack(60, 0, 5, 0) + bytes(50)) + body(5), TooMuchError),
        (PUBLISH + header(5)[:-1] + b"x" + body(5), NotAmqpError),
        (PUBLISH + header(5) + body(5)[:-1] + b"x", NotAmqpError),
    ],
)
def test_limits_and_end_marks_hold_in_one_piece(data: bytes, error: type[Exception]) -> None:
    reader = CommandReader(most_bytes=40)
    assert len(read(reader, PUBLISH + header(5) + body(5))) == 1
    with pytest.raises(error):
        read(reader, data)
