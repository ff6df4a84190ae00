"""Commands are the same however their bytes are cut; a publish that came in one piece is read at once."""

from __future__ import annotations

from struct import Struct

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.amqp.wire import methods
from emulator.amqp.wire.commands import Command, CommandReader, TooMuchError, build_command
from emulator.amqp.wire.frames import BODY, HEADER, HEARTBEAT, METHOD, build_frame
from tests.emulator.amqp.raw_client import read_all

CONTENT = Struct(">HHQH")


def publish(channel: int = 1) -> bytes:
    (frame,) = build_command(channel, methods.BasicPublish(0, "", "q", False, False)).frames
    return frame


def header(size: int, channel: int = 1, *, class_id: int = 60, weight: int = 0) -> bytes:
    return build_frame(HEADER, channel, CONTENT.pack(class_id, weight, size, 0))


def body(size: int, channel: int = 1) -> bytes:
    return build_frame(BODY, channel, b"m" * size)


PUBLISH = publish()
CUT_PUBLISH = build_frame(METHOD, 1, PUBLISH[7:11])
CUT_HEADER = build_frame(HEADER, 1, CONTENT.pack(60, 0, 0, 0)[:11])
PIECES = (
    PUBLISH,
    publish(2),
    CUT_PUBLISH,
    *build_command(1, methods.BasicAck(1, multiple=False)).frames,
    build_frame(METHOD, 1, b""),
    *(header(size, channel, weight=weight) for size in (0, 1, 5) for channel in (1, 2) for weight in (0, 1)),
    header(5, class_id=50),
    build_frame(HEADER, 1, b"short"),
    *(body(size) for size in (0, 1, 5)),
    body(5, 2),
    build_frame(HEARTBEAT, 0, b""),
    PUBLISH + header(5) + body(5),
    publish(2) + header(5, 2) + body(5, 2),
)


def read(reader: CommandReader, *parts: bytes) -> tuple[list[Command], str]:
    """The commands, and with which words what comes then is refused."""
    unread, found = b"", []
    for part in parts:
        more, unread = read_all(reader, unread + part)
        found += more
        if found and (refused := found[-1].refused) is not None:
            return found[:-1], refused.text
    return found, ""


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.integers(1, 30))
@example([PUBLISH, header(5), body(5, 2), body(5)], 7)
@example([PUBLISH, header(5, 2), body(5)], 7)
@example([PUBLISH, header(5), body(1), PUBLISH, header(1), body(5)], 7)
@example([PUBLISH, CUT_HEADER, body(206)], 7)
@example([CUT_PUBLISH, header(5), body(5)], 7)
def test_cuts_change_nothing(pieces: list[bytes], step: int) -> None:
    """Contents of other channels in between, missing frames and wrong sizes among them."""
    data = b"".join(pieces)
    cut = [data[at : at + step] for at in range(0, len(data), step)]
    assert read(CommandReader(4096), data) == read(CommandReader(4096), *cut)


def test_what_comes_in_a_row_is_a_run_of_it() -> None:
    """Messages of several sizes to one queue, and acks of single deliveries; each is to be had alone."""
    acks = [build_command(1, methods.BasicAck(tag, multiple=False)).frames[0] for tag in (3, 1, 2)]
    (many,) = build_command(1, methods.BasicAck(9, multiple=True)).frames
    messages = [(PUBLISH, header(size), body(size)) for size in (5, 5, 1)]
    data = b"".join((*(frame for each in messages for frame in each), *acks, many, publish(2)))
    published, acked, last = CommandReader().feed(memoryview(data), len(data))[0]
    assert [tuple(each.frames) for each in published.split()] == messages
    assert published.contents == [(b"\0\0", b"m" * size) for size in (5, 5, 1)]
    assert [each.decode() for each in acked.split()] == [methods.BasicAck(tag, False) for tag in (3, 1, 2)]
    assert (published.times, acked.times, last.frames) == (3, 3, [many])


@pytest.mark.parametrize(
    "data",
    [
        PUBLISH + header(50) + body(50),
        PUBLISH + build_frame(HEADER, 1, CONTENT.pack(60, 0, 5, 0) + bytes(50)) + body(5),
    ],
)
def test_limits_hold_in_one_piece(data: bytes) -> None:
    """Those that were negotiated, in RabbitMQ's words, and those that hold whatever was negotiated."""
    within = PUBLISH + header(5) + body(5)
    for reader in (CommandReader(40), CommandReader(0, 40)):
        assert len(read(reader, within)[0]) == 1
    assert "frame_too_large" in read(CommandReader(40), data)[1]
    with pytest.raises(TooMuchError, match="40 bytes at most"):
        read(CommandReader(0, 40), data)


@pytest.mark.parametrize("at", [-1, -14])
def test_the_end_marks_of_a_content_are_looked_at(at: int) -> None:
    """Those of the body and of its header."""
    data = bytearray(PUBLISH + header(5) + body(5))
    assert data[at] == 0xCE
    data[at] = 0
    assert "invalid_frame_end_marker" in read(CommandReader(), bytes(data))[1]


def test_what_comes_before_bytes_that_are_no_frames_is_read() -> None:
    """The error comes with the next look."""
    reader, data = CommandReader(), PUBLISH + header(0) + b"\x07" + bytes(20)
    (found,), taken = reader.feed(memoryview(data), len(data))
    assert found.frames == [PUBLISH, header(0)]
    (refused,), left = reader.feed(memoryview(data)[taken:], len(data))
    assert taken + left == len(data)
    assert refused.frames == [data[taken:]]
    assert "unknown_frame" in str(refused.refused)
