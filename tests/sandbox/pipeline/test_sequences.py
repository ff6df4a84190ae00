"""What becomes of the parts of a sequence."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.pipeline.stages.parsing import judge_record
from sandbox.pipeline.stages.sequences import decide_outcome
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import body_of, split

LIMIT = 3600.0
NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


def _message() -> bytes:
    return serialise(Samples(3, now=NOW.timestamp()).message("MetadataCreate", "article"))


def _parts(raw: bytes, status: str = "joined") -> list[dict[str, Any]]:
    ids = (f"00000000-0000-4000-8000-{number:012d}" for number in range(99))
    from msgspec.json import decode

    pieces = split(decode(raw), limit=len(raw) // 3, new_id=lambda: next(ids))
    assert len(pieces) > 2
    return [
        judge_record(piece, NOW.timestamp())
        | {
            "data": piece,
            "stream": "input",
            "shard": f"shard-{at % 2}",
            "sequence_number": str(at),
            "arrived": NOW + timedelta(seconds=at),
            "status": status,
        }
        for at, piece in enumerate(pieces)
    ]


@settings(max_examples=20)
@given(st.data())
def test_parts_in_any_order_and_more_than_once_join_byte_for_byte(data: st.DataObject) -> None:
    """However parts arrive, the joined body is the one that was split, and it is judged as a whole."""
    raw = _message()
    parts = _parts(raw)
    shuffled = data.draw(st.permutations(parts + data.draw(st.lists(st.sampled_from(parts), max_size=4))))
    (found,) = decide_outcome(shuffled, LIMIT)
    assert found["status"] == "joined"
    assert found["body_sha256"] == sha256(body_of(raw)).hexdigest()
    assert (found["parts"], found["total"]) == (len(parts), len(parts))
    assert found["object_uuid"]
    assert (found["first_arrived"], found["last_arrived"]) == (parts[0]["arrived"], parts[-1]["arrived"])


def test_parts_that_came_too_late_are_rejects_with_their_bytes() -> None:
    """After the time limit every part that came is a reject, and the sequence says how many came."""
    parts = _parts(_message(), "overdue")[:-1]
    sequence, *rejects = decide_outcome(parts, LIMIT)
    assert (sequence["table"], sequence["status"], sequence["code"]) == ("sequences", "overdue", "GENERR001")
    assert f"{len(parts)} of {len(parts) + 1} parts" in sequence["description"]
    assert [(r["table"], r["data"]) for r in rejects] == [("rejects", part["data"]) for part in parts]


def test_a_joined_message_that_is_not_valid_is_one_reject_with_its_whole_bytes() -> None:
    """The body is judged after joining, and what is rejected is the joined message."""
    raw = _message().replace(b'"objectTitle":', b'"objectTitel":')
    sequence, reject = decide_outcome(_parts(raw), LIMIT)
    assert (sequence["status"], sequence["code"], reject["code"]) == ("refused", "GENERR001", "GENERR001")
    assert body_of(reject["data"]) == body_of(raw)


@pytest.mark.parametrize("change", ["total", "fragment"])
def test_parts_that_do_not_belong_together_are_rejects(change: str) -> None:
    """Parts that contradict each other stop nothing: each is a reject."""
    parts = _parts(_message())
    if change == "total":
        parts[1]["data"] = parts[1]["data"].replace(b'"total":', b'"total":1')
    else:
        parts[1]["data"] = parts[1]["data"].replace(b'"messageBody":"', b'"messageBody":3,"x":"')
    sequence, *rejects = decide_outcome(parts, LIMIT)
    assert sequence["status"] == "refused"
    assert sequence["code"] == "GENERR004"
    assert len(rejects) == len(parts)
