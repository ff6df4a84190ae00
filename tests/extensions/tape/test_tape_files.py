"""Tape files: what was written is read again, and of a damaged one whatever can be read."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.journal import frames
from extensions.tape.redaction import Redactor
from extensions.tape.tape_format import FORMAT, pack_block
from extensions.tape.tape_reader import BadTapeError, TapeFile
from extensions.tape.tape_writer import TapeExistsError, TapeWriter
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
from schemas.bound import CONTRACT

START = 1_700_000_000.0
MARK = TapeMark(FORMAT, "1.2.3", START, "the relay in front of http://127.0.0.1:4567", "rdss", "whole")
EACH_KIND: list[TapeEntry] = [
    TapedChannel(START, "input", "kinesis", (TapedShard("shardId-000000000000", "0", "99"),)),
    TapedMessage(START + 1, "input", b"\x00bytes", 6, "key", "shardId-000000000000", "495", 0.02, "AKIA"),
    TapedMessage(START + 2, "input", None, 2_000, header={"id": "m1", "position": 2}),
    TapedRead(START + 3, "input", "GetRecords", "AKIA", "shardId-000000000000", records=2, size=2_006),
    TapedRefusal(START + 4, "input", "PutRecords", "ProvisionedThroughputExceededException", "AKIA", of=9),
    TapedLoss(START + 5, 12, "the disk was too slow"),
]


def messages(count: int, every: float = 0.5) -> list[TapedMessage]:
    assert CONTRACT.samples is not None
    made = CONTRACT.samples.from_seed(7, now=START).stream(count)
    return [
        TapedMessage(START + at * every, "input", each.data, len(each.data), each.key, number=str(at))
        for at, each in enumerate(made)
    ]


def write(path: Path, entries: list[TapeEntry], mark: TapeMark = MARK) -> Path:
    with TapeWriter(path, mark) as tape:
        for each in entries:
            tape.add(each)
    return path


@pytest.fixture
def long_tape(tmp_path: Path) -> Path:
    """Of several blocks."""
    return write(tmp_path / "long.tape", [*messages(600)])


def test_every_kind_of_entry_comes_back(tmp_path: Path) -> None:
    """Field by field, and with what the mark says of the recording."""
    tape = TapeFile.open(write(tmp_path / "each.tape", EACH_KIND))
    assert [*tape.read()] == EACH_KIND
    assert (tape.mark, tape.entries, tape.first, tape.last) == (MARK, 6, START, START + 5)
    assert tape.troubles == []


def test_a_part_is_read_by_its_times(long_tape: Path) -> None:
    """From a time on, and before another, over the borders of blocks."""
    found = [each.at for each in TapeFile.open(long_tape).read(START + 100, START + 200)]
    assert found == [START + 100 + at * 0.5 for at in range(200)]


def test_late_entries_are_put_in_order(tmp_path: Path) -> None:
    """Threads tell of what passes a little out of order; a tape has it by time."""
    entries = messages(6)
    path = write(tmp_path / "late.tape", [entries[at] for at in (1, 0, 3, 2, 5, 4)])
    assert [*TapeFile.open(path).read()] == entries


def test_what_was_flushed_survives_the_recorder(tmp_path: Path) -> None:
    """The file of a process that was killed has no index, and a torn block may be at its end."""
    path = tmp_path / "killed.tape"
    tape = TapeWriter(path, MARK)
    for each in (entries := messages(100)):
        tape.add(each)
    tape.flush()
    with path.open("ab") as file:
        file.write(b"half of a block")
    found = TapeFile.open(path)
    assert [*found.read()] == entries
    assert (found.entries, found.last) == (100, entries[-1].at)
    assert found.troubles == [
        f"{path} was not closed, as after kill -9 or on a full disk: it ends at 2023-11-14T22:14:09.500Z"
    ]


@pytest.mark.parametrize("closed", [True, False])
def test_damage_costs_its_own_block_alone(long_tape: Path, closed: bool) -> None:
    """Whether the index is there or not; a sentence says what is lost."""
    raw = bytearray(long_tape.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    long_tape.write_bytes(raw if closed else raw[:-20])
    tape = TapeFile.open(long_tape)
    found = [*tape.read()]
    assert 300 < len(found) < 600
    assert found[0].at == START
    assert found[-1].at == START + 599 * 0.5
    assert len(tape.troubles) == 1
    assert f"{long_tape} is damaged" in tape.troubles[0]
    assert [*tape.read()] == found
    assert len(tape.troubles) == 1


@pytest.mark.parametrize("content", [b"", b"{}\n", b"\x1f\x8b" * 40, frames.header(b"{}", lines=0) + b"{}"])
def test_a_foreign_file_is_no_tape(tmp_path: Path, content: bytes) -> None:
    """A sentence names it."""
    path = tmp_path / "other.tape"
    path.write_bytes(content)
    with pytest.raises(BadTapeError, match=rf"^{path} is (no tape|empty): "):
        TapeFile.open(path)


def test_a_newer_tape_gives_what_is_known_of_it(tmp_path: Path) -> None:
    """Entries of kinds that came later are left out, and counted."""
    path = write(tmp_path / "newer.tape", [], msgspec.structs.replace(MARK, tape=9, made_by="9.9"))
    later = msgspec.msgpack.encode({"type": "hologram", "at": START})
    known = msgspec.msgpack.encode(EACH_KIND[1])
    with path.open("r+b") as file:
        file.seek(frames.HEADER_BYTES + len(msgspec.json.encode(MARK)) - 2)
        file.truncate()
        file.write(pack_block([later, known], size=6, ordinal=0, first=int(START * 1000)))
    tape = TapeFile.open(path)
    assert [*tape.read()] == [EACH_KIND[1]]
    assert "the format 9 of rdss-sandbox 9.9, which is newer than this one's 1" in " ".join(tape.troubles)
    assert "1 entries" in tape.troubles[-1]


def test_a_name_that_is_there_is_not_overwritten(long_tape: Path) -> None:
    """Whatever it has stays."""
    before = long_tape.read_bytes()
    with pytest.raises(TapeExistsError, match="is there already: give a name that is free"):
        TapeWriter(long_tape, MARK)
    assert long_tape.read_bytes() == before


def test_redaction_comes_before_the_disk(tmp_path: Path) -> None:
    """What it takes away is in no byte of the file, compressed or not."""
    path = tmp_path / "redacted.tape"
    with TapeWriter(path, MARK, lambda each: msgspec.structs.replace(each, body=None, key="")) as tape:
        tape.add(EACH_KIND[1])
    assert [*TapeFile.open(path).read()] == [msgspec.structs.replace(EACH_KIND[1], body=None, key="")]


def test_a_full_disk_leaves_what_was_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error comes to whoever records; the tape is read up to the last block."""
    path = tmp_path / "full.tape"
    tape = TapeWriter(path, MARK)
    tape.add(EACH_KIND[1])
    tape.flush()
    tape.add(EACH_KIND[2])

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("os.pwritev", refuse)
        with pytest.raises(OSError, match="No space left"):
            tape.flush()
    assert [*TapeFile.open(path).read()] == [EACH_KIND[1]]


def test_a_tape_that_cannot_be_begun_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the next try may have its name."""

    def refuse(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.pwritev", refuse)
    with pytest.raises(OSError, match="No space left"):
        TapeWriter(tmp_path / "full.tape", MARK)
    assert list(tmp_path.iterdir()) == []


@given(data=st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whatever_happens_to_a_file_it_is_read_or_refused(data: st.DataObject, tmp_path: Path) -> None:
    """Cut, overwritten or lengthened at any place: sentences, and entries that were written."""
    path = tmp_path / "damaged.tape"
    path.unlink(missing_ok=True)
    raw = bytearray(write(path, EACH_KIND).read_bytes())
    at = data.draw(st.integers(0, len(raw)))
    piece = data.draw(st.binary(max_size=40))
    raw[at : at + data.draw(st.integers(0, 60))] = piece
    path.write_bytes(raw)
    try:
        tape = TapeFile.open(path)
    except BadTapeError as error:
        assert str(path) in str(error)  # noqa: PT017 -- an example may be read as well
        return
    assert all(each in EACH_KIND for each in tape.read())


@pytest.mark.parametrize("bodies", ["whole", "redacted"])
def test_a_million_messages_take_a_quarter_of_their_bytes(tmp_path: Path, bodies: str) -> None:
    """250 MB for a million of 1 KB, which is measured by their share here."""
    found = messages(600)
    redact = Redactor(CONTRACT).redact if bodies == "redacted" else None
    with TapeWriter(tmp_path / "all.tape", MARK, redact) as tape:
        for each in found:
            tape.add(each)
    assert (tmp_path / "all.tape").stat().st_size < 0.25 * sum(each.size for each in found)
