"""Peeking at anything: right for good messages, harmless for everything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.rdss.envelope import serialise
from schemas.rdss.peek import Peek, identity, peek, return_address
from schemas.rdss.samples import Samples


def test_every_field_is_read(message: dict[str, Any]) -> None:
    """The index and the router see what the header says."""
    header = message["messageHeader"]
    header["correlationId"] = "0a021cf3-fa5f-4b86-ab09-634bd5de1abd"
    header["errorCode"] = "GENERR009"
    header["messageSequence"] |= {"position": 2, "total": 3}
    header["messageTimings"]["expirationTimestamp"] = "2019-01-01T00:00:00Z"
    assert peek(serialise(message)) == Peek(
        message_id=header["messageId"],
        message_type="MetadataCreate",
        message_class="Command",
        sequence=header["messageSequence"]["sequence"],
        position=2,
        total=3,
        error_code="GENERR009",
        tenant=header["tenantJiscID"],
        version="4.0.0",
        correlation_id=header["correlationId"],
        published=header["messageTimings"]["publishedTimestamp"],
        expires="2019-01-01T00:00:00Z",
    )


def test_any_layout_is_read_alike() -> None:
    """Spaces, line feeds, the body first, or a title that mentions the field names change nothing."""
    for message in Samples(5).stream(40):
        if "objectTitle" in message["messageBody"]:
            message["messageBody"]["objectTitle"] = 'of "messageBody": and "messageHeader":{}'
        expected = peek(serialise(message))
        assert expected.message_id == message["messageHeader"]["messageId"]
        turned = {"messageBody": message["messageBody"], "messageHeader": message["messageHeader"]}
        for text in (
            json.dumps(message),
            json.dumps(message, indent=2),
            json.dumps(turned),
            json.dumps(turned, indent=1),
        ):
            assert peek(text.encode()) == expected


def test_a_field_of_the_wrong_type_is_none_and_the_others_stay(message: dict[str, Any]) -> None:
    """One bad field does not hide the rest."""
    message["messageHeader"] |= {"tenantJiscID": "2", "version": 4, "messageTimings": None}
    message["messageHeader"]["messageSequence"] |= {"position": 1.0, "total": True}
    seen = peek(serialise(message))
    assert seen.message_id == message["messageHeader"]["messageId"]
    assert (seen.tenant, seen.version, seen.published, seen.position, seen.total) == (
        None,
        None,
        None,
        1,
        None,
    )
    assert not seen.damaged


def test_damaged_bytes_still_tell_whose_they_were(message: dict[str, Any]) -> None:
    """A message cut off in its header can be followed by its id, and is marked as damaged."""
    whole = serialise(message)
    seen = peek(whole[: whole.index(b'"messageHistory"')])
    assert seen.damaged
    assert seen.message_id == message["messageHeader"]["messageId"]
    assert (seen.message_type, seen.position, seen.total) == ("MetadataCreate", 1, 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"messageHeader":[]}',
        b'{"a":1}',
        b'"x"',
        b"1e999",
    ],
)
def test_what_is_no_message_is_damaged(raw: bytes) -> None:
    """Nothing is read from what holds nothing, and nothing is raised."""
    assert peek(raw) == Peek(damaged=True)


ODD_HEADERS = (st.none() | st.text() | st.integers() | st.floats() | st.lists(st.integers())).map(
    lambda value: b'{"messageHeader":%b,"messageBody":{}}' % json.dumps(value).encode()
)


@given(st.binary() | ODD_HEADERS)
def test_no_bytes_make_it_raise(raw: bytes) -> None:
    """Whatever a stream holds, a peek answers."""
    assert isinstance(peek(raw), Peek)


@pytest.mark.parametrize(
    ("seen", "known_by"),
    [
        (Peek(message_id="m"), "m"),
        (Peek(message_id="m", sequence="s", position=1, total=1), "m"),
        (Peek(message_id="m", sequence="s", position=2, total=3), "s/2"),
        (Peek(message_id=None, sequence="s", position=2, total=3), "s/2"),
        (Peek(message_id="m", sequence="s", position=None, total=3), "m"),
        (Peek(message_id="m", sequence="s", position=2, total=3, damaged=True), "m"),
        (Peek(), None),
    ],
)
def test_a_part_is_known_by_its_place(seen: Peek, known_by: str | None) -> None:
    """By its sequence and position, where both can be read; any other message by its messageId."""
    assert identity(seen) == known_by


@given(st.binary(max_size=100))
def test_an_address_is_read_from_any_bytes(raw: bytes) -> None:
    """Or is None; nothing is raised."""
    assert return_address(raw) is None
    header = {"messageHeader": {"returnAddress": "replies"}, "messageBody": raw.hex()}
    assert return_address(serialise(header)) == "replies"
