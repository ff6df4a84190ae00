"""What a demonstration sends: all that was promised, the same for the same seed, files as they are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sandbox.demo.plan import BAD, Plan
from sandbox.demo.workload import UnusableFileError, workload
from schemas.rdss.envelope import MAX_MESSAGE_BYTES, serialise
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import body_of

NOW = 1_780_000_000.0
SMALL = Plan(3, messages=40, sequences=4, bad=2, oversize=2)
PUBLISHED = Path(__file__).parents[4] / "shared/reference/rdss-4.0.0/messages"


def test_everything_of_the_plan_is_there() -> None:
    """Valid messages of all types, sequences of 2 to 5 parts, a bad message for each code there can be."""
    items = workload(SMALL, NOW)
    valid = [item for item in items if item.code is None]
    assert len(valid) == 40 + 4 + 2
    assert len({peek(item.data).message_type for item in valid}) == 5
    assert sorted(len(item.parts) for item in valid if len(item.parts) > 1) == [2, 3, 4, 5]
    assert Counter(item.code for item in items if item.code) == dict.fromkeys(BAD, 2)
    assert all(len(part) <= MAX_MESSAGE_BYTES for item in items for part in item.parts)


def test_the_same_seed_makes_the_same_messages() -> None:
    """Also the ids of the parts and the order; another seed makes others."""
    first, again = workload(SMALL, NOW), workload(SMALL, NOW)
    assert [item.parts for item in first] == [item.parts for item in again]
    other = workload(Plan(4, messages=40, sequences=0, bad=0, oversize=0), NOW)
    assert not {item.data for item in first} & {item.data for item in other}


def test_whole_messages_of_files_are_sent_byte_for_byte(tmp_path: Path) -> None:
    """A pretty-printed message stays so, NDJSON is a message a line, the same bytes go once."""
    one, two, three = Samples(1).stream(3)
    pretty = json.dumps(one, indent=2).encode()
    (tmp_path / "one.json").write_bytes(pretty)
    (tmp_path / "copy.json").write_bytes(pretty)
    (tmp_path / "more.ndjson").write_bytes(serialise(two) + b"\n" + serialise(three) + b"\n")
    (tmp_path / "notes.txt").write_text("not a message")
    items = workload(SMALL.of_files(tmp_path), NOW)
    assert sorted(item.data for item in items) == sorted([pretty, serialise(two), serialise(three)])


def test_a_header_or_body_alone_gets_a_counterpart(tmp_path: Path) -> None:
    """What was published alone is in a whole message, byte for byte; two bodies are two messages."""
    message = Samples(1).message("MetadataDelete")
    body = json.dumps(message["messageBody"], indent=1).encode()
    (tmp_path / "body.json").write_bytes(body)
    (tmp_path / "same.json").write_bytes(body)
    (tmp_path / "header.json").write_bytes(serialise(message["messageHeader"]))
    items = workload(SMALL.of_files(tmp_path), NOW)
    assert [item.code for item in items] == [None] * 3
    assert [body_of(item.data) == body for item in items] == [True, False, True]
    assert len({peek(item.data).message_id for item in items}) == 3


def test_the_published_examples_are_all_taken() -> None:
    """Every file is a message: what expired is GENERR003, the 3.x body GENERR001, the rest is valid."""
    if not PUBLISHED.is_dir():
        pytest.skip("the published examples are not beside this checkout")
    codes = Counter(item.code for item in workload(SMALL.of_files(PUBLISHED), NOW))
    assert codes == {None: 8, "GENERR003": 8, "GENERR001": 1}


@pytest.mark.parametrize(
    "content", [None, b'{"messageHeader": {}, "messageBody": "' + b"x" * 2_000_000 + b'"}']
)
def test_a_directory_with_nothing_to_send_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """No message at all, or one that is too large and cannot be split: the line names the place."""
    if content:
        (tmp_path / "huge.json").write_bytes(content)
    with pytest.raises(UnusableFileError, match=r"huge\.json has 2,000,0\d\d bytes|holds no message"):
        workload(SMALL.of_files(tmp_path), NOW)
