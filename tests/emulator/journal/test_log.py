"""The append-only log: what was appended is there, a torn tail is cut, damage is named."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.journal import DamagedLogError, Log


def test_what_was_appended_is_read_back_in_order_by_the_next_process(tmp_path: Path) -> None:
    """Payloads come back in order, from any position, after the log is opened again."""
    log = Log(tmp_path / "deep" / "a.log")
    positions = [log.append(payload) for payload in (b"one", b"", b"three" * 1000)]
    log.close()

    log = Log(tmp_path / "deep" / "a.log")

    assert list(log.entries()) == list(zip(positions, [b"one", b"", b"three" * 1000], strict=True))
    assert [payload for _, payload in log.entries(positions[1])] == [b"", b"three" * 1000]
    assert log.read(positions[2]) == b"three" * 1000
    log.close()


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=6), st.data())
def test_a_tail_cut_anywhere_loses_only_what_was_not_whole(
    tmp_path_factory: pytest.TempPathFactory, payloads: list[bytes], data: st.DataObject
) -> None:
    """However much is missing, every whole entry before it is kept and appending goes on."""
    path = tmp_path_factory.mktemp("log") / "a.log"
    log = Log(path)
    positions = [log.append(payload) for payload in payloads]
    log.close()
    size = path.stat().st_size
    cut = data.draw(st.integers(0, size))
    os.truncate(path, cut)
    ends = [*positions[1:], size]
    whole = [payload for payload, end in zip(payloads, ends, strict=True) if end <= cut]

    log = Log(path)

    assert [payload for _, payload in log.entries()] == whole
    assert log.torn_bytes == cut - max([0, *(end for end in ends if end <= cut)])
    log.append(b"after")
    assert [payload for _, payload in log.entries()] == [*whole, b"after"]
    log.close()


def test_zeros_that_a_loss_of_power_leaves_at_the_end_are_cut(tmp_path: Path) -> None:
    """A file that grew without its data having been written is a torn tail, not damage."""
    path = tmp_path / "a.log"
    log = Log(path)
    log.append(b"kept")
    log.close()
    with path.open("ab") as file:
        file.write(bytes(100))

    log = Log(path)

    assert [payload for _, payload in log.entries()] == [b"kept"]
    assert log.torn_bytes == 100
    log.close()


@pytest.mark.parametrize("offset", range(0, 45, 4))
def test_a_changed_byte_is_damage_that_names_the_file_and_the_place(tmp_path: Path, offset: int) -> None:
    """A byte changed anywhere in an entry that others follow stops the log from opening, and says where."""
    path = tmp_path / "a.log"
    log = Log(path)
    log.append(b"the first")
    log.append(b"the second")
    log.close()
    raw = bytearray(path.read_bytes())
    raw[offset] ^= 0x41
    path.write_bytes(raw)

    with pytest.raises(DamagedLogError, match="damaged at byte 0") as caught:
        Log(path)

    assert str(path) in str(caught.value)


def test_damage_that_comes_while_the_log_is_open_is_found_on_reading(tmp_path: Path) -> None:
    """An entry that no longer matches its checksum is never handed out."""
    path = tmp_path / "a.log"
    log = Log(path)
    position = log.append(b"the first")
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"X")

    with pytest.raises(DamagedLogError):
        log.read(position)
    with pytest.raises(DamagedLogError):
        log.read(position + 1)
    log.close()


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk is full half-way through, the log is as before and takes the next entry."""
    log = Log(tmp_path / "a.log", fsync=True)
    log.append(b"kept")
    real = os.pwritev

    def half(descriptor: int, parts: list[bytes], position: int) -> int:
        real(descriptor, [parts[0], parts[1][:500]], position)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("emulator.journal.frames.os.pwritev", half)
    with pytest.raises(OSError, match="No space left"):
        log.append(b"lost" * 1000)
    monkeypatch.undo()
    log.append(b"next")

    assert [payload for _, payload in log.entries()] == [b"kept", b"next"]
    log.close()
    log = Log(tmp_path / "a.log")
    assert [payload for _, payload in log.entries()] == [b"kept", b"next"]
    log.close()


def test_an_entry_that_cannot_be_synced_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shorter one is written in its place, and the next process finds no rest of it behind that."""

    def refuse(_descriptor: int) -> None:
        raise OSError(errno.EIO, "input/output error")

    log = Log(tmp_path / "a.log", fsync=True)
    with monkeypatch.context() as patched:
        patched.setattr("emulator.journal.log.sync_data", refuse)
        with pytest.raises(OSError, match="input/output"):
            log.append(b"refused" * 100)
    log.append(b"next")
    log.close()
    again = Log(tmp_path / "a.log")
    assert [payload for _, payload in again.entries()] == [b"next"]
    again.close()


def test_a_rewritten_log_has_only_the_new_payloads_and_takes_more(tmp_path: Path) -> None:
    """What the log held is gone, what is appended to the new one is there for the next process."""
    path = tmp_path / "a.log"
    rewritten = Log(path)
    rewritten.append(b"old")
    rewritten.replace([b"one", b"two"])
    end = rewritten.end
    assert rewritten.append(b"three") == end
    rewritten.close()
    log = Log(path)
    assert [payload for _, payload in log.entries()] == [b"one", b"two", b"three"]
    assert list(tmp_path.iterdir()) == [path]
    log.close()


def test_a_rewriting_that_fails_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    """The disk is full half-way: the open log goes on, and so does the next process."""
    path = tmp_path / "a.log"
    log = Log(path)
    log.append(b"old")

    def payloads() -> Iterator[bytes]:
        yield b"new"
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        log.replace(payloads())
    log.append(b"more")
    log.close()
    again = Log(path)
    assert [payload for _, payload in again.entries()] == [b"old", b"more"]
    assert list(tmp_path.iterdir()) == [path]
    again.close()


def test_a_folder_that_cannot_be_synced_leaves_the_rewritten_log_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new log has its name by then: going on with the old one would lose what is appended."""
    path, fsync = tmp_path / "a.log", os.fsync
    rewritten = Log(path)
    rewritten.append(b"old")

    def refuse_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError("input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    rewritten.replace([b"one"])
    rewritten.append(b"two")
    rewritten.close()
    assert [payload for _, payload in Log(path).entries()] == [b"one", b"two"]


def lacking(path: Path, page: int) -> None:
    """Leave zeros where loss of power did not let a page be written."""
    raw = bytearray(path.read_bytes())
    raw[page * 4096 : (page + 1) * 4096] = bytes(len(raw[page * 4096 : (page + 1) * 4096]))
    path.write_bytes(raw)


@pytest.mark.parametrize("page", [1, 2, 3])
def test_an_entry_that_lacks_a_page_is_a_torn_tail(page: int, tmp_path: Path) -> None:
    """Whichever page of it did not reach the disk: it is cut, and counted."""
    log = Log(tmp_path / "a.log")
    log.append(b"x" * 4000)
    log.append(b"y" * 12_000)
    log.close()
    lacking(tmp_path / "a.log", page)
    log = Log(tmp_path / "a.log")
    assert [payload for _, payload in log.entries()] == [b"x" * 4000]
    assert log.torn_bytes > 12_000
    log.close()
    assert not (tmp_path / "put-aside").exists()


def test_whole_entries_behind_a_page_that_was_never_written_are_put_aside(tmp_path: Path) -> None:
    """They are cut with the entry that lacks it, and the file as it was is kept."""
    log = Log(tmp_path / "a.log")
    for letter in (b"x", b"y", b"z"):
        log.append(letter * 5000)
    log.close()
    lacking(tmp_path / "a.log", 1)
    before = (tmp_path / "a.log").read_bytes()
    log = Log(tmp_path / "a.log")
    assert list(log.entries()) == []
    log.close()
    (kept,) = [each for each in (tmp_path / "put-aside").rglob("*") if each.is_file()]
    assert kept.read_bytes() == before


def test_a_byte_that_changed_is_damage_even_at_the_end(tmp_path: Path) -> None:
    """It was written once, so it is not cut without a word."""
    log = Log(tmp_path / "a.log")
    log.append(b"x" * 9000)
    log.close()
    raw = bytearray((tmp_path / "a.log").read_bytes())
    raw[5000] ^= 1
    (tmp_path / "a.log").write_bytes(raw)
    with pytest.raises(DamagedLogError):
        Log(tmp_path / "a.log")
