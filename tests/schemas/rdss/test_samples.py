"""The sample messages are what they claim to be."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from schemas.message_timestamps import instant, timestamp_of
from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.catalogue import terms
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek
from schemas.rdss.samples import EARLIEST, LATEST, RELEASED, Samples
from schemas.rdss.sequence import split
from schemas.rdss.validation import VALID, judge

CAUSES = [ErrorCode(f"GENERR{number:03}") for number in (1, 2, 3, 4, 7, 10)]


def test_the_same_seed_gives_the_same_messages() -> None:
    """A run can be repeated from its seed, and another seed gives another."""
    first, again, other = (
        [serialise(message) for message in samples.stream(80)]
        for samples in (Samples(11), Samples(11), Samples(12))
    )
    assert first == again
    assert not set(first) & set(other)


def test_a_stream_has_every_type_and_every_kind_of_object() -> None:
    """Thirty messages are enough to meet them all; each is valid, and never expires."""
    seen: Counter[tuple[str | None, str | None]] = Counter()
    ids = set()
    for message in Samples(4).stream(400):
        raw = serialise(message)
        assert judge(raw, now=RELEASED + 50 * 365 * 86_400) == VALID, raw
        header = message["messageHeader"]
        ids.add(header["messageId"])
        seen[header["messageType"], message["messageBody"].get("objectResourceType")] += 1
        if sum(seen.values()) == 30:
            assert {kind for kind, _ in seen} == set(terms("MessageType"))
            assert {kind for _, kind in seen} >= set(terms("ResourceType"))
    assert len(ids) == 400


def test_each_type_and_kind_can_be_asked_for(samples: Samples) -> None:
    """What is asked for is what comes; what cannot be is refused with what can."""
    for kind in terms("ResourceType"):
        for message_type in ("MetadataCreate", "MetadataUpdate", "MetadataRead"):
            message = samples.message(message_type, kind)
            assert message["messageHeader"]["messageType"] == message_type
            assert message["messageBody"]["objectResourceType"] == kind
    assert samples.message(resource_type="book")["messageHeader"]["messageType"] == "MetadataCreate"
    with pytest.raises(ValueError, match="not a message type; there are MetadataCreate"):
        samples.message("VocabularyRead")
    with pytest.raises(ValueError, match="not a resource type; there are"):
        samples.message("MetadataCreate", "journal")
    with pytest.raises(ValueError, match="carries no object"):
        samples.message("MetadataDelete", "book")


def test_messages_hang_together() -> None:
    """Updates, deletes and preservation events name objects that were created; answers name their request."""
    samples = Samples(6)
    created: set[str] = set()
    asked: set[str] = set()
    known = 0
    for message in samples.stream(500):
        header, body = message["messageHeader"], message["messageBody"]
        if header["messageType"] == "MetadataUpdate":
            previous = body["objectRelatedIdentifier"][0]
            assert previous["relationType"] == "isNewVersionOf"
            assert previous["identifier"]["identifierValue"] in created
        if header["messageType"] in ("MetadataCreate", "MetadataUpdate"):
            assert body["objectUUID"] not in created
            created.add(body["objectUUID"])
        else:
            assert body["objectUUID"] in created
        if header.get("returnAddress"):
            asked.add(header["messageId"])
        known += header.get("correlationId") in asked
    assert known > 10


def test_timestamps_follow_the_given_time() -> None:
    """A message is published at the time that the generator was given, later ones later."""
    first, second = Samples(1, now=1_700_000_000.0).stream(2)
    assert first["messageHeader"]["messageTimings"]["publishedTimestamp"] == "2023-11-14T22:13:20.000Z"
    assert second["messageHeader"]["messageTimings"]["publishedTimestamp"] == "2023-11-14T22:13:20.001Z"


def moved(message: Any, seconds: float) -> Any:
    """The same with each timestamp later by so many seconds."""
    if isinstance(message, dict):
        return {name: moved(value, seconds) for name, value in message.items()}
    if isinstance(message, list):
        return [moved(value, seconds) for value in message]
    moment = instant(message) if isinstance(message, str) else None
    return message if moment is None else timestamp_of(round((moment + seconds) * 1000))


@pytest.mark.parametrize("years", [-40, 8, 200])
def test_the_time_moves_every_timestamp_alike_and_nothing_else(years: int) -> None:
    """Ids, texts and sizes stay; expiry stays after publication, and what happened before it before."""
    there = RELEASED + years * 365 * 86_400
    kinds = [{}, {"message_type": "MetadataRead"}, {"resource_type": "thesisDissertation"}]

    def made(now: float) -> list[Any]:
        samples = Samples(9, now=now)
        messages = [
            *samples.stream(120),
            *(samples.message(**kind) for kind in kinds),
            samples.big_message(2),
        ]
        spoilt = [samples.bad(code) for code in CAUSES if code is not ErrorCode.GENERR007]
        return messages + [json.loads(raw) for raw in spoilt]

    before, now = made(RELEASED), made(there)

    assert [moved(message, there - RELEASED) for message in before] == now
    assert [len(serialise(message)) for message in before] == [len(serialise(message)) for message in now]


@pytest.mark.parametrize("year", ["0009", "9900"])
def test_a_time_without_a_calendar_is_refused(year: str) -> None:
    """Dates eight years before and a hundred after must exist."""
    with pytest.raises(ValueError, match="between the years 10 and 9898"):
        Samples(1, now=instant(f"{year}-06-01T00:00:00Z") or 0.0)


@pytest.mark.parametrize("now", [EARLIEST, LATEST])
def test_the_first_and_last_of_times_make_valid_messages(now: float) -> None:
    """No date falls outside of the calendar."""
    for message in Samples(4, now=now).stream(300):
        assert judge(serialise(message)) == VALID


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 12])
def test_a_big_message_takes_as_many_parts_as_asked(samples: Samples, parts: int) -> None:
    """Whatever its text needs to be escaped."""
    message = samples.big_message(parts)
    pieces = split(message, new_id=lambda: "0a021cf3-fa5f-4b86-ab09-634bd5de1abd")
    assert len(pieces) == parts
    assert (len(serialise(message)) > MAX_MESSAGE_BYTES) is (parts > 1)
    assert (
        len(split(samples.big_message(parts, limit=20_000), limit=20_000, new_id=lambda: "0" * 36)) == parts
    )
    with pytest.raises(ValueError, match="too low"):
        samples.big_message(parts, limit=400)


@pytest.mark.parametrize("as_published", [False, True])
@pytest.mark.parametrize("code", CAUSES)
def test_a_bad_message_is_refused_with_its_code(
    samples: Samples, code: ErrorCode, *, as_published: bool
) -> None:
    """Each way to spoil a message has the code it was made for, and its id can still be read."""
    made = [samples.bad(code) for _ in range(60)]
    assert len(set(made)) == 60
    for raw in made:
        verdict = judge(raw, now=RELEASED + 86_400, as_published=as_published)
        assert verdict.code is code, (verdict, raw)
        assert peek(raw).message_id


def test_no_message_alone_causes_the_other_codes(samples: Samples) -> None:
    """A retry limit or a full disk is not in the message."""
    for code in set(ErrorCode) - set(CAUSES):
        with pytest.raises(ValueError, match="no message alone can cause"):
            samples.bad(code)
