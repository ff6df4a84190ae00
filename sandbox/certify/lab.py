"""The sandbox that a client is tried in: streams in memory, a trace of its exchanges, and the messages."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import md5
from itertools import pairwise
from math import inf
from typing import Any, Final, TypeVar

import msgspec

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock, stopwatch
from emulator.diagnosis.lab_trace import WatchedClient
from emulator.kinesis import ShardView, StoredRecord
from emulator.rng import Chance
from emulator.settings.settings import Settings
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.tape import TapedChannel, TapedMessage, TapedShard
from rdss_sandbox.shapes.topology import Topology
from rdss_sandbox.shapes.trace import Read, TraceItem
from sandbox.certify.gate import Gate
from sandbox.certify.history import FinalShard, History, Injected, KeptRecord, Level, ShardChange, StageEnd
from schemas.bound import CONTRACT
from schemas.contract import Contract, Sample

INPUT, OUTPUT, ERROR, INVALID = "input", "output", "error", "invalid"
_T = TypeVar("_T")
_TOPOLOGY: Final = Topology(streams={INPUT: 2, OUTPUT: 1, ERROR: 1, INVALID: 1})
_AT_ONCE: Final = 500
_MOST_RECORDS: Final = 10_000
_HOLD_SECONDS: Final = 2.0
_UUID: Final = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NOTHING_MORE_SECONDS: Final = 400.0
"""More than any rule of the diagnosis waits for a client, of which nothing more comes at the end."""


class Lab:
    """A sandbox of its own, and the history of what happens in it.

    ``level`` is that of the present stage, ``known`` are the ids of the messages that the client can get or
    send, and ``place_of`` has the shard of each message by its id. ``requested_at`` is the moment of its last
    request, of whatever service. ``listen`` takes note of what the client has told so far. The lab is the
    trace of its sandbox's recorders. Its messages are of the ``contract``; the first are those ``recorded``.
    """

    def __init__(self, seed: int, contract: Contract = CONTRACT) -> None:
        self.contract = contract
        self.chance = Chance(seed)
        self.seed = seed
        self.recorded: Sequence[Sample] = ()
        self.history = History(INPUT, stopwatch())
        self.requested_at = self.history.began
        self.level = Level.BRONZE
        self.known: set[str] = set()
        self.place_of: dict[str, str] = {}
        self.listen: Callable[[], None] = lambda: None
        self._changed = threading.Condition()
        self._watching: list[Callable[[TraceItem], None]] = []
        self.gate = Gate(lambda: self.note(lambda _history: None), self._find_shard)
        self._given: set[tuple[str, str]] = set()
        self._collected: dict[str, str] = {}
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
        with (
            embedded(
                settings, clock, interceptors=[self.gate], trace=self, contract=self.contract
            ) as emulator,
            self._following(emulator),
        ):
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
        return self.time_of(stopwatch())

    def time_of(self, moment: float) -> float:
        """Seconds from the begin of the run to a reading of the stopwatch."""
        return round(moment - self.history.began, 4)

    @property
    def life(self) -> int:
        """The number of the client's present start; 0 before the first."""
        return self.life_at(inf)

    def life_at(self, at: float) -> int:
        """The number of the client's start that was under way; 0 before the first."""
        return next((life.number for life in reversed(self.history.lives) if life.began <= at), 0)

    def note(self, change: Callable[[History], object]) -> None:
        """Change the history, and wake who waits for it."""
        with self._changed:
            change(self.history)
            self._changed.notify_all()

    def add(self, items: list[_T], item: _T) -> None:
        """Add an item to a list of the history, as ``note`` does."""
        self.note(lambda _history: items.append(item))

    def wait(self, seconds: float, until: Callable[[], bool]) -> bool:
        """Wait until the history is so, for at most ``seconds``; return whether it is."""
        with self._changed:
            return self._changed.wait_for(until, seconds)

    @contextmanager
    def watching(self, watcher: Callable[[TraceItem], None]) -> Iterator[None]:
        """Call ``watcher`` with each exchange before its answer goes out."""
        self._watching.append(watcher)
        try:
            yield
        finally:
            self._watching.remove(watcher)

    @contextmanager
    def shortening(self, shards: Sequence[str], records: int) -> Iterator[None]:
        """Answer reads of some shards with few records, as Kinesis may, while the context lasts."""
        self.gate.shorten(shards, records)
        try:
            yield
        finally:
            self.gate.shorten((), 0)

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
        self.add(self.history.stages, (self.now, name, level))

    def end_stage(self, name: str, *, impatient: bool) -> None:
        """Note that a stage is over; ``impatient``, while the client was still at work."""
        self.add(self.history.ends, StageEnd(self.now, name, self.life, impatient))

    # Faults

    def strike(self, fault: NewFault) -> None:
        """Put a fault in force."""
        self._emulator.components.fault_engine.add(fault)

    def strike_message(
        self, fault: str, message_id: str, direction: str, fails: int, attributes: Mapping[str, object]
    ) -> None:
        """Strike the first ``fails`` passages of a message of the input."""
        name = next(field.spelling for field in self.contract.fields if field.name == "id")
        self.strike(
            NewFault(
                fault,
                name=f"{fault}-{message_id}",
                channel=INPUT,
                direction=direction,
                attributes=dict(attributes),
                when={"match": {name: message_id}, "fails": fails},
            )
        )

    def end_faults(self) -> None:
        self._emulator.components.fault_engine.clear()

    # Streams

    def put(self, messages: Iterable[Sample]) -> None:
        """Put records into the input stream past the recorder."""
        records = [{"Data": each.data, "PartitionKey": each.key or "unreadable"} for each in messages]
        self.known.update(str(each["PartitionKey"]) for each in records)
        for start in range(0, len(records), _AT_ONCE):
            request = {"StreamName": INPUT, "Records": records[start : start + _AT_ONCE]}
            answers = self._call("PutRecords", request)["Records"]
            for record, answer in zip(records[start : start + _AT_ONCE], answers, strict=True):
                self.place_of[str(record["PartitionKey"])] = answer["ShardId"]
                self.history.put_at[answer["ShardId"], answer["SequenceNumber"]] = self.now

    def undelivered(self) -> set[tuple[str, str]]:
        """The (shard, sequence number) of each record of the input that the client was not given."""
        return self.history.put_at.keys() - self._given

    def keeps_poison(self) -> bool:
        """Whether the client has left something that no client can process, which would come again."""
        return False

    def remove_poison(self) -> bool:
        """Take away what no client can process; return whether there was any. A stream keeps its own."""
        return False

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

    def written(self, stream: str) -> list[Sample]:
        """Every record of a stream, shard by shard."""
        return [
            Sample(record.data, record.partition_key or "")
            for shard in self._shards(stream)
            for record in self._read(stream, shard.id)
        ]

    def collect(self) -> None:
        """Add what came to the input since the last call to what the history knows to be stored."""
        for _, each in self.records_after(self._collected):
            found = self.identify(each.data, each.partition_key or "")
            self.history.stored.append(KeptRecord(found, each.data, self.life))

    def records_after(self, last: dict[str, str]) -> Iterator[tuple[str, StoredRecord]]:
        """Yield the records of the input behind the ``last`` ones, with their shards; move these on."""
        for shard in self._shards():
            for each in self._read(INPUT, shard.id, last.get(shard.id)):
                last[shard.id] = each.sequence_number
                yield shard.id, each

    def settle_history(self) -> None:
        """Add the shards and records that there are at the end to the history."""
        history = self.history
        self.collect()
        history.epoch = self._emulator.components.clock.time() - self.now
        shards = self._shards()
        history.taped += list_channels(shards, history.reshards)
        for shard in shards:
            records = self._read(INPUT, shard.id)
            entries = tuple(
                (each.sequence_number, self.identify(each.data, each.partition_key or "")) for each in records
            )
            history.shards.append(FinalShard(shard.id, tuple(shard.parents), entries))
            history.taped += (
                TapedMessage(
                    history.put_at.get((shard.id, each.sequence_number), each.arrived - history.epoch),
                    INPUT,
                    each.data,
                    len(each.data),
                    each.partition_key or "",
                    shard.id,
                    each.sequence_number,
                )
                for each in records
            )
        for stream, stored in ((ERROR, history.errors), (INVALID, history.invalid)):
            stored += [KeptRecord(self.identify(*each), each.data) for each in self.written(stream)]
        components = self._emulator.components
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
        done = ShardChange(self.now, action, parents, children, unread, self.level)
        self.add(self.history.reshards, done)

    def _call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._emulator.components.streams.call(operation, request, self._emulator.components.home)

    def _shards(self, stream: str = INPUT) -> list[ShardView]:
        components = self._emulator.components
        return next(
            view.shards for view in components.streams.streams(components.home) if view.name == stream
        )

    def _read(self, stream: str, shard_id: str, after: str | None = None) -> list[StoredRecord]:
        return self._emulator.components.streams.read(stream, shard_id, after, _MOST_RECORDS)

    # What the recorders see

    def identify(self, data: bytes, key: str = "") -> str | None:
        """The messageId of a message; of an envelope, such as celery's, the only known one in it."""
        message_id = self.contract.peek(data, key).message_id
        if message_id is not None:
            return message_id
        found = {each.decode() for each in _UUID.findall(data)} & self.known
        return found.pop() if len(found) == 1 else None

    def note_request(self) -> None:
        self.requested_at = stopwatch()

    def note_item(self, item: TraceItem, data: bytes = b"") -> None:  # noqa: ARG002 -- for queues
        if isinstance(item, Read) and item.stream == INPUT:
            self._given.update((item.shard, each.sequence_number) for each in item.records)
        self.add(self.history.exchanges, item)
        for watcher in tuple(self._watching):
            watcher(item)

    def note_connection(self, client: WatchedClient, *, opened: bool) -> None:
        """A client of streams has none of AMQP."""

    def _find_shard(self, iterator: str) -> str:
        trace = self._emulator.components.infrastructure.recorder.trace
        return trace.find_shard(iterator) if trace is not None else ""

    def _note_event(self, event: Event) -> None:
        if event.kind == "fault.injected":
            found = Injected(self.now, event.fields["type"], event.fields["message_id"], self.level)
            self.add(self.history.injected, found)


def list_channels(shards: Sequence[ShardView], reshards: Sequence[ShardChange]) -> Iterator[TapedChannel]:
    """The open shards of the input at the beginning of a run, and after each reshard."""
    made = {child: each.at for each in reshards for child in each.children}
    for at in (0.0, *(each.at for each in reshards)):
        opened = tuple(
            TapedShard(each.id, each.starting_hash_key, each.ending_hash_key)
            for each in shards
            if made.get(each.id, 0.0) <= at and all(made.get(child, 0.0) > at for child in each.children)
        )
        yield TapedChannel(at, INPUT, "kinesis", opened)


def encode_history(history: History) -> Iterator[bytes]:
    """The exchanges, told lines and lives of a history as lines of JSON, in the order of their times.

    The messages and the shards of the input stand there as a tape has them.
    """
    rows = [
        *((each.at, each) for each in history.taped),
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
