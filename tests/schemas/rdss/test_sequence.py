"""Splitting a message and joining it again."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.envelope import serialise
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import (
    Assembly,
    HeaderTooLargeError,
    MissingPartsError,
    MixedPartsError,
    NotAPartError,
    body_of,
    join,
    split,
    split_raw,
)
from schemas.rdss.validation import judge

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 2_000
HEADER = Samples(1).message("MetadataDelete")["messageHeader"]


def ids() -> Callable[[], str]:
    """A source of UUIDs that can be told apart."""
    numbers = count(1)
    return lambda: f"00000000-0000-4000-8000-{next(numbers):012}"


def parts_of(message: dict[str, Any], limit: int = LIMIT) -> list[bytes]:
    return split(message, limit=limit, new_id=ids())


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    [
        '"',
        "\\",
        '\\"',
        "\\\\",
        "é",
        "€",
        "😀",
        "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
        "\n\t\x00\x1f",
        "\u2028",
        "\x7f",
    ]
)
BODIES = st.lists(st.tuples(TEXTS, st.integers(1, 700)), min_size=1, max_size=6).map(
    lambda pieces: {"objectTitle": [text * times for text, times in pieces]}
)


@given(BODIES, st.integers(900, 3_000))
def test_joining_gives_the_message_back_byte_for_byte(body: dict[str, Any], limit: int) -> None:
    """Whatever text a body holds, every part keeps the limit and nothing is lost, added or re-encoded."""
    message = {"messageHeader": HEADER, "messageBody": body}
    parts = parts_of(message, limit)
    assert max(map(len, parts)) <= limit
    assert join(parts) == serialise(message)
    assert body_of(join(parts[::-1])) == serialise(body)
    for part in parts:
        json.loads(part)


@given(st.text(st.sampled_from(' \n\t"\\é😀a'), max_size=3_000), st.booleans())
def test_a_body_is_cut_as_it_was_written(text: str, ascii_only: bool) -> None:
    """Escapes, surrogate pairs among them, and white space survive: the text counts, not its value."""
    body = json.dumps({"objectTitle": text, "n": 1.0}, ensure_ascii=ascii_only, indent=3).encode()
    raw = b'{"messageHeader":%b, "messageBody":%b}' % (serialise(HEADER), body)
    parts = split_raw(raw, limit=1_000, new_id=ids())
    assert max(map(len, parts)) <= 1_000 or len(raw) <= 1_000
    assert body_of(join(parts)) == body


def test_a_message_that_fits_is_not_touched(message: dict[str, Any]) -> None:
    """Exactly the limit fits; it is returned as it is, under its own id."""
    raw = serialise(message)
    assert split(message, limit=len(raw), new_id=ids()) == [raw]
    assert join([raw]) == raw
    assert len(split(message, limit=len(raw) - 1, new_id=ids())) == 2


def test_the_parts_are_numbered_and_share_their_sequence() -> None:
    """Each part has an id of its own, the first the message's; each is full but the last; each is valid."""
    message = Samples(2).big_message(5)
    parts = parts_of(message, MAX_MESSAGE_BYTES)
    seen = [peek(part) for part in parts]
    assert [part.position for part in seen] == [1, 2, 3, 4, 5]
    assert {part.total for part in seen} == {5}
    assert {part.sequence for part in seen} == {message["messageHeader"]["messageSequence"]["sequence"]}
    assert seen[0].message_id == message["messageHeader"]["messageId"]
    assert len({part.message_id for part in seen}) == 5
    assert all(999_990 <= len(part) <= MAX_MESSAGE_BYTES for part in parts[:-1])
    assert all(judge(part).valid for part in parts)
    assert judge(join(parts)).valid
    assert isinstance(msgspec.json.decode(parts[0])["messageBody"], str)


def test_more_parts_than_the_first_guess_had_digits_for() -> None:
    """The header of a part grows with its position; hundreds of parts keep the limit as two do."""
    message = {"messageHeader": HEADER, "messageBody": {"objectTitle": "x" * 60_000}}
    limit = len(serialise(message | {"messageBody": ""})) + 100
    parts = parts_of(message, limit)
    assert len(parts) > 500
    assert max(map(len, parts)) <= limit
    assert join(parts) == serialise(message)


def test_a_header_that_fills_the_limit_is_refused(message: dict[str, Any]) -> None:
    """There must be room for at least one code point of the body."""
    with pytest.raises(HeaderTooLargeError, match="shorten it"):
        parts_of(message, 300)


def test_what_is_no_whole_message_cannot_be_split(message: dict[str, Any]) -> None:
    """A part is not split again, nor something without a header."""
    part = parts_of(message)[0]
    with pytest.raises(NotAPartError, match="only a whole message"):
        split_raw(part, limit=500, new_id=ids())
    with pytest.raises(NotAPartError):
        split_raw(b'{"messageBody":"' + b"x" * 500 + b'"}', limit=400, new_id=ids())


def test_missing_parts_are_named(message: dict[str, Any]) -> None:
    """A receiver can say what it is still waiting for."""
    parts = parts_of(message, 1_000)
    with pytest.raises(MissingPartsError, match=r"lacks the parts at positions \[2\]") as caught:
        join([parts[0], *parts[2:]])
    assert caught.value.positions == (2,)
    with pytest.raises(MissingPartsError):
        join([])


def test_an_assembly_takes_parts_in_any_order_and_repeated(message: dict[str, Any]) -> None:
    """At-least-once delivery over several shards: it is complete when the last part is there, not before."""
    parts = parts_of(message, 1_000)
    assembly = Assembly()
    taken = [assembly.add(part) for part in [parts[-1], parts[-1], *parts[:-1]]]
    assert taken == [False] * len(parts) + [True]
    assert assembly.missing == ()
    assert assembly.message() == serialise(message)


def test_parts_that_do_not_belong_together_are_refused(message: dict[str, Any]) -> None:
    """Another sequence, another total, or other text at the same position: never a message made of both."""
    parts = parts_of(message, 1_000)
    others = parts_of(Samples(9).message("MetadataCreate", "dataset"), 1_000)
    with pytest.raises(MixedPartsError, match="is not one of"):
        join([parts[0], others[1]])
    total = parts[1].replace(b'"total":%d' % len(parts), b'"total":%d' % (len(parts) + 1))
    with pytest.raises(MixedPartsError, match="is not one of"):
        join([parts[0], total])
    with pytest.raises(MixedPartsError, match="differs"):
        join([parts[0], parts[1], _altered(parts[1])])


def _altered(part: bytes) -> bytes:
    message = msgspec.json.decode(part)
    message["messageBody"] += " "
    return serialise(message)


@pytest.mark.parametrize(
    "change",
    [
        {"position": 0},
        {"position": 99},
        {"position": "1"},
        {"total": None},
        {"sequence": 5},
    ],
)
def test_a_part_with_a_bad_place_is_refused(message: dict[str, Any], change: dict[str, Any]) -> None:
    """Positions count from 1 to the total."""
    part = msgspec.json.decode(parts_of(message, 1_000)[0])
    part["messageHeader"]["messageSequence"] |= change
    with pytest.raises(NotAPartError):
        join([serialise(part)])


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'{"messageHeader":{}}', b'{"messageHeader":1,"messageBody":""}']
)
def test_garbage_is_no_part(raw: bytes) -> None:
    """Whatever arrives, joining fails in a way that can be caught as a SequenceError."""
    with pytest.raises(NotAPartError):
        join([raw])


def test_a_part_whose_body_is_an_object_is_refused(message: dict[str, Any]) -> None:
    """One of several messages must carry text, or there is nothing to join."""
    whole = [serialise(message), serialise(message)]
    with pytest.raises(NotAPartError, match="no JSON string"):
        join(whole)


def test_a_foreign_body_that_is_not_json_is_joined_and_then_judged(message: dict[str, Any]) -> None:
    """The specification's own snippet slices Python's repr; joined it is GENERR007, not a crash."""
    parts = [msgspec.json.decode(part) for part in parts_of(message, 1_500)]
    for part in parts:
        part["messageBody"] = part["messageBody"].replace('"', "'")
    assert judge(join([serialise(part) for part in parts])).code == "GENERR007"
