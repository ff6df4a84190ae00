"""Stores of the emulator, each with a workload that is cut: events, maps, streams, snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from emulator.assembly.damage import keep_damage, report_losses
from emulator.assembly.foundation import Foundation, open_foundation
from emulator.clock import Clock
from emulator.journal import DamagedLogError, KeyedLog
from emulator.kinesis import Engine, KinesisError
from emulator.rng import Draws
from emulator.settings.settings import Settings
from emulator.snapshots.snapshot_errors import SnapshotError
from emulator.snapshots.snapshot_store import SnapshotStore
from rdss_sandbox.shapes.snapshots import Snapshot
from schemas.bound import CONTRACT
from tests.power.cut_runs import Found
from tests.power.recorded_disk import RecordedDisk, UnstoredError

NOW: Final = 1_800_000_000.0
HOUR: Final = 3600.0


@contextmanager
def opened(
    folder: Path, *, fsync: bool, told: list[str] | None = None, now: float = NOW
) -> Iterator[Foundation]:
    """A data directory as a sandbox opens it; the lines that the start says go to ``told``."""
    settings = Settings(data_dir=folder, fsync=fsync)
    lines = [] if told is None else told
    with (
        open_foundation(settings, Clock(frozen_at=now), CONTRACT) as made,
        made.events.subscribed(partial(keep_damage, lines)),
    ):
        assert made.directory is not None
        assert made.log is not None
        report_losses(made.directory, made.events, made.log)
        yield made


class EventStore:
    """The events, which are pruned."""

    name = "events"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        with opened(disk.folder, fsync=fsync) as made:
            for number in range(1, 31):
                text = f"{number} " + "x" * chance.choice((3, 6000))
                with disk.asking({f"event {number}": text.encode()}):
                    made.events.emit("lived.through", text=text)
                    if made.events.trouble:
                        # It is held until the disk takes it, which this process does not tell.
                        raise UnstoredError
                if number == 20:
                    with disk.asking():
                        disk.let({f"event {gone}": None for gone in range(1, 20)})
                        made.events.prune(None, 25_000)

    def read(self, folder: Path, *, fsync: bool) -> Found:
        told: list[str] = []
        try:
            with opened(folder, fsync=fsync, told=told) as made:
                found = [each.fields["text"] for each in made.events.since(0, 1000) if "text" in each.fields]
        except DamagedLogError as error:
            return Found({}, told, str(error))
        return Found({f"event {text.split()[0]}": text.encode() for text in found}, told)


class KeyedLogs:
    """A log of keys and values, as of checkpoints and of services, which is written anew now and then."""

    name = "maps"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        living: dict[str, bytes | None] = {}
        with opened(disk.folder, fsync=fsync), closing(self._open(disk.folder, fsync=fsync)) as log:
            log.read()
            for number in range(40):
                key = f"key {chance.randrange(6)}"
                value = None
                if chance.random() < 0.8:
                    value = b"%d|" % number + chance.randbytes(chance.choice((9, 5000)))
                with disk.asking({key: value}):
                    log.append([(key.encode(), value)])
                    living[key] = value
                if number % 13 == 12:
                    with disk.asking():
                        log.replace([(each.encode(), held) for each, held in living.items() if held])

    def read(self, folder: Path, *, fsync: bool) -> Found:
        told: list[str] = []
        try:
            with (
                opened(folder, fsync=fsync, told=told) as made,
                closing(self._open(folder, fsync=fsync)) as log,
            ):
                if log.torn_bytes:
                    made.events.emit("journal.cut", file="positions.log", bytes=log.torn_bytes)
                values = log.read()
        except DamagedLogError as error:
            return Found({}, told, str(error))
        return Found({key.decode(): value for key, value in values.items()}, told)

    def _open(self, folder: Path, *, fsync: bool) -> KeyedLog:
        return KeyedLog(folder / "positions.log", fsync=fsync)


class Streams:
    """Streams: records in files that are filled, compressed and trimmed; a split; a stream that goes."""

    name = "streams"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        with opened(disk.folder, fsync=fsync) as made:
            engine = self._open(made, fsync=fsync)
            with closing(engine):
                for name in ("input", "going"):
                    while name not in engine.names(made.home):
                        with disk.asking({f"stream {name}": b"there"}, KinesisError):
                            engine.call("CreateStream", {"StreamName": name, "ShardCount": 2}, made.home)
                for number in range(26):
                    self._put(engine, made, disk, chance, number)
                    if number == 12:
                        with disk.asking(refusal=KinesisError):
                            engine.pack()
                    if number == 15:
                        middle = {"NewStartingHashKey": str(2**127 + 2**126)}
                        split = {"StreamName": "input", "ShardToSplit": "shardId-000000000001", **middle}
                        with disk.asking(refusal=KinesisError):
                            engine.call("SplitShard", split, made.home)
                    if number == 18:
                        with disk.asking({"stream going": None}, KinesisError):
                            engine.call("DeleteStream", {"StreamName": "going"}, made.home)
                    if number == 20:
                        made.clock.advance(20 * HOUR)
                made.clock.advance(5 * HOUR)
                disk.let({f"record {number}.{part}": None for number in range(21) for part in range(4)})
                with disk.asking(refusal=KinesisError):
                    engine.streams(made.home)
                for number in range(26, 29):
                    self._put(engine, made, disk, chance, number)
                with disk.asking(refusal=KinesisError):
                    engine.pack()

    def read(self, folder: Path, *, fsync: bool) -> Found:
        told: list[str] = []
        values: dict[str, bytes] = {}
        try:
            with (
                opened(folder, fsync=fsync, told=told) as made,
                closing(self._open(made, fsync=fsync)) as engine,
            ):
                self._read_all(engine, made, values)
        except (DamagedLogError, KinesisError) as error:
            return Found({}, told, str(error))
        return Found(values, told)

    def _read_all(self, engine: Engine, made: Foundation, values: dict[str, bytes]) -> None:
        for view in engine.streams(made.home):
            values[f"stream {view.name}"] = b"there"
            for shard in view.shards:
                found = engine.read(view.name, shard.id, None, 1000, made.home)
                numbers = [int(each.sequence_number) for each in found]
                assert numbers == sorted(set(numbers)), "records are in the order of their numbers"
                for each in found:
                    values[f"record {each.data[:8].split(b'|')[0].decode()}"] = each.data

    def _put(self, engine: Engine, made: Foundation, disk: RecordedDisk, chance: Draws, number: int) -> None:
        bodies = {
            f"{number}.{part}": b"%d.%d|" % (number, part) + chance.randbytes(chance.choice((20, 4000)))
            for part in range(chance.randint(1, 4))
        }
        records = [{"Data": body, "PartitionKey": chance.choice("abcd")} for body in bodies.values()]
        with disk.asking({f"record {key}": body for key, body in bodies.items()}, KinesisError):
            answer = engine.call("PutRecords", {"StreamName": "input", "Records": records}, made.home)
            if answer["FailedRecordCount"]:
                raise UnstoredError

    def _open(self, made: Foundation, *, fsync: bool) -> Engine:
        assert made.directory is not None
        engine = Engine(made.directory.streams, made.clock, made.events, fsync=fsync, segment_bytes=12_000)
        # What the test packs, it packs itself.
        assert engine._packing is not None
        engine._packing._woken.set()
        return engine


class Snapshots:
    """Snapshots, which are always on the disk, and the note of a load, which is with fsync."""

    name = "snapshots"

    def work(self, disk: RecordedDisk, chance: Draws, *, fsync: bool) -> None:
        del fsync
        store = SnapshotStore(disk.folder / "snapshots")
        for number in range(8):
            name, blob = f"s{chance.randrange(3)}", chance.randbytes(chance.choice((10, 9000)))
            if chance.random() < 0.2 and any(each.name == name for each in store.list()):
                # The answer does not wait for the disk: it may be there again.
                disk.let({name: None})
                with disk.asking():
                    store.remove(name)
                continue
            with disk.asking({name: blob}):
                store.save(Snapshot(name), {"streams": [blob]})
            if number % 3 == 0:
                with disk.asking({"load": name.encode()}):
                    store.begin_load(name)
                with disk.asking({"load": None}):
                    store.end_load()

    def read(self, folder: Path, *, fsync: bool) -> Found:
        try:
            del fsync
            store = SnapshotStore(folder / "snapshots")
            found = {each.name: bytes(store.read(each.name)[1]["streams"][0]) for each in store.list()}
        except SnapshotError as error:
            return Found({}, (), str(error))
        if store.unfinished:
            found["load"] = store.unfinished.encode()
        return Found(found)
