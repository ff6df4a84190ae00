"""What several segments hold is on disk once, and each of them has it for as long as it is there itself."""

from __future__ import annotations

import base64
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.journal import DamagedLogError, Payloads, Segments
from emulator.kinesis.stored_records import data_spans
from emulator.rng import Chance

COUNT, SIZE = 300, 1000


@contextmanager
def opened(root: Path, *, careful: bool = False) -> Iterator[Payloads]:
    payloads = Payloads(root)
    payloads.recover(careful=careful)
    try:
        yield payloads
    finally:
        payloads.close()


def random_data(count: int = COUNT, size: int = SIZE, seed: int = 1) -> list[bytes]:
    draws = Chance(seed).draws("payloads")
    return [draws.randbytes(size) for _ in range(count)]


def line(number: int, data: bytes) -> bytes:
    return b'{"SequenceNumber":"%d","Data":"%b"},\n' % (number, base64.b64encode(data))


def shard(root: Path, name: str) -> Segments:
    return Segments(root / "streams" / name, segment_bytes=100_000)


def put(segments: Segments, records: list[bytes]) -> None:
    for at in range(0, len(records), 7):
        block = records[at : at + 7]
        lines = b"".join(line(segments.next + i, data) for i, data in enumerate(block))
        segments.append(lines, len(block), sum(map(len, block)), 1000 + segments.next)


def pack(segments: Segments) -> None:
    segments.roll(1)
    while (segment := segments.cold) is not None:
        assert segments.replace(segment, segment.pack(data_spans))


def filled(root: Path, name: str, records: list[bytes]) -> Segments:
    segments = shard(root, name)
    put(segments, records)
    pack(segments)
    return segments


def everything(segments: Segments) -> list[bytes]:
    lines: list[bytes] = []
    reached = 1
    while reached < segments.next:
        found = segments.read(reached, 50, 1 << 30)
        lines += b"".join(found.parts).splitlines(keepends=True)
        reached = found.next
    return lines


def expected(records: list[bytes]) -> list[bytes]:
    return [line(number, data) for number, data in enumerate(records, 1)]


def on_disk(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def payload_files(root: Path) -> list[Path]:
    return sorted((root / "payloads").glob("*.payloads"))


def test_what_two_shards_hold_is_on_disk_once(tmp_path: Path) -> None:
    """Of bytes that cannot be compressed; each shard is read as it was, now and after a restart."""
    records = random_data()
    with opened(tmp_path):
        for name in ("a", "b", "c"):
            assert everything(filled(tmp_path, name, records)) == expected(records)
    assert on_disk(tmp_path) < 1.2 * COUNT * SIZE
    with opened(tmp_path) as payloads:
        assert payloads.missing == ()
        for name in ("a", "b", "c"):
            assert everything(shard(tmp_path, name)) == expected(records)


def test_what_was_packed_before_a_restart_is_found_after_it(tmp_path: Path) -> None:
    records = random_data()
    with opened(tmp_path):
        filled(tmp_path, "a", records)
    with opened(tmp_path):
        filled(tmp_path, "b", records)
    assert on_disk(tmp_path) < 1.2 * COUNT * SIZE


@pytest.mark.parametrize("restarted", [False, True])
def test_a_payload_goes_with_the_last_that_has_it(tmp_path: Path, restarted: bool) -> None:
    """A stream that is deleted or trimmed takes nothing from another."""
    records = random_data()
    with opened(tmp_path):
        first = filled(tmp_path, "a", records)
        second = filled(tmp_path, "b", records)
        if not restarted:
            first.delete()
            assert everything(second) == expected(records)
            second.trim(1000 + second.next)
            assert payload_files(tmp_path) == []
    if restarted:
        with opened(tmp_path):
            shard(tmp_path, "a").delete()
            assert everything(shard(tmp_path, "b")) == expected(records)
        with opened(tmp_path):
            shard(tmp_path, "b").delete()
            assert payload_files(tmp_path) == []


def test_what_nothing_refers_to_is_removed_at_a_start(tmp_path: Path) -> None:
    """A process that died left a file of which no segment knows, and one that it had not finished."""
    with opened(tmp_path) as payloads:
        everything(filled(tmp_path, "a", random_data(20)))
        kept = payload_files(tmp_path)
        file = payloads.create_file()
        file.finish()
        (tmp_path / "payloads" / "0000000000000009.payloads.draft").write_bytes(b"half")
    with opened(tmp_path):
        assert sorted((tmp_path / "payloads").iterdir()) == kept


def test_what_nothing_refers_to_is_put_aside_where_something_was_lost(tmp_path: Path) -> None:
    """What referred to it may be what was lost."""
    with opened(tmp_path):
        filled(tmp_path, "a", random_data(20))
    (path,) = payload_files(tmp_path)
    content = path.read_bytes()
    shutil.rmtree(tmp_path / "streams")
    with opened(tmp_path, careful=True):
        assert payload_files(tmp_path) == []
        assert (tmp_path / "put-aside" / "1" / "payloads" / path.name).read_bytes() == content


def test_nothing_is_removed_while_a_segment_cannot_be_read(tmp_path: Path) -> None:
    with opened(tmp_path):
        filled(tmp_path, "a", random_data(20))
    before = payload_files(tmp_path)
    (packed,) = tmp_path.rglob("*.packed")
    os.truncate(packed, 30)
    with opened(tmp_path):
        assert payload_files(tmp_path) == before


def test_what_was_put_aside_keeps_what_it_refers_to(tmp_path: Path) -> None:
    with opened(tmp_path):
        filled(tmp_path, "a", random_data(20))
    (tmp_path / "put-aside" / "1").mkdir(parents=True)
    (tmp_path / "streams").rename(tmp_path / "put-aside" / "1" / "streams")
    with opened(tmp_path) as payloads:
        assert len(payload_files(tmp_path)) == 1
        assert payloads.missing == ()


@pytest.mark.parametrize("how", ["is missing", "is empty", "holds nothing but zeros"])
def test_a_payload_file_that_is_lost_is_told(tmp_path: Path, how: str) -> None:
    """And takes nothing with it that was in another one; nothing is ever read that was not written."""
    lost, whole = random_data(30, seed=1), random_data(30, seed=2)
    with opened(tmp_path):
        filled(tmp_path, "a", lost)
        filled(tmp_path, "b", whole)
    path = payload_files(tmp_path)[0]
    size = path.stat().st_size
    path.unlink()
    if how != "is missing":
        path.write_bytes(b"" if how == "is empty" else bytes(size))
    with opened(tmp_path) as payloads:
        assert [(missing.path, missing.how) for missing in payloads.missing] == [(path, how)]
        assert everything(shard(tmp_path, "b")) == expected(whole)
        with pytest.raises(DamagedLogError, match=path.name):
            everything(shard(tmp_path, "a"))
        # What comes again is kept anew: what cannot be read is no copy.
        assert everything(filled(tmp_path, "c", lost)) == expected(lost)
        assert payload_files(tmp_path)[-1] > path


def test_a_flipped_byte_of_a_payload_file_is_found_wherever_it_is(tmp_path: Path) -> None:
    """File and byte are named; a copy that is packed afterwards has its own."""
    records = random_data()
    with opened(tmp_path):
        filled(tmp_path, "a", records)
    path = payload_files(tmp_path)[0]
    whole = path.read_bytes()
    draws = Chance(3).draws("flip")
    for place in [
        0,
        20,
        40,
        len(whole) - 1,
        len(whole) - 100,
        *(draws.randrange(len(whole)) for _ in range(9)),
    ]:
        changed = bytearray(whole)
        changed[place] ^= 0x10
        path.write_bytes(changed)
        with opened(tmp_path):
            with pytest.raises(DamagedLogError, match=path.name):
                everything(shard(tmp_path, "a"))
            other = filled(tmp_path, "b", records)
            assert everything(other) == expected(records)
            other.delete()


def test_payloads_that_only_look_alike_are_kept_apart(tmp_path: Path) -> None:
    """They have one checksum and one length: it is their bytes that are compared."""
    first = b"%0100d" % 0
    second = bytes(a ^ b for a, b in zip(first, _same_checksum(100), strict=True))
    assert first != second
    with opened(tmp_path):
        filled(tmp_path, "a", [first])
        assert everything(filled(tmp_path, "b", [second, first])) == expected([second, first])
        assert everything(shard(tmp_path, "a")) == expected([first])


def _same_checksum(length: int) -> bytes:
    """What can be added, bit for bit, to anything of this length without changing its CRC-32."""
    polynomial = 0x1_DB71_0641
    return polynomial.to_bytes(5, "little").ljust(length, b"\0")


@pytest.mark.parametrize("died", ["before the segment", "before the log went"])
def test_a_process_that_dies_while_it_packs_leaves_everything_once(tmp_path: Path, died: str) -> None:
    records = random_data(30)
    with opened(tmp_path):
        segments = shard(tmp_path, "a")
        put(segments, records)
        segments.roll(1)
        assert segments.cold is not None
        packed = segments.cold.pack(data_spans).name
        if died == "before the segment":
            packed.unlink()
    with opened(tmp_path) as payloads:
        assert payload_files(tmp_path) == []
        assert payloads.missing == ()
        again = shard(tmp_path, "a")
        assert everything(again) == expected(records)
        pack(again)
        assert everything(again) == expected(records)


@pytest.mark.parametrize("calls", [0, 1, 2, 3])
def test_a_disk_too_full_to_pack_leaves_no_payload_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """Whether it is the payloads that find no space, or the segment after them."""
    records = random_data(30)
    flushed = os.fsync
    left = iter(range(calls))

    def full(descriptor: int) -> None:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "no space")
        flushed(descriptor)

    with opened(tmp_path):
        segments = shard(tmp_path, "a")
        put(segments, records)
        segments.roll(1)
        segment = segments.cold
        assert segment is not None
        with monkeypatch.context() as patched:
            patched.setattr("os.fsync", full)
            with pytest.raises(OSError, match="no space"):
                segment.pack(data_spans)
        assert list((tmp_path / "payloads").iterdir()) == []
        assert everything(segments) == expected(records)
        pack(segments)
        assert everything(segments) == expected(records)


def test_little_of_a_file_does_not_keep_all_of_it(tmp_path: Path) -> None:
    """Who shares one message of many has it alone, so that the others can go."""
    records = random_data(2000, 100)
    with opened(tmp_path):
        first = filled(tmp_path, "a", records)
        second = filled(tmp_path, "b", records[:1])
        assert sum(path.stat().st_size for path in payload_files(tmp_path)) > 2000 * 100
        first.delete()
        assert sum(path.stat().st_size for path in payload_files(tmp_path)) < 1000
        assert everything(second) == expected(records[:1])


SIZES = st.sampled_from([0, 1, 40, 47, 48, 49, 1000, 49_151, 49_152, 49_153, 100_000, 196_608, 300_000])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(SIZES, st.integers(0, 3)), min_size=1, max_size=12), st.data())
def test_records_of_any_size_are_read_from_any_place_as_before(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Before packing, after it, and of the copy that only refers to the first."""
    root = tmp_path_factory.mktemp("sizes")
    records = [Chance(seed).draws("sizes", str(size)).randbytes(size) for size, seed in sizes]
    lines = [line(number, each) for number, each in enumerate(records, 1)]
    with opened(root):
        for name in ("a", "b"):
            segments = Segments(root / name, segment_bytes=data.draw(st.sampled_from([1, 1 << 19, 1 << 24])))
            put(segments, records)
            pack(segments)
            first = data.draw(st.integers(1, len(lines)))
            count = data.draw(st.integers(1, len(lines)))
            found = segments.read(first, count, 1 << 30)
            assert b"".join(found.parts) == b"".join(lines[first - 1 : first - 1 + found.lines])
            assert everything(segments) == lines


@pytest.mark.parametrize(
    "text",
    [
        b'{"Data":"%b"}\n' % (b"A" * 99),
        b'{"Data":"%b=="}\n' % (b"A" * 97 + b"B"),
        b'{"Data":"%b"}\n' % (b"*" * 100),
        b'{"Data":"%b\n' % (b"A" * 100),
        b'"Data":"' * 50 + b"\n",
        b"\0\xff" * 200 + b"\n",
    ],
)
def test_lines_that_are_not_what_they_look_like_are_kept_as_they_are(tmp_path: Path, text: bytes) -> None:
    """Base64 that nobody would write so, a text without an end: packing loses nothing of anything."""
    with opened(tmp_path):
        segments = shard(tmp_path, "a")
        segments.append(text, 1, len(text), 1000)
        pack(segments)
        assert everything(segments) == [text]


def test_a_segment_that_was_compressed_by_an_earlier_version_is_read(tmp_path: Path) -> None:
    """As that version wrote it, byte for byte: beside payload files, and where there are none."""
    path = tmp_path / "streams" / "a" / f"{1:016d}.packed"
    path.parent.mkdir(parents=True)
    path.write_bytes(base64.b85decode(PACKED_BEFORE))
    written = [
        b'{"SequenceNumber":"%d","Data":"%b"},\n' % (n, base64.b64encode(b"%03d" % n * 40))
        for n in range(4)
        for _ in range(2)
    ]
    assert everything(shard(tmp_path, "a"))[:8] == written
    with opened(tmp_path):
        assert everything(shard(tmp_path, "a"))[:8] == written


PACKED_BEFORE = (
    "$N&HU^hK}c0RR91pauW{00000000000000000000&*7A$cwTE^WMIe%mVD2|z`*c<fq{XM0RmnygGdI3A2$DLtCfON3rkb;l2iRkbCXh"
    "wl&q8tlysC_5=#=5tdx9R9LonYR;tzE8u~r}#gn&}?rT^)L8FJ^C6v)3F^vg}FAY)RslwOAanNEM@ifGI0E(xhtG64#;)xX$ISdR8ub}Z"
    "1^L088mUuEk@nxm2i{qfhIO1uD`2ZA8J5+pSVDZEbiW~+8hS$(|x><Nu97{YIqxiDQ*Tr$rVjS@_#C!k%XATEW7ytkO3Wi{N0RR91zykmP"
    "2><{900000>jMA)00000lRiR(cwS?Gf(2|Kl7WE{L?D3|%n%j;98Uq0>;M1&00000"
)
"""Segment 1 of lines like these, as it was compressed before there were payload files."""


def test_the_number_of_a_payload_file_that_is_lost_is_not_given_again(tmp_path: Path) -> None:
    """It is never another one by mistake."""
    with opened(tmp_path):
        filled(tmp_path, "a", random_data(10))
    payload_files(tmp_path)[0].unlink()
    with opened(tmp_path):
        filled(tmp_path, "b", random_data(10, seed=2))
        with pytest.raises(DamagedLogError, match="missing"):
            everything(shard(tmp_path, "a"))
