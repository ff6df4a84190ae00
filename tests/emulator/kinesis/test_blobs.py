"""Base64 has one spelling of each blob: every text is that spelling, or refused on both paths."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from emulator.kinesis import blobs

TEXTS = st.one_of(
    st.text("ABCDQgw+/=", max_size=12),
    st.text(max_size=9),
    st.binary(max_size=9).map(lambda data: base64.b64encode(data).decode()),
)


def attempt(read: Any, *given: Any) -> Any:
    try:
        return read(*given)
    except ValueError:
        return None


@given(st.binary(max_size=100))
def test_what_is_encoded_is_taken(data: bytes) -> None:
    """Every blob, by the strict reading and by its length alone."""
    text = base64.b64encode(data).decode()
    assert blobs.decode(text) == data
    assert blobs.lengths([text]) == [len(data)]


@given(TEXTS)
def test_what_is_taken_is_how_the_blob_is_encoded(text: str) -> None:
    """So nothing is kept that would come back spelled otherwise."""
    data = attempt(blobs.decode, text)
    assert data is None or base64.b64encode(data).decode() == text


@given(st.lists(TEXTS, max_size=3))
def test_both_ways_to_read_refuse_the_same(texts: list[str]) -> None:
    """The length of a blob is known where the blob is, and not otherwise."""
    read = [attempt(blobs.decode, text) for text in texts]
    expected = None if None in read else [len(data) for data in read]
    assert attempt(blobs.lengths, texts) == expected
