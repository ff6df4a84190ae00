"""The diagnosis of a running sandbox: gathers the exchange, judges it, and tells of new findings."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Final

import msgspec

from emulator.clock import Clock, stopwatch
from emulator.diagnosis.content_reader import ContentReader, describe_refusal, load_validator
from emulator.diagnosis.diagnosis import diagnose
from emulator.diagnosis.kinesis_trace import KinesisTrace
from emulator.diagnosis.lab_trace import Trace, WatchedClient
from emulator.diagnosis.leases import read_leases
from emulator.diagnosis.recorder import Recorder
from emulator.diagnosis.rules import RULES
from emulator.diagnosis.shard_record import RecordDelivery
from emulator.events import Events
from emulator.kinesis import ShardView
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.sequence_numbers import position
from emulator.scheduler import Scheduler
from emulator.streams.stream_catalogue import Catalogue, ListedStream
from rdss_sandbox.shapes.diagnosis import Diagnosis, Finding
from rdss_sandbox.shapes.recorded_exchange import (
    Contents,
    Exchange,
    Lease,
    ShardReads,
    ShardState,
    StreamState,
    Writing,
)
from schemas.contract import Contract

if TYPE_CHECKING:
    from emulator.diagnosis.queue_recorder import ConnectionRecorder, QueueRecorder

_LOOK_SECONDS: Final = 5.0
"""Real seconds between two looks at the exchange while clients call."""
_LOOKS_AFTERWARDS: Final = 20
"""Looks after the last call: a rule may wait for what a client does not do."""
_SETTLE_SECONDS: Final = 4.0
"""Real seconds for which the finding of a patient rule stays before it is told."""
_MOST_TOLD: Final = 10_000
_PATIENT: Final = frozenset(rule.id for rule in RULES if rule.patient)


class DiagnosisService:
    """Diagnoses clients when asked, and every few seconds while they call.

    Without being asked it judges what clients did, which is little, and not what streams hold, which is much.
    A finding is emitted once, as the event ``client.finding``. Of an upstream's streams it knows what passed
    the sandbox, and asks for nothing but the list of shards. Thread-safe.
    """

    def __init__(
        self,
        recorder: Recorder,
        catalogue: Catalogue,
        clock: Clock,
        events: Events,
        contract: Contract,
    ) -> None:
        self._recorder = recorder
        self._catalogue = catalogue
        self._clock = clock
        self._events = events
        self._contract = contract
        self._lock = threading.RLock()
        self._reports: OrderedDict[tuple[str, str | None, str, str | None], None] = OrderedDict()
        self._first_sightings: dict[tuple[str, str | None, str, str | None], float] = {}
        self._calls = 0
        self._idle = _LOOKS_AFTERWARDS
        # On a clock of its own: clients call in real time, also while the sandbox's clock stands still.
        self._scheduler = Scheduler(Clock(), "diagnosis", self._emit_failure)
        self._queues: QueueRecorder | None = None
        self._trace: Trace | None = None
        self._subscriptions = ExitStack()
        # An upstream's records are not fetched for it: that would be as much traffic as a client's.
        self._contents = (
            ContentReader(catalogue, recorder.strikes, recorder.find_writers, clock, contract)
            if recorder.places is None
            else None
        )

    def start(self) -> None:
        """Begin to look every few seconds while clients call."""
        self._scheduler.every(_LOOK_SECONDS, self._look)

    def trace_into(self, trace: Trace) -> None:
        """Write all that clients do to a trace, from now on, besides recording it."""
        self._trace, self._recorder.trace = trace, KinesisTrace(trace)

    def watch_queues(self, client: WatchedClient) -> ConnectionRecorder:
        """Record a new connection of the AMQP port."""
        if self._queues is None:
            # Its parser of AMQP is loaded with the first connection, and not with the sandbox.
            from emulator.diagnosis.queue_recorder import QueueRecorder

            self._queues = QueueRecorder(self._clock, self._recorder.strikes, self._trace)
            self._subscriptions.enter_context(self._events.subscribed(self._queues.note_event))
        return self._queues.watch(client)

    def close(self) -> None:
        """Stop looking."""
        self._subscriptions.close()
        self._scheduler.close()

    def held(self) -> AbstractContextManager[object]:
        """Let nobody diagnose while the context lasts: who does asks the streams, which are held after it."""
        return self._lock

    def clear(self) -> None:
        """Forget what clients did and what was found."""
        with self._lock:
            self._recorder.clear()
            if self._contents is not None:
                self._contents.clear()
            if self._queues is not None:
                self._queues.clear()
            self._reports.clear()
            self._first_sightings.clear()

    def find_holders(self) -> dict[ShardIterator, str]:
        """The names of the clients, by the iterator that each goes on with."""
        return self._recorder.find_holders()

    def note_own(self, sequence_number: str) -> None:
        """Note that this record was put through the control API: nobody's mistake."""
        if self.known and (place := position(sequence_number)):
            self._recorder.note_turn(place.stream, place, None)

    @property
    def known(self) -> bool:
        """Whether all clients are seen; not where an upstream has the streams."""
        return self._recorder.places is None

    def find_deliveries(self, sequence_number: str) -> list[tuple[str, RecordDelivery]]:
        """Which clients were given the record with this sequence number, and when."""
        place = position(sequence_number)
        return self._recorder.find_deliveries(place) if self.known and place else []

    def read_leases(self) -> tuple[Lease, ...]:
        """The leases of KCL's workers."""
        if not self.known:
            return ()
        return read_leases({int(each.view.generation): each.label for each in self._catalogue.list_streams()})

    def exchange(self, seconds: float = 0.1, later: float = 0.0) -> tuple[Exchange, bool]:
        """The exchange so far, with what streams hold; False when records are still to be looked through.

        New records are looked through for about so many real seconds; 0 leaves out what streams hold. The
        exchange is as if nothing more came for ``later`` clock seconds.
        """
        with self._lock:
            exchange, complete = self._gather(seconds)
        return msgspec.structs.replace(exchange, taken=exchange.taken + later), complete

    def diagnose(self, seconds: float = 0.1, later: float = 0.0) -> Diagnosis:
        """The diagnosis of the exchange so far; ``seconds`` and ``later`` are as for ``exchange``."""
        exchange, complete = self.exchange(seconds, later)
        found = diagnose(exchange)
        # What would be found later has not happened.
        if not later:
            self._tell(found.findings)
        return msgspec.structs.replace(found, complete=complete, known=self.known)

    def _gather(self, seconds: float) -> tuple[Exchange, bool]:
        recorder, contents = self._recorder, self._contents
        listed = [each for each in self._catalogue.list_streams() if each.label not in self._catalogue.copies]
        complete = contents.catch_up(listed, seconds) if contents is not None and seconds else True
        labels = {self._number_of(each): each for each in listed}
        # Of copies: the event loop writes while this reads.
        writings = [
            Writing(client.name, labels[number].label, each.calls, each.records, each.first, each.last)
            for client in recorder.clients()
            for number, each in list(client.writings.items())
            if number in labels
        ]
        queues, batches = self._queues, recorder.batches
        readings, queue_writings = queues.snapshot() if queues is not None else ((), ())
        exchange = Exchange(
            self._clock.time(),
            (*recorder.list_clients(), *(queues.list_clients() if queues is not None else ())),
            tuple(
                StreamState(
                    each.label,
                    tuple(map(_shard_state, each.view.shards))
                    if recorder.places is None
                    else recorder.places.list_shards(number, each.view.shards),
                    contents.contents_of(each, _writers_of(writings, each))
                    if contents is not None and seconds
                    else Contents(),
                    number in recorder.forgotten,
                )
                for number, each in labels.items()
            ),
            tuple(_list_reads(recorder, labels)),
            tuple(refusal for client in recorder.clients() for refusal in client.refused.snapshot()),
            tuple(writings),
            read_leases({number: each.label for number, each in labels.items()}) if self.known else (),
            readings,
            queue_writings,
            batches.snapshot(self._judge),
            tuple(batches.list_sources()),
        )
        return exchange, complete

    def _judge(self, data: bytes) -> str:
        """What is wrong with a message but its age; empty for nothing, and where nothing judges."""
        validate = load_validator(self._contract)
        verdict = validate(data) if validate else None
        return "" if verdict is None or verdict.code == self._contract.expired else describe_refusal(verdict)

    def _number_of(self, listed: ListedStream) -> int:
        places = self._recorder.places
        if places is None:
            return int(listed.view.generation)
        return places.number_of(listed.view.name, listed.view.generation)

    def _tell(self, findings: Sequence[Finding]) -> None:
        there = {(each.rule, each.client, each.stream, each.shard) for each in findings}
        with self._lock:
            # A finding that goes away waits anew when it comes back.
            self._first_sightings = {
                key: since for key, since in self._first_sightings.items() if key in there
            }
        for each in findings:
            key = (each.rule, each.client, each.stream, each.shard)
            with self._lock:
                first = self._first_sightings.setdefault(key, stopwatch())
                early = each.rule in _PATIENT and stopwatch() - first < _SETTLE_SECONDS
                if early or key in self._reports:
                    continue
                self._reports[key] = None
                if len(self._reports) > _MOST_TOLD:
                    self._reports.popitem(last=False)
            self._events.emit(
                "client.finding",
                rule=each.rule,
                harm=each.harm,
                client=each.client,
                stream=each.stream,
                shard=each.shard,
                said=each.said,
                advice=each.advice,
                evidence=each.evidence,
                faults=each.faults,
            )

    def _look(self) -> None:
        calls = sum(client.calls for client in self._recorder.clients())
        calls += self._queues.calls if self._queues is not None else 0
        calls += self._recorder.batches.handed
        self._idle = self._idle + 1 if calls == self._calls else 0
        self._calls = calls
        if self._idle < _LOOKS_AFTERWARDS:
            self.diagnose(seconds=0.0)

    def _emit_failure(self, error: Exception) -> None:
        self._events.emit("diagnosis.failed", why=repr(error))


def _shard_state(shard: ShardView) -> ShardState:
    """Ordinals count from 1, and ``put`` of them were ever given out."""
    return ShardState(
        shard.id,
        shard.parents,
        shard.children,
        shard.open,
        shard.put - shard.records + 1,
        shard.put + 1,
        shard.created,
    )


def _writers_of(writings: Iterable[Writing], listed: ListedStream) -> tuple[str, ...]:
    return tuple(each.client for each in writings if each.stream == listed.label)


def _list_reads(recorder: Recorder, labels: dict[int, ListedStream]) -> Iterable[ShardReads]:
    for client in recorder.clients():
        for (number, index), record in list(client.shards.items()):
            listed = labels.get(number)
            shard = f"shardId-{index:012d}"
            if (
                listed is not None
                and (reads := record.snapshot(client.name, listed.label, shard)) is not None
            ):
                places = recorder.places
                yield reads if places is None else places.renumber(number, index, reads)
