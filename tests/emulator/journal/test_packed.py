"""Segments that are full are compressed, and nobody who reads them can tell."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import DamagedLogError, Segments
from emulator.kinesis import Engine, Scope
from emulator.rng import Chance

SCOPE = Scope("000000000000", "eu-west-2")
BLOCKS, SIZE = 60, 9_000


def written(directory: Path, blocks: int = BLOCKS) -> Segments:
    """Blocks of a changing number of lines, of which some repeat and some cannot be compressed."""
    segments = Segments(directory, segment_bytes=300_000)
    more(segments, blocks)
    return segments


def more(segments: Segments, blocks: int) -> None:
    draws = Chance(1).draws("packed", str(segments.next))
    for _ in range(blocks):
        count = draws.randint(1, 9)
        lines = [
            b"%016d" % (segments.next + i) + draws.randbytes(SIZE // 2).hex().encode() for i in range(count)
        ]
        segments.append(b"".join(line + b"\n" for line in lines), count, count * SIZE, 1000 + segments.next)


def pack(segments: Segments) -> int:
    packed = 0
    while (segment := segments.cold) is not None:
        assert segments.replace(segment, segment.pack())
        packed += 1
    return packed


def everything(segments: Segments) -> bytes:
    return b"".join(segments.read(1, 1_000_000, 1 << 30).parts)


def test_what_is_packed_is_read_from_any_number_and_time_as_before(tmp_path: Path) -> None:
    """The same lines, the same places of times, before packing, after it and after a restart."""
    segments = written(tmp_path / "shard")
    places = range(1, segments.next, 7)
    before = [segments.read(place, 11, 1 << 20) for place in places]
    times = [segments.first_at_or_after(1000 + place) for place in places]
    expected = [(b"".join(found.parts), found.lines, found.next) for found in before]

    assert pack(segments) >= 3

    for _ in range(2):
        after = [segments.read(place, 11, 1 << 20) for place in places]
        assert [(b"".join(found.parts), found.lines, found.next) for found in after] == expected
        assert [segments.first_at_or_after(1000 + place) for place in places] == times
        segments.close()
        segments = Segments(tmp_path / "shard", segment_bytes=300_000)


def test_what_is_packed_takes_less_room_and_one_file(tmp_path: Path) -> None:
    """Neither the file that was packed nor its index stays."""
    segments = written(tmp_path)
    before = sum(path.stat().st_size for path in tmp_path.iterdir())

    count = pack(segments)

    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 0.75 * before
    suffixes = sorted(path.suffix for path in tmp_path.iterdir())
    assert suffixes == [".log"] + [".packed"] * count


def test_a_shard_of_which_all_is_packed_goes_on(tmp_path: Path) -> None:
    """The last segment too, when it is rolled; numbers go on after a restart."""
    segments = written(tmp_path, blocks=5)
    before = everything(segments)
    segments.roll(1)
    pack(segments)
    assert {path.suffix for path in tmp_path.iterdir()} == {".packed"}
    following = segments.next

    segments = Segments(tmp_path)

    assert (segments.next, everything(segments)) == (following, before)
    assert segments.last_arrival > 1000
    more(segments, 1)
    assert everything(Segments(tmp_path)).startswith(before)
    assert Segments(tmp_path).next == segments.next > following


def test_trimming_deletes_packed_files(tmp_path: Path) -> None:
    segments = written(tmp_path)
    pack(segments)

    segments.trim(1000 + segments.next)

    assert not list(tmp_path.glob("*.packed"))
    assert len(segments.read(1, 1000, 1 << 30).parts) == 0


def test_numbers_go_on_when_all_was_packed_and_trimmed(tmp_path: Path) -> None:
    """After a restart too: a reader's place stays what it was."""
    segments = written(tmp_path)
    segments.roll(1)
    pack(segments)
    following = segments.next
    segments.trim(1000 + following)
    assert not list(tmp_path.glob("*.packed"))

    assert Segments(tmp_path).next == following


def test_a_segment_that_is_trimmed_while_it_is_packed_stays_away(tmp_path: Path) -> None:
    segments = written(tmp_path)
    segment = segments.cold
    assert segment is not None
    packed = segment.pack()

    segments.trim(1000 + segments.next)
    assert segments.replace(segment, packed)

    assert not list(tmp_path.glob("*.packed"))


@pytest.mark.parametrize("died", ["while it wrote", "before it removed", "between log and index"])
def test_a_process_that_dies_while_it_packs_leaves_everything(tmp_path: Path, died: str) -> None:
    """Whichever of the files are there, each record is there once, and what is left over is removed."""
    segments = written(tmp_path)
    before = everything(segments)
    segment = segments.cold
    assert segment is not None
    name = segment.name
    if died == "while it wrote":
        packed = segment.pack().name
        packed.rename(packed.with_suffix(".packed.draft"))
        os.truncate(packed.with_suffix(".packed.draft"), 1000)
    else:
        segment.pack()
    if died == "between log and index":
        name.unlink()

    again = Segments(tmp_path, segment_bytes=300_000)

    assert everything(again) == before
    pack(again)
    assert everything(Segments(tmp_path)) == before
    assert {path.suffix for path in tmp_path.iterdir()} == {".log", ".packed"}


def test_a_disk_too_full_to_pack_leaves_the_records_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segments = written(tmp_path)
    before = everything(segments)
    segment = segments.cold
    assert segment is not None

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="no space"):
            segment.pack()

    assert not list(tmp_path.glob("*.draft"))
    assert everything(segments) == before
    assert pack(segments)
    assert everything(segments) == before


@pytest.mark.parametrize("suffix", [".log", ".index"])
def test_a_file_that_cannot_be_removed_when_it_is_packed_costs_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    """The log, or its index when the log is gone already: this process and the next read everything."""
    segments = written(tmp_path)
    before = everything(segments)
    unlink = Path.unlink

    def refuse(path: Path, *, missing_ok: bool = False) -> None:
        if path.suffix == suffix:
            raise OSError(errno.EIO, "input/output error")
        unlink(path, missing_ok=missing_ok)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", refuse)
        with pytest.raises(OSError, match="input/output"):
            pack(segments)

    assert everything(segments) == before
    assert everything(Segments(tmp_path, segment_bytes=300_000)) == before


def test_a_flipped_byte_is_found_wherever_it_is_and_named(tmp_path: Path) -> None:
    """Nothing is read that was not written: file and place are told, at the start or when it is read."""
    segments = written(tmp_path / "whole")
    segment = segments.cold
    assert segment is not None
    pack(segments)
    name = segment.name
    whole = name.read_bytes()
    draws = Chance(2).draws("flip")
    places = [0, 20, 40, len(whole) - 1, len(whole) - 8, len(whole) - 100] + [
        draws.randrange(len(whole)) for _ in range(40)
    ]
    for place in places:
        directory = tmp_path / f"flipped-{place}"
        shutil.copytree(tmp_path / "whole", directory, dirs_exist_ok=True)
        changed = bytearray(whole)
        changed[place] ^= 0x10
        (directory / name.name).write_bytes(changed)
        with pytest.raises(DamagedLogError, match=name.name) as caught:
            everything(Segments(directory))
        assert f"damaged at byte {caught.value.position}" in str(caught.value)


@pytest.mark.parametrize("left", [0, 5, 40, 5000])
def test_a_packed_file_that_was_cut_is_named(tmp_path: Path, left: int) -> None:
    """It was whole when it took its place, so that a short one is damage and no torn write."""
    segments = written(tmp_path)
    segment = segments.cold
    assert segment is not None
    pack(segments)
    os.truncate(segment.name, left)

    with pytest.raises(DamagedLogError, match=segment.name.name):
        Segments(tmp_path)


def test_an_engine_packs_by_itself_and_on_demand(tmp_path: Path) -> None:
    """Records written before and after are read as they were, by iterator too."""
    clock = Clock()
    engine = Engine(tmp_path, clock, Events(clock), segment_bytes=200_000)
    engine.call("CreateStream", {"StreamName": "s", "ShardCount": 1}, SCOPE)

    def put(start: int) -> None:
        records = [{"Data": b"%06d" % (start + i) * 200, "PartitionKey": "k"} for i in range(500)]
        engine.call("PutRecords", {"StreamName": "s", "Records": records}, SCOPE)

    for start in range(0, 3000, 500):
        put(start)
    engine.pack()
    put(3000)

    assert list(tmp_path.glob("streams/*/*/*.packed"))
    found: list[int] = []
    after = None
    while records := engine.read("s", "shardId-000000000000", after, 97, SCOPE):
        found += [int(record.data[:6]) for record in records]
        after = records[-1].sequence_number
    assert found == list(range(3500))
    engine.close()
