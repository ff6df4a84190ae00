"""``sandbox tape`` and ``sandbox message validate`` on a tape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from extensions.tape.tape_command import tape
from extensions.tape.tape_format import FORMAT
from extensions.tape.tape_reader import TapeFile
from extensions.tape.tape_writer import TapeWriter
from rdss_sandbox.shapes.tape import (
    TapedChannel,
    TapedLoss,
    TapedMessage,
    TapedRead,
    TapedRefusal,
    TapedShard,
    TapeEntry,
    TapeMark,
)
from sandbox.cli.messages.message_command import message
from sandbox.cli.output.exit_codes import Exit
from schemas.bound import CONTRACT

START = 1_700_000_000.0
WHOLE, HALVES = (TapedShard("s0", "0", "9"),), (TapedShard("s1", "0", "4"), TapedShard("s2", "5", "9"))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(tape, list(map(str, arguments)), catch_exceptions=False, standalone_mode=False)


def show(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("show", path, "--json").stdout)
    return found


def write(path: Path, entries: list[TapeEntry], bodies: str = "whole") -> Path:
    with TapeWriter(path, TapeMark(FORMAT, "1.2.3", START, f"made as {path.stem}", "rdss", bodies)) as made:
        for each in entries:
            made.add(each)
    return path


def samples() -> Any:
    assert CONTRACT.samples is not None
    return CONTRACT.samples.from_seed(5, now=START)


def put(at: float, data: bytes, channel: str = "input", latency: float = 0.01) -> TapedMessage:
    return TapedMessage(START + at, channel, data, len(data), "key", "s0", str(at), latency)


@pytest.fixture
def day(tmp_path: Path) -> Path:
    """An hour and a half with a bit of everything."""
    made, code = samples(), next(iter(CONTRACT.samples.codes))  # type: ignore[union-attr]
    good = [each.data for each in made.stream(10)]
    assert CONTRACT.sequences is not None
    ids = iter(f"00000000-0000-4000-8000-{number:012d}" for number in range(99))
    parts = CONTRACT.sequences.split(made.big_message(3).data, new_id=lambda: next(ids))
    return write(
        tmp_path / "day.tape",
        [
            TapedChannel(START, "input", "kinesis", WHOLE),
            *(put(at, data) for at, data in enumerate(good)),
            put(20, good[0]),
            put(21, made.bad(code).data),
            *(put(30 + at, part) for at, part in enumerate(parts[:2])),
            TapedChannel(START + 40, "input", "kinesis", HALVES, "SplitShard"),
            put(5_000, samples().message().data, "output", latency=2.0),
            TapedRead(START + 5_100, "input", "GetRecords", records=5),
            TapedRefusal(START + 5_200, "input", "PutRecords", "Throttled", records=7, of=9),
            TapedLoss(START + 5_300, 4, "too fast"),
        ],
    )


def test_show_has_what_is_to_be_known_of_each_channel(day: Path) -> None:
    """Counted from the entries, and judged by the contract."""
    found = show(day)
    assert (found["entries"], found["lost"], found["troubles"]) == (20, 4, [])
    assert (found["first"], found["last"]) == (START, START + 5_300)
    first, second = found["channels"]
    assert (first["name"], first["messages"], first["duplicates"], first["keys"]) == ("input", 14, 1, 1)
    assert first["sequences"] == {"complete": 0, "incomplete": 1}
    assert sum(first["invalid"].values()) == 1
    assert (first["reads"], first["refusals"], first["shards"]) == (1, {"Throttled": 7}, 3)
    assert first["reshards"] == [{"at": START + 40, "before": ["s0"], "after": ["s1", "s2"]}]
    assert sum(first["rates"]) == 14
    assert first["peak"] == 1
    assert (second["name"], second["messages"]) == ("output", 1)
    assert [hour["latency"] for hour in found["slowest"]] == [2.0, pytest.approx(0.01)]


def test_show_tells_it_to_people(day: Path) -> None:
    """With a drawing of the rates, and the reshard."""
    said = run("show", day).stdout
    assert "input: kinesis, 3 shards" in said
    assert "14 messages" in said
    assert "█" in said
    assert "7 refusals with Throttled" in said
    assert "1 open shards became 2" in said
    assert "4 entries were lost while it was recorded" in said


def test_bodies_that_were_left_out_are_known_by_their_headers(tmp_path: Path) -> None:
    """Duplicates and sequences are counted all the same; nothing is said of bad messages."""
    header = {"id": "m1", "sequence": "q", "position": 1, "total": 2}
    bare = [TapedMessage(START + at, "input", None, 100, header=header) for at in range(2)]
    (channel,) = show(write(tmp_path / "bare.tape", [*bare], "none"))["channels"]
    assert (channel["duplicates"], channel["invalid"]) == (1, None)
    assert channel["sequences"] == {"complete": 0, "incomplete": 1}


def test_a_cut_has_its_time_and_channels_alone(day: Path, tmp_path: Path) -> None:
    """And the shards that a stream had when it begins."""
    target = tmp_path / "cut.tape"
    run("cut", day, "--to", target, "--from", START + 5, "--until", START + 21, "--channel", "input")
    found = [*TapeFile.open(target).read()]
    assert found[0] == TapedChannel(START + 5, "input", "kinesis", WHOLE)
    assert [each.at - START for each in found[1:]] == [5, 6, 7, 8, 9, 20]


def test_tapes_are_merged_by_time(tmp_path: Path) -> None:
    """Whatever the order in which they are named; what is kept of bodies is that of the least private."""
    one = write(tmp_path / "one.tape", [put(at, b"a") for at in (1, 3, 5)], "redacted")
    two = write(tmp_path / "two.tape", [put(at, b"b") for at in (2, 4)])
    run("merge", two, one, "--to", tmp_path / "both.tape")
    both = TapeFile.open(tmp_path / "both.tape")
    assert [each.at - START for each in both.read()] == [1, 2, 3, 4, 5]
    assert (both.mark.source, both.mark.bodies) == ("made as two; made as one", "whole")


def test_what_is_there_is_not_written_over(day: Path, tmp_path: Path) -> None:
    """Neither by a cut nor by a merge, of itself least of all."""
    before = day.read_bytes()
    for command in (("cut", day, "--to", day), ("merge", day, "--to", day)):
        with pytest.raises(Exception, match="is there already"):
            run(*command)
    assert day.read_bytes() == before
    assert list(tmp_path.iterdir()) == [day]


def test_damage_is_told_beside_what_could_be_read(day: Path) -> None:
    """The exit code says so too."""
    raw = day.read_bytes()
    day.write_bytes(raw[:-30])
    found = run("show", day)
    assert found.return_value == Exit.FAIL
    assert "14 messages" in found.stdout
    assert f"sandbox: {day} was not closed" in found.stderr


def test_no_tape_gets_a_sentence(tmp_path: Path) -> None:
    """A name that is not there, and a file of another kind."""
    with pytest.raises(Exception, match="cannot be read: No such file"):
        run("show", tmp_path / "none.tape")
    (tmp_path / "other.tape").write_text("{}")
    with pytest.raises(Exception, match="is no tape"):
        run("show", tmp_path / "other.tape")


def test_the_messages_of_a_tape_are_validated(day: Path) -> None:
    """Each by its number on the tape."""
    found = CliRunner().invoke(message, ["validate", str(day)], standalone_mode=False)
    assert found.return_value == Exit.FAIL
    assert f"valid       {day}:2\n" in found.output
    assert "15 judged, 1 refused" in found.output


def test_what_cannot_be_validated_is_told(day: Path, tmp_path: Path) -> None:
    """Bodies that a tape does not keep, and a tape that is none."""
    bare = write(tmp_path / "bare.tape", [msgspec.structs.replace(put(1, b"x"), body=None)])
    (tmp_path / "other.tape").write_text("{}")
    asked = ["validate", str(bare), str(tmp_path / "other.tape")]
    found = CliRunner().invoke(message, asked, standalone_mode=False)
    assert found.return_value == Exit.USAGE
    assert "does not keep the bodies of 1 messages" in found.output
    assert "is no tape" in found.output
