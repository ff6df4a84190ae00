"""The whole verdict: on any release, on parts, on what they make, on late ones, on what is not sent yet."""

from __future__ import annotations

import json
from itertools import count

import pytest

from schemas.contract import LONGEST_WHY, MOST_NAMED, Code, Contract, Part, Verdict, Violation
from schemas.message_timestamps import timestamp
from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.contract import AS_PUBLISHED, RDSS, Rdss
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode, Queue
from schemas.rdss.sample_older_versions import older_sample
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import join, split_raw

NOW = 1_600_000_000.0
CONTRACT: Contract = RDSS


def parts_of(raw: bytes, number: int = 3) -> list[bytes]:
    ids = (f"00000000-0000-4000-8000-{at:012d}" for at in count())
    return split_raw(raw, limit=len(raw) // number + 400, new_id=lambda: next(ids))


def sample() -> bytes:
    return serialise(Samples(3, now=NOW).message("MetadataCreate", "article"))


def test_the_size_comes_first() -> None:
    """A message of a million bytes is judged by what it says, a longer one is GENERR006 whatever it says."""
    raw = sample()
    fits = raw + b" " * (MAX_MESSAGE_BYTES - len(raw))
    assert CONTRACT.max_bytes == MAX_MESSAGE_BYTES
    assert CONTRACT.judge(fits).valid
    for too_large in (fits + b" ", b"x" * (MAX_MESSAGE_BYTES + 1)):
        verdict = CONTRACT.judge(too_large)
        assert (verdict.code, verdict.why) == (
            ErrorCode.GENERR006,
            "the message has 1,000,001 bytes; the limit is 1,000,000",
        )


@pytest.mark.parametrize("place", [Part("s", 0, 3), Part("s", 4, 3), Part("s", 2, 4), Part("s", 2, 3)])
def test_parts_that_do_not_belong_together(place: Part) -> None:
    """A place outside of the total, another total, a taken place: GENERR004, as when they do not join."""
    verdict = RDSS.sequences.judge_part(place, total=3, taken=place == Part("s", 2, 3))
    assert verdict.code is ErrorCode.GENERR004
    assert verdict.why
    mixed = [*parts_of(sample())[:-1], parts_of(serialise(Samples(4, now=NOW).message("MetadataCreate")))[-1]]
    whole, verdict = RDSS.sequences.judge_parts(mixed)
    assert whole is None
    assert verdict.code is ErrorCode.GENERR004


def test_a_part_that_belongs_to_its_sequence_is_valid() -> None:
    """The first of all, and any other that says the same total at a free place."""
    for total in (None, 3):
        assert RDSS.sequences.judge_part(Part("s", 2, 3), total=total, taken=False).valid


def test_what_parts_make_is_judged_whole() -> None:
    """The joined body is that of the message, its size does not matter, and what it lacks is told."""
    raw = serialise(Samples(2, now=NOW).big_message(3))
    parts = split_raw(raw, new_id=lambda: "00000000-0000-4000-8000-000000000000")
    assert len(raw) > MAX_MESSAGE_BYTES
    assert RDSS.sequences.judge_parts(reversed(parts), now=NOW) == (join(parts), Verdict(True, None, ()))
    bad = parts_of(sample().replace(b'"objectTitle":', b'"objectTitel":'))
    whole, verdict = RDSS.sequences.judge_parts(bad)
    assert whole == join(bad)
    assert verdict.code is ErrorCode.GENERR001


def test_a_late_sequence() -> None:
    """Its parts are not whole (GENERR001, invalid queue), and the sentence says how many of them came."""
    verdict = RDSS.sequences.judge_overdue("s", 2, 3, 60.0)
    assert verdict.code is ErrorCode.GENERR001
    assert verdict.code.queue == Queue.INVALID
    assert verdict.why == "sequence s: 2 of 3 parts came within 60 s"
    assert RDSS.sequences.patience == 24 * 3600


def test_a_sequence_that_expired_before_its_last_part() -> None:
    """The joined message has an expiration date that has passed, so it is GENERR003."""
    message = Samples(3, now=NOW).message("MetadataCreate", "article")
    message["messageHeader"]["messageTimings"]["expirationTimestamp"] = timestamp(NOW)
    parts = parts_of(serialise(message))
    assert RDSS.sequences.judge_parts(parts, now=NOW).verdict.valid
    assert RDSS.sequences.judge_parts(parts, now=NOW + 1).verdict.code is ErrorCode.GENERR003


@pytest.mark.parametrize("contract", [RDSS, AS_PUBLISHED])
def test_a_message_of_an_older_release(contract: Rdss) -> None:
    """4.0.0 refuses it; who receives takes it, and gets the form of 4.0.0, in one piece or in parts."""
    old = serialise(older_sample(Samples(5, now=NOW), "3.0.1"))
    assert not contract.judge(old).valid
    taken = contract.versions.judge(old)
    assert taken.valid
    assert taken.upgraded is not None
    assert contract.judge(taken.upgraded).valid
    joined = contract.sequences.judge_parts(parts_of(old))
    assert joined.whole is not None
    assert joined.verdict.upgraded is not None
    assert contract.judge(joined.verdict.upgraded).valid


@pytest.mark.parametrize("version", ["2.1.0", "3.0.1"])
def test_an_older_message_that_cannot_be_taken_says_why(version: str) -> None:
    """The version comes first in the reason, before what 4.0.0 finds wrong."""
    message = json.loads(sample())
    message["messageHeader"]["version"] = version
    message["messageBody"]["objectTitle"] = ""
    verdict = RDSS.versions.judge(serialise(message))
    assert verdict.code is ErrorCode.GENERR001
    assert verdict.upgraded is None
    assert version in verdict.why.split(";")[0]
    assert "/messageBody/objectTitle" in verdict.why


def test_what_is_not_sent_yet() -> None:
    """A whole message may be split and has any size; a part that is too large cannot be sent."""
    raw = serialise(Samples(2, now=NOW).big_message(2))
    assert RDSS.judge(raw).code is ErrorCode.GENERR006
    assert RDSS.sequences.judge_unsent(raw).valid
    large = split_raw(raw, limit=len(raw) - 1000, new_id=lambda: "00000000-0000-4000-8000-000000000000")[0]
    assert RDSS.sequences.judge_unsent(large).code is ErrorCode.GENERR006


def test_the_reason_names_some_violations_and_counts_the_others() -> None:
    """So that no error description makes a message too large, however much is wrong with it."""
    long = tuple(Violation(f"/{at}", "rule", "x" * 1000) for at in range(MOST_NAMED + 5))
    verdict = Verdict(valid=False, code=ErrorCode.GENERR001, violations=long)
    assert verdict.sentences()[-1] == "and 5 more"
    assert verdict.sentences(1) == [f"/0: {'x' * 1000}", "and 14 more"]
    assert len(verdict.why) == LONGEST_WHY


def test_each_code_is_listed_with_its_queue() -> None:
    """A contract's codes are texts that say what they mean and where their messages go."""
    assert list(CONTRACT.codes) == [code.value for code in ErrorCode]
    for name, code in CONTRACT.codes.items():
        assert isinstance(code, Code)
        assert code == name
        assert code.description
        assert code.queue in list(Queue)


@pytest.mark.parametrize(
    ("place", "part"),
    [
        ({"sequence": "s", "position": 2, "total": 3}, Part("s", 2, 3)),
        ({"sequence": "s", "position": 9, "total": 3}, Part("s", 9, 3)),
        ({"sequence": "s", "position": 1, "total": 1}, None),
        ({"sequence": "s", "position": 1}, None),
        ({"position": 1, "total": 2}, None),
        ({"sequence": "s", "total": 2}, None),
        ({}, None),
    ],
)
def test_what_is_a_part(place: dict[str, object], part: Part | None) -> None:
    """A total above 1, and a place that can be read; a whole message and damaged bytes are none."""
    raw = serialise({"messageHeader": {"messageSequence": place}, "messageBody": ""})
    assert CONTRACT.peek(raw).part == part
    assert CONTRACT.peek(raw[1:]).part is None
