"""A power cut, wherever: with ``--fsync`` nothing that was answered is lost, and nothing torn is served."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from emulator.amqp.message import Message
from emulator.amqp.store.message_file import MESSAGES, MessageOnDisk
from emulator.amqp.store.message_store import MessageStore, Rests
from emulator.amqp.turn import Turn
from emulator.journal import Payloads, Segments
from emulator.kinesis.stored_records import data_spans
from emulator.rng import Draws
from tests.docs.page_parts import renew_part
from tests.power.cut_runs import DurableStore, cut_everywhere, idle_disk, temporary_folder
from tests.power.durable_stores import STORES
from tests.power.failing_calls import fail_everywhere
from tests.power.power_cuts import Disk, write
from tests.power.power_report import PAGE, read_results, render
from tests.power.recorded_disk import RecordedDisk

SEED = 1
SLOW = "services"
"""It is read by a whole sandbox, which takes a quarter of a second."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store" not in metafunc.fixturenames:
        return
    stores = [each for each in STORES if each.name != SLOW or "most" in metafunc.fixturenames]
    metafunc.parametrize("store", stores, ids=lambda store: store.name.replace(" ", "-"))
    if "fsync" in metafunc.fixturenames:
        metafunc.parametrize("fsync", [True, False], ids=["fsync", "without"])


def judge_cuts(store: DurableStore, most: int | None, seed: int = SEED, *, fsync: bool) -> None:
    found = cut_everywhere(store, seed, fsync=fsync, most=most)
    assert found.wrong == []
    assert found.states > found.places


def test_a_cut_leaves_what_was_promised(store: DurableStore, *, fsync: bool) -> None:
    """At some places of each workload; every place is for the long tests."""
    judge_cuts(store, 5, fsync=fsync)


def test_a_call_that_fails_is_refused_and_nothing_else(store: DurableStore) -> None:
    """A write, flush, opening or renaming that fails costs what it was for: what comes later is stored."""
    assert fail_everywhere(store, SEED, most=4).wrong == []


def test_a_message_outlives_a_cut_though_its_file_is_packed_before_it_is_flushed(tmp_path: Path) -> None:
    """The log that was removed may be there again, as it was at its last flush, and counts."""
    recorded, left = RecordedDisk(tmp_path), Disk()
    with idle_disk(), recorded.recording():
        store = MessageStore(tmp_path, fsync=True, file_bytes=1 << 20, rests=Rests(sparse=0, full=0))
        for number, size in enumerate((10, 1 << 20, 10)):
            body = bytes(size)
            message = Message("", ("q",), b"", body, persistent=True)
            store.append([MessageOnDisk([(1, number, None)], message)], 1)
            if not number:
                store.begin_flush()()
        turn = Turn()
        while (tmp_path / f"00000001{MESSAGES}").exists():
            turn.begin()
            store.proceed(turn)
        store.begin_flush()()
        store.close()
    for change in recorded.changes:
        left.take(change)
    with temporary_folder() as folder:
        write(left.cut("dropped", Draws(SEED)), folder)
        found = MessageStore(folder).recover()
        assert [entry.number for _, entry, _, _ in found] == [0, 1, 2]


@pytest.mark.parametrize("is_start", [False, True], ids=["when it goes", "at a start"])
def test_a_payload_outlives_what_refers_to_it(tmp_path: Path, *, is_start: bool) -> None:
    """A packed file that was removed may be there again, and is read: so is what it refers to."""
    recorded, disk = RecordedDisk(tmp_path), Disk()
    with idle_disk(), recorded.recording():
        with closing(Payloads(tmp_path, fsync=True)):
            segments = Segments(tmp_path / "streams" / "0", fsync=True, segment_bytes=10_000)
            line = b'{"SequenceNumber":"1","Data":"%b"},\n' % (b"QUJD" * 3000)
            segments.append(line, 1, len(line), 1)
            segments.roll(1)
            assert (cold := segments.cold) is not None
            assert segments.replace(cold, cold.pack(data_spans))
            if not is_start:
                segments.delete()
        if is_start:
            next(tmp_path.rglob("*.packed")).unlink()
            with closing(Payloads(tmp_path, fsync=True)) as payloads:
                payloads.recover(careful=False)
    assert not list(tmp_path.rglob("*.payloads"))
    for change in recorded.changes:
        disk.take(change)
    for seed in range(30):
        left = disk.cut("scattered", Draws(seed))
        if any(name.endswith(".packed") for name in left):
            assert any(name.endswith(".payloads") for name in left)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("most", [40])
def test_cuts_at_more_places(store: DurableStore, most: int, *, fsync: bool) -> None:
    judge_cuts(store, most, seed=SEED + 1, fsync=fsync)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("most", [25])
def test_more_calls_that_fail(store: DurableStore, most: int) -> None:
    assert fail_everywhere(store, SEED + 1, most=most).wrong == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("most", [None])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cuts_at_every_place(store: DurableStore, most: None, seed: int, *, fsync: bool) -> None:
    judge_cuts(store, most, seed=seed, fsync=fsync)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("most", [None])
def test_every_call_that_fails(store: DurableStore, most: None) -> None:
    assert fail_everywhere(store, SEED, most=most).wrong == []


def test_the_page_has_the_numbers_of_the_last_run() -> None:
    """And in that nothing was wrong; ``python -m tests.power`` makes both."""
    reports = read_results()
    page = PAGE.read_text(encoding="utf-8")
    assert page == renew_part(page, "power", render(reports))
    assert not any(each.wrong for each in reports)
    assert {each.name for each in STORES} <= {each.store for each in reports}
