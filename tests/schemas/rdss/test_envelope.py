"""The typed envelope reads valid messages and writes them as they were."""

from __future__ import annotations

import msgspec
import pytest

from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.envelope import oversize, read, serialise, write
from schemas.rdss.samples import Samples


def test_every_sample_survives_reading_and_writing() -> None:
    """The typed header loses nothing, and the body is the very bytes that came."""
    for message in Samples(3).stream(120):
        raw = serialise(message)
        envelope = read(raw)
        assert msgspec.json.decode(write(envelope)) == message
        assert bytes(envelope.body) == serialise(message["messageBody"])


def test_the_published_example_is_read(example: bytes) -> None:
    """Field by field, with the specification's names in Python's spelling."""
    header = read(example).header
    assert header.message_type == "MetadataCreate"
    assert header.timings.expiration_timestamp == "2004-08-01T10:00:00-00:00"
    assert (header.sequence.position, header.sequence.total) == (1, 1)
    assert header.history[0].machine_address == "machine.example.com"
    assert (header.tenant_jisc_id, header.error_code, header.correlation_id) == (2, None, None)


def test_an_integer_may_be_written_with_a_point(samples: Samples) -> None:
    """JSON Schema calls 1.0 an integer, so the header of a valid message may hold it."""
    message = samples.message("MetadataDelete")
    message["messageHeader"]["tenantJiscID"] = 3.0
    message["messageHeader"]["messageSequence"] |= {"position": 1.0, "total": 1.0}
    header = read(serialise(message)).header
    assert (header.tenant_jisc_id, header.sequence.position, header.sequence.total) == (3, 1, 1)


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{}", b'{"messageHeader":{},"messageBody":{}}', b'{"messageHeader":3}']
)
def test_what_is_no_message_is_refused(raw: bytes) -> None:
    """Reading something else raises the decoder's own error, never another."""
    with pytest.raises(msgspec.DecodeError):
        read(raw)


def test_serialised_text_is_compact_utf8() -> None:
    """Sizes are counted in these bytes: no spaces, no escapes for what UTF-8 can say."""
    assert serialise({"a": ["é", 1]}) == '{"a":["é",1]}'.encode()


def test_the_limit_is_a_million_bytes() -> None:
    """A message of exactly 1,000,000 bytes is legal, one more is not."""
    assert MAX_MESSAGE_BYTES == 1_000_000
    assert not oversize(b" " * 1_000_000)
    assert oversize(b" " * 1_000_001)
