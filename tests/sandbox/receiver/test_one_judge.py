"""Every place that judges messages gives the same verdict: the same questions are asked of each.

A place that receives takes messages of older releases; a place that validates refuses what is not of 4.0.0.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from emulator.clock import Clock
from emulator.diagnosis.content_reader import describe_refusal
from emulator.listeners.control.contract import ContractResources
from rdss_sandbox.shapes.contract import Judged
from sandbox.pipeline.stages.parsing import judge_record
from sandbox.pipeline.stages.sequences import decide_outcome
from sandbox.scenarios.expectation import expect
from sandbox.scenarios.workload import Offered
from schemas.message_timestamps import timestamp
from schemas.rdss.catalogue import terms
from schemas.rdss.contract import RDSS
from schemas.rdss.envelope import serialise
from schemas.rdss.sample_older_versions import older_sample
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split_raw
from schemas.rdss.validation import judge_message
from tests.sandbox.receiver.receiver_on_tapes import NOW, Tapes

BAD_CODES = ["GENERR001", "GENERR002", "GENERR003", "GENERR004", "GENERR007", "GENERR010"]


class Question(NamedTuple):
    """Bytes, and their code: of a message of 4.0.0, and for who takes older releases as well."""

    name: str
    data: bytes
    code: str | None
    received: str | None


def _message(**header: Any) -> dict[str, Any]:
    message = Samples(3, now=NOW).message("MetadataCreate", "article")
    message["messageHeader"] |= header
    return message


def _padded(size: int) -> bytes:
    raw = serialise(_message())
    return raw + b" " * (size - len(raw))


def _expiring(at: float) -> bytes:
    return serialise(
        _message(
            messageTimings={
                "publishedTimestamp": timestamp(NOW - 60),
                "expirationTimestamp": timestamp(at),
            }
        )
    )


def _part(place: dict[str, object], body: object = "{") -> bytes:
    sequence = _message()["messageHeader"]["messageSequence"]
    return serialise({**_message(messageSequence=sequence | place), "messageBody": body})


def _questions() -> list[Question]:
    asked: list[tuple[str, bytes, str | None]] = [
        (f"valid {kind}", serialise(Samples(5, now=NOW).message(kind)), None) for kind in terms("MessageType")
    ]
    for code, seed in itertools.product(BAD_CODES, (1, 2, 3)):
        asked.append((f"{code} {seed}", Samples(seed, now=NOW).bad(RDSS.codes[code]), code))
    asked += [
        ("one million bytes", _padded(1_000_000), None),
        ("a byte more", _padded(1_000_001), "GENERR006"),
        ("too large, and no JSON", b"x" * 1_000_001, "GENERR006"),
        ("expires now", _expiring(NOW), None),
        ("expired a millisecond ago", _expiring(NOW - 0.001), "GENERR003"),
        ("nothing", b"", "GENERR007"),
        ("a list", b"[]", "GENERR007"),
        ("half a message", serialise(_message())[:-9], "GENERR007"),
        ("not UTF-8", b'{"messageHeader":{},"messageBody":"\xff"}', "GENERR007"),
        ("a byte order mark", b"\xef\xbb\xbf" + serialise(_message()), "GENERR007"),
        ("twice given", serialise(_message())[:-1] + b',"messageBody":{}}', "GENERR007"),
        ("no header", serialise({"messageBody": {}}), "GENERR004"),
        ("expired and bad", _expiring(NOW - 30).replace(b'"generator":', b'"maker":'), "GENERR004"),
        ("a part", _part({"position": 1, "total": 2}), None),
        ("a part beyond its total", _part({"position": 3, "total": 2}), "GENERR004"),
        ("a part at no place", _part({"position": 0, "total": 2}), "GENERR004"),
        ("a part without text", _part({"position": 1, "total": 2}, {}), "GENERR001"),
        ("too many parts", _part({"position": 1, "total": 2**31}), "GENERR004"),
        ("a part that is too large", _part({"position": 1, "total": 2}, "x" * 1_000_000), "GENERR006"),
        ("a later version that is valid", serialise(_message(version="4.1.0")), None),
        ("an older version that is valid", serialise(_message(version="3.0.1")), None),
        ("a version that cannot be taken", serialise(_message(version="2.0.0", generator=1)), "GENERR004"),
    ]  # fmt: skip
    found = [Question(name, data, code, code) for name, data, code in asked]
    old = serialise(older_sample(Samples(5, now=NOW), "3.0.1"))
    found.append(Question("an older release", old, RDSS.judge(old).code, None))
    return found


QUESTIONS = _questions()
CONTROL = ContractResources(RDSS, Clock())
"""What the control API answers; the TUI asks it."""


def _received(tapes: Tapes, *data: bytes) -> list[str]:
    """The codes of what a receiver rejects; what waits and what it takes have none."""
    for each in data:
        tapes.input.put(each)
    tapes.receive()
    rejected = [each for queue in tapes.queues for each in tapes.rejected(queue)]
    return [each["messageHeader"]["errorCode"] for each in rejected]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_who_receives_gives_one_verdict(question: Question, tmp_path: Path) -> None:
    """Receiver, pipeline and the judge of scenarios, with one sentence for the reason."""
    tapes = Tapes(tmp_path, Clock(frozen_at=NOW, autojump=True))
    verdict = RDSS.versions.judge(question.data, now=NOW)
    row = judge_record(question.data, NOW)
    assert _received(tapes, question.data) == ([question.received] if question.received else [])
    assert verdict.code == question.received
    assert row["code"] == question.received
    assert row["description"] == (verdict.why or None)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_who_validates_gives_one_verdict(question: Question) -> None:
    """The contract, ``message validate``, a gateway and an adaptor, diagnosis, certify, the TUI's editor."""
    verdict = RDSS.judge(question.data, now=NOW)
    assert verdict.code == question.code
    asked = CONTROL.judge(Judged(question.data, NOW))
    assert (asked.code, len(asked.violations)) == (question.code, len(verdict.violations))
    too_large = verdict.code == "GENERR006"
    if not too_large or RDSS.peek(question.data).part:
        assert RDSS.documents.judge(question.data, now=NOW) == verdict
    if not too_large and question.code != "GENERR007":
        assert judge_message(json.loads(question.data), now=NOW) == verdict
    if not too_large and question.code != "GENERR003":
        why = describe_refusal(RDSS.judge(question.data))
        assert (why.partition(":")[0] or None) == question.code


class Sequence(NamedTuple):
    """Parts in the order of their arrival, whether time is up, and the codes of what is rejected."""

    name: str
    parts: list[bytes]
    late: bool
    codes: list[str]


def _parts(message: dict[str, Any], number: int = 3) -> list[bytes]:
    raw = serialise(message)
    ids = (f"00000000-0000-4000-8000-{at:012d}" for at in itertools.count())
    return split_raw(raw, limit=len(raw) // number + 400, new_id=lambda: next(ids))


def _sequences() -> list[Sequence]:
    whole = _parts(_message())
    bad = _message()
    bad["messageBody"]["objectTitle"] = ""
    old = _parts(older_sample(Samples(5, now=NOW), "3.0.1"))
    return [
        Sequence("whole", whole, False, []),
        Sequence("in any order", whole[::-1], False, []),
        Sequence("repeated", [whole[0], whole[0], *whole], False, []),
        Sequence("makes a bad message", _parts(bad), False, ["GENERR001"]),
        Sequence("of an older release", old, False, []),
        Sequence("waits", whole[:-1], False, []),
        Sequence("late", whole[:-1], True, ["GENERR001"] * (len(whole) - 1)),
        Sequence("unlike total", [whole[0], _unlike(whole[1], total=9), *whole[1:]], False, ["GENERR004"]),
        Sequence("unlike text", [whole[0], _unlike(whole[0], text="{"), *whole[1:]], False, ["GENERR004"]),
        Sequence("unlike, and too late to matter", [*whole, _unlike(whole[1], total=9)], False, []),
        Sequence(
            "unlike, and late", [whole[0], _unlike(whole[1], total=9)], True, ["GENERR004", "GENERR001"]
        ),
    ]


def _unlike(part: bytes, **changed: Any) -> bytes:
    """A part with an id of its own that says another total, or has another text at its position."""
    message = json.loads(part)
    header = message["messageHeader"]
    header["messageId"] = "00000000-0000-4000-8000-00000000ffff"
    header["messageSequence"]["total"] = changed.get("total", header["messageSequence"]["total"])
    return serialise({**message, "messageBody": changed.get("text", message["messageBody"])})


@pytest.mark.parametrize("asked", _sequences(), ids=lambda asked: asked.name)
def test_a_sequence_has_one_verdict(asked: Sequence, tapes: Tapes) -> None:
    """Receiver, pipeline and scenarios, on parts that make a message, do not, or do not come."""
    tapes.patience = RDSS.sequences.patience
    codes = _received(tapes, *asked.parts)
    if asked.late:
        tapes.clock.advance(RDSS.sequences.patience + 1)
        codes = _received(tapes)
    assert Counter(codes) == Counter(asked.codes)
    assert Counter(_piped(asked)) == Counter(asked.codes)
    if not asked.late and not asked.name.startswith("unlike"):
        offered = [Offered(0.0, part) for part in asked.parts]
        assert list(expect(offered, {}, lambda _: NOW).codes.elements()) == asked.codes


def _piped(asked: Sequence) -> list[str]:
    places = [RDSS.peek(part).part for part in asked.parts]
    total = places[0].total if places[0] else 0
    complete = len({each for each in places if each and each.total == total}) == total
    if not complete and not asked.late:
        return []
    rows = [
        judge_record(part, NOW)
        | {
            "data": part, "stream": "input", "shard": "0", "sequence_number": str(at),
            "arrived": datetime.fromtimestamp(NOW, UTC) + timedelta(milliseconds=at),
            "status": "overdue" if asked.late else "joined",
        }
        for at, part in enumerate(asked.parts)
    ]  # fmt: skip
    found = decide_outcome(rows, RDSS.sequences.patience)
    return [row["code"] for row in found if row["table"] == "rejects"]


def test_the_pipeline_waits_as_long_as_a_receiver(tapes: Tapes) -> None:
    """One patience, so that neither gives up what the other joins."""
    from sandbox.pipeline.stages.batch import Rules

    patience = Rules().sequence_limit
    tapes.patience = None
    assert _received(tapes, *_parts(_message())[:-1]) == []
    tapes.clock.advance(patience - 1)
    assert _received(tapes) == []
    tapes.clock.advance(2)
    assert set(_received(tapes)) == {"GENERR001"}
