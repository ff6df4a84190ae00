"""Frames are the same however their bytes are cut; a publish in one piece has its content with it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.amqp.refusals import RefusedError
from emulator.amqp.wire import methods
from emulator.amqp.wire.frames import BODY, HEADER, HEARTBEAT, METHOD, AmqpFrame, FrameReader, build_frame
from emulator.amqp.wire.method_codec import encode_method

PUBLISH = encode_method(methods.BasicPublish(0, "", "q", False, False))
HEADS = [
    (60).to_bytes(2) + weight.to_bytes(2) + size.to_bytes(8) + b"\0\0" for weight in (0, 1) for size in (0, 5)
]
PIECES = (
    build_frame(METHOD, 1, PUBLISH),
    build_frame(METHOD, 2, PUBLISH),
    build_frame(METHOD, 1, encode_method(methods.BasicAck(1, False))),
    build_frame(METHOD, 1, b""),
    *(build_frame(HEADER, channel, head) for head in HEADS for channel in (1, 2)),
    build_frame(HEADER, 1, b"\0\x3c\0\0"),
    build_frame(HEADER, 1, b"\0\x32" + HEADS[1][2:]),
    build_frame(BODY, 1, b""),
    build_frame(BODY, 1, b"12345"),
    build_frame(BODY, 2, b"12345"),
    build_frame(HEARTBEAT, 0, b""),
    build_frame(METHOD, 1, PUBLISH) + build_frame(HEADER, 1, HEADS[1]) + build_frame(BODY, 1, b"12345"),
)


def read(*parts: bytes) -> list[AmqpFrame]:
    """The frames, with contents as frames of their own."""
    reader = FrameReader(4096)
    found: list[AmqpFrame] = []
    for part in parts:
        for kind, channel, payload, content in reader.feed(part):
            found.append(AmqpFrame(kind, channel, payload))
            if content is not None:
                found += [AmqpFrame(HEADER, channel, content[0]), AmqpFrame(BODY, channel, content[1])]
    return found


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=8), st.integers(1, 30))
def test_cuts_change_nothing(pieces: list[bytes], step: int) -> None:
    data = b"".join(pieces)
    assert read(data) == read(*(data[at : at + step] for at in range(0, len(data), step)))


def test_a_publish_in_one_piece_has_its_content() -> None:
    (found,) = FrameReader(4096).feed(PIECES[-1])
    assert found == AmqpFrame(METHOD, 1, PUBLISH, (HEADS[1], b"12345"))


@pytest.mark.parametrize("at", [-1, -14])
def test_the_end_marks_of_a_content_are_looked_at(at: int) -> None:
    """Those of the body and of its header."""
    data = bytearray(PIECES[-1])
    assert data[at] == 0xCE
    data[at] = 0
    with pytest.raises(RefusedError, match="invalid_frame_end_marker"):
        read(bytes(data))
