"""Event stream frames, read back by botocore's own decoder."""

from __future__ import annotations

import pytest
from botocore.eventstream import ChecksumMismatch, EventStreamBuffer
from hypothesis import given
from hypothesis import strategies as st

from emulator.listeners.aws import eventstream


def decoded(data: bytes) -> list[tuple[dict[str, str], bytes]]:
    buffer = EventStreamBuffer()
    buffer.add_data(data)
    return [(message.headers, message.payload) for message in buffer]


@given(
    headers=st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=200), max_size=5),
    payload=st.binary(max_size=5000),
)
def test_frames_read_back_as_written(headers: dict[str, str], payload: bytes) -> None:
    """Lengths, headers, payload and both checksums are right."""
    assert decoded(eventstream.frame(headers, payload) * 2) == [(headers, payload)] * 2


def test_a_flipped_bit_is_noticed() -> None:
    """The checksum covers the payload."""
    frame = bytearray(eventstream.event("e", b"application/json", b"payload"))
    frame[-6] ^= 1
    with pytest.raises(ChecksumMismatch):
        decoded(bytes(frame))


def test_events_and_exceptions_say_what_they_are() -> None:
    """The headers by which clients tell them apart."""
    ((event, _),) = decoded(eventstream.event("initial-response", b"application/x-amz-json-1.1", b"{}"))
    assert event == {
        ":event-type": "initial-response",
        ":content-type": "application/x-amz-json-1.1",
        ":message-type": "event",
    }
    ((exception, _),) = decoded(eventstream.exception("ResourceInUseException", b"application/json", b"{}"))
    assert exception[":message-type"] == "exception"
    assert exception[":exception-type"] == "ResourceInUseException"
