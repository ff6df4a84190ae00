"""Segments: numbered lines in blocks, read from anywhere, trimmed by age, found again after a restart."""

import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.journal import DamagedLogError, Segments
from emulator.journal.frames import header


def line(number: int, size: int = 20) -> bytes:
    return b"%08d" % number + b"x" * (size - 9) + b"\n"


def put(segments: Segments, count: int, arrival: int, size: int = 20) -> None:
    first = segments.next
    payload = b"".join(line(first + i, size) for i in range(count))
    segments.append(payload, count, size * count, arrival)


def numbers(segments: Segments, ordinal: int, limit: int = 1000, max_size: int = 1 << 20) -> list[int]:
    found = segments.read(ordinal, limit, max_size)
    lines = b"".join(found.parts).splitlines()
    assert found.lines == len(lines)
    if lines:
        assert found.next == int(lines[-1][:8]) + 1
    return [int(line[:8]) for line in lines]


@pytest.fixture(params=["disk", "memory"])
def directory(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "shard" if request.param == "disk" else None


def test_lines_are_read_from_any_number_on_and_cut_at_any_limit(directory: Path | None) -> None:
    """Reading starts at the line asked for and stops at the limit, within blocks and across them."""
    segments = Segments(directory, segment_bytes=600)
    for count in (1, 7, 3, 1, 1, 30, 2):
        put(segments, count, arrival=1000)

    for start in range(1, 47):
        for limit in (1, 2, 5, 100):
            assert numbers(segments, start, limit) == list(range(start, min(start + limit, 46)))
    segments.delete()


def test_reading_stops_at_the_size_asked_for_but_gives_one_line_at_least(directory: Path | None) -> None:
    """A limit on bytes is kept to the line, and a single line beyond it still comes."""
    segments = Segments(directory)
    put(segments, 10, 1000, size=100)
    put(segments, 10, 1000, size=100)

    assert numbers(segments, 1, max_size=350) == [1, 2, 3]
    assert numbers(segments, 8, max_size=350) == [8, 9, 10]
    assert numbers(segments, 9, max_size=350) == [9, 10, 11]
    assert numbers(segments, 4, max_size=10) == [4]
    segments.delete()


def test_a_time_finds_the_first_line_that_arrived_then_or_later(directory: Path | None) -> None:
    """Each block's lines share an arrival; a time between two finds the later."""
    segments = Segments(directory, segment_bytes=300)
    for arrival in range(1000, 2000, 100):
        put(segments, 3, arrival)

    assert segments.first_at_or_after(0) == 1
    assert segments.first_at_or_after(1000) == 1
    assert segments.first_at_or_after(1001) == 4
    assert segments.first_at_or_after(1900) == 28
    assert segments.first_at_or_after(1901) == 31
    assert segments.arrival_of(4) == 1100
    assert segments.arrival_of(31) is None
    segments.delete()


def test_trimming_forgets_what_arrived_before_and_deletes_files_that_hold_nothing_else(
    tmp_path: Path,
) -> None:
    """Lines before the cut are gone, also for a reader that was in the middle of them; the disk gets room."""
    segments = Segments(tmp_path, segment_bytes=300)
    for arrival in range(1000, 2000, 100):
        put(segments, 3, arrival)
    files = len(list(tmp_path.glob("*.log")))

    segments.trim(1650)

    assert segments.first == 22
    assert numbers(segments, 1, 2) == [22, 23]
    assert len(list(tmp_path.glob("*.log"))) < files
    segments.trim(5000)
    assert (segments.first, segments.next) == (31, 31)
    put(segments, 1, 5001)
    assert numbers(segments, 1) == [31]
    segments.close()


def test_a_restart_finds_everything_and_goes_on(tmp_path: Path) -> None:
    """Numbers, arrivals and lines are the same after the files are opened again, sealed or not."""
    segments = Segments(tmp_path, segment_bytes=500)
    for arrival in range(1000, 3000, 100):
        put(segments, 3, arrival)
    before = numbers(segments, 1)
    segments.close()
    min(tmp_path.glob("*.index")).unlink()

    segments = Segments(tmp_path, segment_bytes=500)

    assert numbers(segments, 1) == before == list(range(1, 61))
    assert (segments.first, segments.next, segments.last_arrival, segments.size) == (1, 61, 2900, 1200)
    assert segments.first_at_or_after(1950) == 31
    put(segments, 2, 3000)
    assert numbers(segments, 60) == [60, 61, 62]
    segments.close()


@given(cut=st.integers(0, 600))
def test_a_torn_block_is_cut_whole(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """What is left of a half-written block is removed, and the numbers go on without a gap."""
    directory = tmp_path_factory.mktemp("shard")
    segments = Segments(directory)
    for arrival in (1000, 1100, 1200):
        put(segments, 5, arrival)
    segments.close()
    path = next(directory.glob("*.log"))
    os.truncate(path, min(cut, path.stat().st_size))

    segments = Segments(directory)

    assert (segments.next - 1) % 5 == 0
    put(segments, 1, 1300)
    assert numbers(segments, 1) == list(range(1, segments.next))
    segments.close()


def test_damage_in_a_block_is_named_and_nothing_of_it_is_given_out(tmp_path: Path) -> None:
    """A changed byte in a sealed file is found on reading, in the last file and a shorter one on opening."""
    segments = Segments(tmp_path, segment_bytes=300)
    for _ in range(6):
        put(segments, 5, 1000)
    segments.close()
    sealed, *_, last = sorted(tmp_path.glob("*.log"))
    raw = bytearray(sealed.read_bytes())
    raw[60] ^= 1
    sealed.write_bytes(raw)

    segments = Segments(tmp_path, segment_bytes=300)
    for start in (1, 3):
        with pytest.raises(DamagedLogError, match=f"{sealed.name} is damaged at byte 0"):
            segments.read(start, 1, 1 << 20)
    os.truncate(sealed, sealed.stat().st_size - 1)
    with pytest.raises(DamagedLogError, match="the file ends before the block does"):
        segments.read(6, 100, 1 << 20)
    segments.close()

    with pytest.raises(DamagedLogError, match=f"{sealed.name} is damaged at byte 0"):
        Segments(tmp_path, segment_bytes=300)
    raw[60] ^= 1
    sealed.write_bytes(raw)
    last.write_bytes(b"not a block at all, but longer than a header is")
    with pytest.raises(DamagedLogError, match=last.name):
        Segments(tmp_path, segment_bytes=300)


def test_a_block_of_fewer_records_than_its_header_says_is_damage(tmp_path: Path) -> None:
    """Its checksums may be right all the same, by chance or by a faulty writer."""
    payload = line(1) + line(2)
    forged = header(payload, lines=500, size=40, ordinal=1, arrival=1000) + payload
    (tmp_path / "0000000000000001.log").write_bytes(forged)
    segments = Segments(tmp_path)

    assert numbers(segments, 1, limit=1) == [1]
    for start, limit in ((1, 100), (2, 100), (400, 1)):
        with pytest.raises(DamagedLogError, match=r"has fewer records than the 500 that its header says"):
            segments.read(start, limit, 1 << 20)
    segments.close()


def test_the_index_stays_small_however_many_blocks_there_are(tmp_path: Path) -> None:
    """Ten thousand blocks of one line each cost a few dozen index entries."""
    segments = Segments(tmp_path)
    for i in range(10_000):
        put(segments, 1, 1000 + i, size=100)

    assert len(segments._segments[0]._ordinals) < 40
    assert numbers(segments, 7777, 3) == [7777, 7778, 7779]
    assert segments.first_at_or_after(6000) == 5001
    segments.close()


def test_one_flush_serves_every_writer_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is flushed again that already was."""
    flushed: list[int] = []
    monkeypatch.setattr("emulator.journal.storage.os.fdatasync", flushed.append)
    segments = Segments(tmp_path)
    put(segments, 1, 1000)

    segments.sync()
    segments.sync()
    assert len(flushed) == 1

    put(segments, 1, 1001)
    segments.sync()
    assert len(flushed) == 2
    segments.close()


def test_a_thousand_shards_are_not_stopped_by_the_limit_on_open_files(tmp_path: Path) -> None:
    """The process lets itself have as many open files as it is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/dev/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 20, hard))
    try:
        shards = [Segments(tmp_path / str(i)) for i in range(40)]
        for shard in shards:
            put(shard, 1, 1000)
        for shard in shards:
            shard.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@given(
    blocks=st.lists(st.lists(st.integers(9, 900), min_size=1, max_size=6), min_size=1, max_size=8),
    limit=st.integers(1, 20),
    max_size=st.integers(1, 3000),
)
def test_reading_on_from_where_the_last_read_ended_gives_every_line_once(
    blocks: list[list[int]], limit: int, max_size: int
) -> None:
    """Whatever the sizes of lines, blocks and reads, going on at ``next`` misses and repeats nothing."""
    segments = Segments(None)
    for sizes in blocks:
        first = segments.next
        payload = b"".join(line(first + i, size) for i, size in enumerate(sizes))
        segments.append(payload, len(sizes), sum(sizes), arrival=1)
    read: list[int] = []

    while read[-1:] != [segments.next - 1]:
        read += numbers(segments, len(read) + 1, limit, max_size)

    assert read == list(range(1, segments.next))
