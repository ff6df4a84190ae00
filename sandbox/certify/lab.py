"""The sandbox that a client is tried in: streams in memory, the recorder in front, and the messages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import md5
from itertools import pairwise
from typing import Any, Final

import msgspec

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock, stopwatch
from emulator.kinesis import ShardView, StoredRecord
from emulator.rng import Chance
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.topology import Topology
from sandbox.certify.exchange import Exchange, Read
from sandbox.certify.gate import Gate
from sandbox.certify.history import History, Injected, Level, Reshard, Shard, Stored
from sandbox.certify.recorder import Recorder
from schemas.peek import peek

INPUT, OUTPUT, ERROR, INVALID = "input", "output", "error", "invalid"
_TOPOLOGY: Final = Topology(streams={INPUT: 2, OUTPUT: 1, ERROR: 1, INVALID: 1})
_AT_ONCE: Final = 500
_MOST_RECORDS: Final = 10_000
_HOLD_SECONDS: Final = 2.0
_NOTHING_MORE_SECONDS: Final = 400.0
"""More than any rule of the diagnosis waits for a client, of which nothing more comes at the end."""


class Lab:
    """A sandbox of its own, and the history of what happens in it.

    ``life`` is the number of the client's present start, ``level`` that of the present stage, and ``known``
    are the ids of the messages that the client can get or send. ``listen`` takes note of what the client has
    told so far.
    """

    def __init__(self, seed: int) -> None:
        self.chance = Chance(seed)
        self.seed = seed
        self.history = History(INPUT, stopwatch())
        self.life = 0
        self.level = Level.BRONZE
        self.known: set[str] = set()
        self.listen: Callable[[], None] = lambda: None
        self._changed = threading.Condition()
        self._watching: list[Callable[[Exchange], None]] = []
        self.gate = Gate(lambda: self.note(_change_nothing))
        self._put: set[tuple[str, str]] = set()
        self._given: set[tuple[str, str]] = set()
        self._emulator: Embedded

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the sandbox on free ports while the context lasts."""
        settings = Settings(
            data_dir=None, aws_port=0, control_port=0, seed=self.seed, topology=_TOPOLOGY, amqp="none"
        )
        with self.recording(settings):
            yield

    @contextmanager
    def recording(self, settings: Settings, clock: Clock | None = None) -> Iterator[Embedded]:
        """Run a sandbox with these settings, and write down what a client sees of it."""
        recorder = Recorder(self._note, lambda: self.life, self.history.began, self.gate)
        with embedded(settings, clock, interceptors=[recorder]) as emulator, self._following(emulator):
            yield emulator

    @contextmanager
    def _following(self, emulator: Embedded) -> Iterator[None]:
        self._emulator = emulator
        with emulator.components.events.subscribed(self._note_event):
            yield

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which a client is told where everything is."""
        return {
            "AWS_ENDPOINT_URL": self._emulator.aws,
            "AWS_ACCESS_KEY_ID": "certify",
            "AWS_SECRET_ACCESS_KEY": "certify",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
            "SANDBOX_CONTROL": self._emulator.control,
            "SANDBOX_STREAM": INPUT,
            "SANDBOX_OUTPUT_STREAM": OUTPUT,
            "SANDBOX_ERROR_STREAM": ERROR,
            "SANDBOX_INVALID_STREAM": INVALID,
        }

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return round(stopwatch() - self.history.began, 4)

    def note(self, change: Callable[[History], object]) -> None:
        """Change the history, and wake who waits for it."""
        with self._changed:
            change(self.history)
            self._changed.notify_all()

    def wait(self, seconds: float, until: Callable[[], bool]) -> bool:
        """Wait until the history is so, for at most ``seconds``; return whether it is."""
        with self._changed:
            return self._changed.wait_for(until, seconds)

    @contextmanager
    def watching(self, watcher: Callable[[Exchange], None]) -> Iterator[None]:
        """Call ``watcher`` with each exchange before its answer goes out."""
        self._watching.append(watcher)
        try:
            yield
        finally:
            self._watching.remove(watcher)

    @contextmanager
    def holding(self, shards: Sequence[str]) -> Iterator[None]:
        """Hold up the reads of some shards of the input while the context lasts, from the next one on.

        A client that reads none of them is not waited for longer than two seconds.
        """
        self.gate.close(shards)
        try:
            self.wait(_HOLD_SECONDS, lambda: self.gate.holds(shards))
            yield
        finally:
            self.gate.open()

    def begin_stage(self, name: str, level: Level) -> None:
        self.level = level
        self.note(lambda history: history.stages.append((self.now, name, level)))

    # Faults

    def strike(self, fault: NewFault) -> None:
        """Put a fault in force."""
        self._emulator.components.fault_engine.add(fault)

    def end_faults(self) -> None:
        """Remove every fault."""
        self._emulator.components.fault_engine.clear()

    # Streams

    def put(self, messages: Iterable[bytes]) -> None:
        """Put records into the input stream past the recorder; each message's id is its partition key."""
        records = [{"Data": each, "PartitionKey": peek(each).message_id or "unreadable"} for each in messages]
        self.known.update(str(each["PartitionKey"]) for each in records)
        for start in range(0, len(records), _AT_ONCE):
            request = {"StreamName": INPUT, "Records": records[start : start + _AT_ONCE]}
            answers = self._call("PutRecords", request)["Records"]
            self._put.update((each["ShardId"], each["SequenceNumber"]) for each in answers)

    def undelivered(self) -> set[tuple[str, str]]:
        """The (shard, sequence number) of each record of the input that the client was not given."""
        return self._put - self._given

    def open_shards(self) -> list[str]:
        """The ids of the input's open shards."""
        return [each.id for each in self._shards() if each.open]

    def shard_of(self, message_id: str) -> str:
        """The open shard that a message of this id goes to."""
        key = int.from_bytes(md5(message_id.encode(), usedforsecurity=False).digest())
        return next(
            each.id
            for each in self._shards()
            if each.open and int(each.starting_hash_key) <= key <= int(each.ending_hash_key)
        )

    def split(self, shard_id: str) -> None:
        """Split a shard in the middle of its hash key range."""
        shard = next(each for each in self._shards() if each.id == shard_id)
        middle = (int(shard.starting_hash_key) + int(shard.ending_hash_key) + 1) // 2
        request = {"StreamName": INPUT, "ShardToSplit": shard_id, "NewStartingHashKey": str(middle)}
        self._reshard("split", "SplitShard", request, (shard_id,))

    def merge(self, pair: Sequence[str]) -> None:
        """Merge two neighbouring shards."""
        request = {"StreamName": INPUT, "ShardToMerge": pair[0], "AdjacentShardToMerge": pair[1]}
        self._reshard("merge", "MergeShards", request, tuple(pair))

    def neighbours(self) -> tuple[str, str]:
        """Two open shards of the input with adjoining hash key ranges: the last ones that a split made."""
        shards = sorted(
            (each for each in self._shards() if each.open), key=lambda each: int(each.starting_hash_key)
        )
        pairs = list(pairwise(shards))
        first, second = max(pairs, key=lambda pair: (pair[0].parents == pair[1].parents, pair[0].id))
        return first.id, second.id

    def written(self, stream: str) -> list[bytes]:
        """The data of every record of a stream, shard by shard."""
        return [record.data for shard in self._shards(stream) for record in self._read(stream, shard.id)]

    def settle_history(self) -> None:
        """Add the shards and records that there are at the end to the history."""
        history = self.history
        for shard in self._shards():
            records = self._read(INPUT, shard.id)
            seen = tuple((each.sequence_number, peek(each.data).message_id) for each in records)
            history.shards.append(Shard(shard.id, tuple(shard.parents), seen))
            history.stored += [Stored(peek(each.data).message_id, each.data) for each in records]
        for stream, stored in ((ERROR, history.errors), (INVALID, history.invalid)):
            stored += [Stored(peek(data).message_id, data) for data in self.written(stream)]
        components = self._emulator.components
        history.epoch = components.clock.time() - self.now
        complete = False
        while not complete:
            history.recorded, complete = components.diagnosis.exchange(later=_NOTHING_MORE_SECONDS)

    def _reshard(
        self, action: str, operation: str, request: dict[str, str], parents: tuple[str, ...]
    ) -> None:
        before = {each.id for each in self._shards()}
        unread = sum(
            (parent, record.sequence_number) not in self._given
            for parent in parents
            for record in self._read(INPUT, parent)
        )
        self._call(operation, request)
        self._emulator.components.infrastructure.finish(INPUT, self._emulator.components.home)
        children = tuple(each.id for each in self._shards() if each.id not in before)
        done = Reshard(self.now, action, parents, children, unread, self.level)
        self.note(lambda history: history.reshards.append(done))

    def _call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._emulator.components.streams.call(operation, request, self._emulator.components.home)

    def _shards(self, stream: str = INPUT) -> list[ShardView]:
        components = self._emulator.components
        return next(
            view.shards for view in components.streams.streams(components.home) if view.name == stream
        )

    def _read(self, stream: str, shard_id: str) -> list[StoredRecord]:
        return self._emulator.components.streams.read(stream, shard_id, None, _MOST_RECORDS)

    # What is seen

    def _note(self, exchange: Exchange) -> None:
        if isinstance(exchange, Read) and exchange.stream == INPUT:
            self._given.update((exchange.shard, each.sequence_number) for each in exchange.records)
        self.note(lambda history: history.exchanges.append(exchange))
        for watcher in tuple(self._watching):
            watcher(exchange)

    def _note_event(self, event: Event) -> None:
        if event.kind == "fault.injected":
            found = Injected(self.now, event.fields["type"], event.fields["message_id"], self.level)
            self.note(lambda history: history.injected.append(found))


def _change_nothing(_history: History) -> None:
    """The change of who only wakes those that wait."""


def encode_history(history: History) -> Iterator[bytes]:
    """The exchanges, told lines and lives of a history as lines of JSON, in the order of their times."""
    rows = [
        *((each.at, each) for each in history.exchanges),
        *((each.at, {"type": "told", **msgspec.to_builtins(each)}) for each in history.told),
        *((each.began, {"type": "started", **msgspec.to_builtins(each)}) for each in history.lives),
        *((each.at, {"type": "reshard", **msgspec.to_builtins(each)}) for each in history.reshards),
        *(
            (each.at, {"type": "injected", "fault": each.type, "message_id": each.message_id, "at": each.at})
            for each in history.injected
        ),
    ]
    for _, row in sorted(rows, key=lambda row: row[0]):
        yield msgspec.json.encode(row) + b"\n"
