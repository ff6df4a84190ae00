"""What is old, or too much, is removed: when asked, and by retention, on the sandbox's clock."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import Log
from emulator.settings.setting_errors import SettingsError
from emulator.settings.settings import Settings, read_settings
from rdss_sandbox.client import AsyncClient, Client, RefusedError
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.pruning import Prune

DAY = 86_400.0


@pytest.fixture
def emulator() -> Iterator[Embedded]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as running:
        yield running


@pytest.fixture
def client(emulator: Embedded) -> Iterator[Client]:
    with Client(emulator.control) as client:
        yield client


def _send(client: Client, emulator: Embedded, count: int = 1) -> None:
    """Have as many messages in the audit bucket, in an object of their own."""
    for number in range(count):
        emulator.components.streams.call(
            "PutRecord",
            {"StreamName": "output", "PartitionKey": "k", "Data": b'{"number": %d}' % number},
            emulator.components.home,
        )
    client.drain_audit()


def _keys(client: Client, bucket: str = "rdss-audit") -> list[str]:
    return [row.key for row in client.objects(bucket).objects]


def _removed(client: Client, wanted: Prune) -> dict[str, int]:
    return {part.name: part.removed for part in client.prune(wanted).parts}


def test_objects_of_the_audit_log_go_by_their_age_on_the_sandboxs_clock(
    client: Client, emulator: Embedded
) -> None:
    """A day that the clock is advanced by makes them a day older; what came after it stays."""
    _send(client, emulator)
    old = _keys(client)
    client.change_clock(ClockChange("advance", seconds=DAY))
    _send(client, emulator)

    assert _removed(client, Prune(older_than=DAY / 2))["rdss-audit"] == 1
    left = _keys(client)

    assert len(left) == 1
    assert not set(left) & set(old)


def test_a_dry_run_says_the_same_and_removes_nothing(client: Client, emulator: Embedded) -> None:
    _send(client, emulator)
    before = _keys(client)

    would = client.prune(Prune(keep_bytes=0, dry_run=True))

    assert _keys(client) == before
    assert client.prune(Prune(keep_bytes=0)).parts[0] == would.parts[0]
    assert would.parts[0].removed == 1
    assert would.parts[0].bytes > 0
    assert _keys(client) == []


def test_the_newest_objects_stay_within_a_size(client: Client, emulator: Embedded) -> None:
    """Three objects of one size, and room for two."""
    for _ in range(3):
        _send(client, emulator)
        client.change_clock(ClockChange("advance", seconds=60))
    rows = client.objects("rdss-audit").objects
    room = max(row.size for row in rows) * 2

    assert _removed(client, Prune(keep_bytes=room))["rdss-audit"] == 1
    oldest = min(rows, key=lambda row: row.modified)
    assert set(_keys(client)) == {row.key for row in rows} - {oldest.key}


def test_what_users_put_is_removed_only_where_they_name_the_bucket(
    client: Client, emulator: Embedded
) -> None:
    """In the audit's bucket, too: only what was loaded from a stream is taken for the sandbox's own."""
    s3 = emulator.components.buckets.client()
    s3.create_bucket(Bucket="mine")
    s3.put_object(Bucket="mine", Key="thesis", Body=b"x")
    s3.put_object(Bucket="rdss-audit", Key="notes", Body=b"x")

    client.prune(Prune(keep_bytes=0))
    assert (_keys(client, "mine"), _keys(client)) == (["thesis"], ["notes"])

    assert _removed(client, Prune(keep_bytes=0, buckets=("mine",))) == {"mine": 1}
    assert (_keys(client, "mine"), _keys(client)) == ([], ["notes"])


def test_a_bucket_that_is_not_there_is_refused(client: Client, emulator: Embedded) -> None:
    emulator.components.buckets.client().list_buckets()

    with pytest.raises(RefusedError, match="no bucket nowhere"):
        client.prune(Prune(keep_bytes=0, buckets=("nowhere",)))


def test_asking_for_nothing_in_particular_is_refused(client: Client) -> None:
    with pytest.raises(RefusedError, match="older_than"):
        client.prune(Prune())


def test_nothing_is_imported_to_prune_buckets_that_nobody_used(client: Client, emulator: Embedded) -> None:
    """Without a single object only events are looked at."""
    assert [part.name for part in client.prune(Prune(older_than=DAY)).parts] == ["events"]
    assert not emulator.components.buckets.started


def test_the_asynchronous_client_prunes_too(emulator: Embedded) -> None:
    async def prune() -> list[str]:
        async with AsyncClient(emulator.control) as client:
            return [part.name for part in (await client.prune(Prune(older_than=DAY))).parts]

    assert asyncio.run(prune()) == ["events"]


def test_retention_is_applied_on_the_sandboxs_clock() -> None:
    """Nobody asks: as soon as the clock is a week on, what is older is gone."""
    settings = Settings(aws_port=0, control_port=0, data_dir=None, retention=7 * DAY)
    with embedded(settings) as emulator, Client(emulator.control) as client:
        _send(client, emulator)
        pruned = threading.Event()

        def note(event: object) -> None:
            if (
                getattr(event, "kind", "") == "pruned"
                and "rdss-audit" in getattr(event, "fields", {})["parts"]
            ):
                pruned.set()

        with emulator.components.events.subscribed(note):
            client.change_clock(ClockChange("advance", seconds=6 * DAY))
            assert len(_keys(client)) == 1
            client.change_clock(ClockChange("advance", seconds=2 * DAY))
            assert pruned.wait(20)
        assert _keys(client) == []


@pytest.mark.parametrize("written", ["soon", "-1d"])
def test_a_retention_that_is_no_length_of_time_is_refused(written: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="retention"):
        read_settings({"retention": written}, {}, tmp_path)


def test_retention_is_read_in_words(tmp_path: Path) -> None:
    assert read_settings({}, {"SANDBOX_RETENTION": "7d"}, tmp_path).retention == 7 * DAY


def test_events_go_by_age_and_the_log_shrinks_by_them(tmp_path: Path) -> None:
    """The newest stays, numbers go on, and the next process finds what was kept and no more."""
    clock = Clock(frozen_at=1000.0)
    log = Log(tmp_path / "events.log")
    events = Events(clock, log, keep=100)
    for number in range(2000):
        events.emit("record.put", n=number)
    clock.advance(DAY)
    for number in range(700):
        events.emit("record.put", n=number)
    before = log.path.stat().st_size

    removed, size, kept = events.prune(DAY / 2, None)

    assert (removed, kept) == (2000, 700)
    assert size > 0
    assert log.path.stat().st_size < before / 2
    assert [event.id for event in events.since(0, limit=3)] == [2001, 2002, 2003]
    assert [event.id for event in events.since(2600, limit=2)] == [2601, 2602]
    assert events.emit("record.put").id == 2701
    log.close()
    again = Events(clock, Log(tmp_path / "events.log"), keep=100)
    assert [event.id for event in again.since(0, limit=5000)] == list(range(2001, 2702))
    assert [event.id for event in again.since(2500, limit=1)] == [2501]


def test_events_go_by_size_and_the_newest_stays(tmp_path: Path) -> None:
    events = Events(Clock(frozen_at=1000.0), Log(tmp_path / "events.log"))
    for number in range(100):
        events.emit("record.put", n=number)

    assert events.prune(None, 0, dry_run=True)[0] == 99
    assert len(events.since(0)) == 100
    assert events.prune(None, 0)[0] == 99
    assert [event.id for event in events.since(0)] == [100]


def test_events_are_emitted_and_read_while_others_are_removed(tmp_path: Path) -> None:
    """No event is lost or damaged between two copies of the log."""
    events = Events(Clock(frozen_at=1000.0), Log(tmp_path / "events.log"), keep=10)
    for _ in range(2000):
        events.emit("record.put")
    stop = threading.Event()
    wrong: list[BaseException] = []

    def busy() -> None:
        try:
            while not stop.is_set():
                events.emit("record.put")
                found = [event.id for event in events.since(max(0, events.last - 500), limit=1000)]
                assert found == sorted(found)
        except BaseException as error:  # noqa: BLE001 -- told to the test
            wrong.append(error)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(20):
            events.prune(None, 60_000)
    finally:
        stop.set()
        thread.join()

    assert not wrong
    ids = [event.id for event in events.since(0, limit=1_000_000)]
    assert ids == list(range(ids[0], events.last + 1))
