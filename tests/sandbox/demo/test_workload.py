"""What a demonstration sends: all that was promised, the same for the same seed, files as they are."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sandbox.demo.demonstration import UnusableFileError, make_plan, read_messages
from sandbox.scenarios.expectation import split
from sandbox.scenarios.play import offer
from sandbox.scenarios.workload import Offered
from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.envelope import serialise
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import body_of
from schemas.rdss.verdicts import judge_unsent
from tests.sandbox.demo.small_plan import shrink_plan

NOW = 1_780_000_000.0
PUBLISHED = Path(__file__).parents[4] / "shared/reference/rdss-4.0.0/messages"


def _offered(seed: int) -> tuple[Offered, ...]:
    plan = shrink_plan(seed, messages=40, sequences=4, bad=2, oversize=2, duplicates=0.0)
    return offer(plan.stream, seed, NOW)


def test_everything_of_the_plan_is_there() -> None:
    """Valid messages of all types, sequences of 2 to 5 parts, a bad message for each code there can be."""
    offered = _offered(3)
    codes = Counter(judge_unsent(each.data, now=NOW).code for each in offered)
    bad = make_plan(3).stream.workload.bad
    assert codes == dict.fromkeys(bad, 2) | {None: 40 + 4 + 2 + 9}
    assert len({peek(each.data).message_type for each in offered}) >= 5
    parts = [split(each.data) for each in offered]
    assert sorted(len(each) for each in parts if len(each) > 1) == [2, 3, 4, 5]
    assert all(len(part) <= MAX_MESSAGE_BYTES for each in parts for part in each)


def test_the_same_seed_makes_the_same_messages() -> None:
    """Also their order, and those that something fails at; another seed makes others."""
    assert _offered(3) == _offered(3)
    assert not {each.data for each in _offered(3)} & {each.data for each in _offered(4)}


def test_whole_messages_of_files_are_sent_byte_for_byte(tmp_path: Path) -> None:
    """A pretty-printed message stays so, NDJSON is a message a line, the same bytes go once."""
    one, two, three = Samples(1).stream(3)
    pretty = json.dumps(one, indent=2).encode()
    (tmp_path / "one.json").write_bytes(pretty)
    (tmp_path / "copy.json").write_bytes(pretty)
    (tmp_path / "more.ndjson").write_bytes(serialise(two) + b"\n" + serialise(three) + b"\n")
    (tmp_path / "notes.txt").write_text("not a message")
    assert sorted(read_messages(tmp_path, 3, NOW)) == sorted([pretty, serialise(two), serialise(three)])


def test_a_header_or_body_alone_gets_a_counterpart(tmp_path: Path) -> None:
    """What was published alone is in a whole message, byte for byte; two bodies are two messages."""
    message = Samples(1).message("MetadataDelete")
    body = json.dumps(message["messageBody"], indent=1).encode()
    (tmp_path / "body.json").write_bytes(body)
    (tmp_path / "same.json").write_bytes(body)
    (tmp_path / "header.json").write_bytes(serialise(message["messageHeader"]))
    messages = read_messages(tmp_path, 3, NOW)
    assert [judge_unsent(each, now=NOW).code for each in messages] == [None] * 3
    assert [body_of(each) == body for each in messages] == [True, False, True]
    assert len({peek(each).message_id for each in messages}) == 3


def test_the_published_examples_are_all_taken() -> None:
    """Every file is a message: what expired is GENERR003, the 3.x body GENERR001, the rest is valid."""
    if not PUBLISHED.is_dir():
        pytest.skip("the published examples are not beside this checkout")
    codes = Counter(judge_unsent(each, now=NOW).code for each in read_messages(PUBLISHED, 3, NOW))
    assert codes == {None: 8, "GENERR003": 8, "GENERR001": 1}


def test_with_files_nothing_grows_and_nothing_fails_on_purpose(tmp_path: Path) -> None:
    """People's own messages meet copies, late answers and reshards alone."""
    plan = make_plan(3, tmp_path)
    assert {fault.type for fault in plan.stream.faults} == {"duplicate", "latency", "reshard"}
    assert (plan.stream.failures, plan.queue.failures) == ((), ())


@pytest.mark.parametrize(
    "content", [None, b'{"messageHeader": {}, "messageBody": "' + b"x" * 2_000_000 + b'"}']
)
def test_a_directory_with_nothing_to_send_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """No message at all, or one that is too large and cannot be split: the line names the place."""
    if content:
        (tmp_path / "huge.json").write_bytes(content)
    with pytest.raises(UnusableFileError, match=r"huge\.json has 2,000,0\d\d bytes|holds no message"):
        read_messages(tmp_path, 3, NOW)
