"""The recorder: it writes down what each client of the AWS port does, as the client sees it.

    fast path (bytes)  --> note_read, note_written     a few attributes of one object a call
    full path (shapes) --> note_answer, note_refusal   whatever a fault, CBOR or an error leads through
                                                       --> a trace, item by item, where a lab has set one

Memory is bounded: ``MOST_CLIENTS`` clients, ``MOST_SHARDS`` pairs of a client and a shard with the last
``MOST_RUNS`` runs of reads each (some 6 kB a run at most), and 2,000 refusals a client. What is quiet for
longest is forgotten first, and no rule then judges reads of its stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Hashable, Iterable
from contextlib import aclosing
from typing import Final, NamedTuple

from pybase64 import b64decode

from emulator.clock import Clock, stopwatch
from emulator.diagnosis.clients import CONTROL_API, Identity, identify
from emulator.diagnosis.handled_batches import HandledBatches
from emulator.diagnosis.kinesis_trace import KinesisTrace, Shape, find_code
from emulator.diagnosis.refused_records import RefusedRecords
from emulator.diagnosis.shard_record import ReadingRun, RecordDelivery, ShardRecord
from emulator.diagnosis.strikes import Strikes
from emulator.diagnosis.upstream_places import UpstreamPlaces
from emulator.http.asgi import ClientGoneError
from emulator.kinesis import KinesisError, iterators
from emulator.kinesis.entries import Entry, Written
from emulator.kinesis.iterator_reads import Located
from emulator.kinesis.iterators import ShardIterator
from emulator.kinesis.reads import FetchedLines
from emulator.kinesis.scope import stream_named
from emulator.kinesis.sequence_numbers import Position, position
from emulator.kinesis.stream import Stream
from emulator.streams.wiretap import Wiretap
from rdss_sandbox.shapes.recorded_exchange import Client, RefusedAttempt
from rdss_sandbox.shapes.trace import DISCONNECT, UNANSWERED
from schemas.bound import CONTRACT

_peek: Final = CONTRACT.peek
MOST_CLIENTS: Final = 256
MOST_SHARDS: Final = 10_000
MOST_STREAMS: Final = 1_000
"""Streams, deleted ones included, of which it is known who writes them."""
_MOST_ALIASES: Final = 4_096
_MOST_TURNS: Final = 1_000
_EXPIRED: Final = "ExpiredIteratorException"
_PUTS: Final = frozenset({"PutRecord", "PutRecords"})
_NUMBER: Final = slice(len('{"SequenceNumber":"'), len('{"SequenceNumber":"') + 56)
"""Where the sequence number is in an answer of the fast path."""


class _Refused(NamedTuple):
    """A call that was refused: to what, with which code, when it was asked (real moment), by which fault."""

    operation: str
    stream: str
    code: str
    asked: float
    fault: str = ""


class WritingRecord:
    """What one client put on one stream. ``answer`` is the last one: its sequence number tells the time."""

    __slots__ = ("answer", "calls", "first", "records")

    def __init__(self, first: float) -> None:
        self.first = first
        self.calls = self.records = 0
        self.answer = ""

    @property
    def last(self) -> float:
        place = position(self.answer[_NUMBER])
        return place.arrival / 1000 if place is not None else self.first


class ClientRecord:
    """What one client does. It looks on at the fast paths."""

    def __init__(self, recorder: Recorder, identity: Identity) -> None:
        self.identity = identity
        self.name = identity.name
        self.first = self._last = recorder.clock.time()
        self._calls = 0
        self.shards: dict[tuple[int, ...], ShardRecord] = {}
        self.writings: dict[int, WritingRecord] = {}
        self.refused = RefusedRecords()
        self._recorder = recorder
        self._clock = recorder.clock
        # The fast paths save every look-up that they can.
        self._time = recorder.clock.time
        self._last_writer = recorder.last_writer
        self._owed = self.refused.open

    # -- the fast paths

    def note_read(self, located: Located, fetched: FetchedLines, following: ShardIterator | None, /) -> None:
        """GetRecords on the fast path."""
        used = located.iterator
        at = self._time()
        record = self.shards.get(used[:2])
        run = record.runs[-1] if record is not None else None
        if run is None or run.held != used:
            run = self._find_run(used, located.stream.name, at)
        run.held, run.used = following, used
        moment = stopwatch()
        run.note_read(fetched.reached, at, moment, bool(fetched.parts))
        if following is None:
            run.end()
        if self._owed:
            self.refused.accept(used, moment)

    def note_refused_read(self, located: Located, code: str, /) -> None:
        """GetRecords was throttled on the fast path."""
        moment = stopwatch()
        self._refuse(located.iterator, _Refused("GetRecords", located.stream.name, code, moment))

    def note_written(self, operation: str, stream: Stream, entries: list[Entry], written: Written, /) -> None:
        """PutRecord or PutRecords on the fast path."""
        number = stream.state.number
        writing = self.writings.get(number) or self._begin_writing(number)
        writing.calls += 1
        writing.records += len(entries)
        writing.answer = written.answers[-1]
        if self._last_writer.get(number) is not self and not written.failed:
            place = position(written.answers[0][_NUMBER])
            if place is not None:
                self._recorder.note_turn(number, place, self)
        if written.failed or self._owed:
            writing.records -= written.failed
            moment = stopwatch()
            code = written.error[0] if written.error else ""
            failed = [bool(written.failed) and '"ErrorCode"' in answer for answer in written.answers]
            for entry, lost in zip(entries, failed, strict=True):
                data = b64decode(entry.Data)
                key = _identify_record(data, entry.PartitionKey)
                if lost:
                    call = _Refused(operation, stream.name, code, moment)
                    self._refuse(key, call, data, batch=operation == "PutRecords")
                else:
                    self.refused.accept(key, moment)

    # -- the full path

    def note_answer(self, operation: str, request: Shape, response: Shape, asked: float) -> None:
        """Note a call that was answered, with its shapes. ``asked`` is the moment when it came."""
        if (trace := self._recorder.trace) is not None:
            trace.note_call(operation, request, response, asked)
        if (places := self._recorder.places) is not None:
            translated = places.translate(operation, request, response)
            if translated is None:
                return
            request, response = translated
        at = self._clock.time()
        if operation == "GetShardIterator":
            self._note_iterator(request, response, at)
        elif operation == "GetRecords":
            self._note_records(request, response, at, asked)
        elif operation in _PUTS:
            self._note_put(operation, request, response, asked)
        else:
            self._calls += 1
            self._last = at

    def note_refusal(self, operation: str, request: Shape, code: str, asked: float) -> None:
        """Note a call that was refused with an error code. What got no answer is in a trace alone."""
        if (trace := self._recorder.trace) is not None:
            trace.note_call(operation, request, {}, asked, code)
        if code in {DISCONNECT, UNANSWERED}:
            return
        if (places := self._recorder.places) is not None:
            request = places.translate_refused(operation, request)
        self._calls += 1
        self._last = at = self._clock.time()
        if operation == "GetRecords":
            token = request.get("ShardIterator", "")
            used = _read_token(token)
            record = self._find_record(used, token)
            stream = record.stream if record else ""
            fault = self._recorder.strikes.find_refusing(stream, asked)
            if code == _EXPIRED and record is not None:
                used = used or ShardIterator(record.number, record.index, record.runs[-1].position, 0)
                record.note_expired(used, at, stopwatch(), fault)
            else:
                self._refuse(used or token, _Refused(operation, stream, code, asked, fault))
        elif operation in _PUTS:
            stream = stream_named(request) or ""
            fault = self._recorder.strikes.find_refusing(stream, asked)
            call = _Refused(operation, stream, code, asked, fault)
            for entry in request.get("Records", (request,)):
                # A refused request may lack what it has to have.
                if data := entry.get("Data"):
                    self._refuse(_key(entry), call, data)

    async def follow(
        self, request: Shape, events: AsyncGenerator[tuple[str, Shape], None], asked: float
    ) -> AsyncGenerator[tuple[str, Shape], None]:
        """Note the events of SubscribeToShard as they pass. An upstream's are not noted."""
        fan = self._recorder.find_consumer(self.identity.access_key, request["ConsumerARN"])
        run: ReadingRun | None = None
        trace = self._recorder.trace
        async with aclosing(events):
            try:
                async for kind, event in events:
                    if kind == "SubscribeToShardEvent" and self._recorder.places is None:
                        run = fan.note_event(request, event, run)
                        if trace is not None:
                            trace.note_event(request, event, asked)
                    yield kind, event
            except (KinesisError, ClientGoneError) as error:
                if trace is not None:
                    trace.note_call("SubscribeToShard", request, {}, asked, find_code(error))
                raise

    def note_event(self, request: Shape, event: Shape, run: ReadingRun | None) -> ReadingRun | None:
        """Note an event of a subscription, whose run is ``run`` after the first event."""
        at = self._clock.time()
        numbers = [position(each["SequenceNumber"]) for each in event.get("Records", ())]
        passed = position(event.get("ContinuationSequenceNumber") or "")
        places = [each for each in (*numbers, passed) if each is not None]
        if not places:
            if run is not None and event.get("ChildShards"):
                run.end()
            return run
        if run is None:
            first = numbers[0].ordinal if numbers and numbers[0] else places[-1].ordinal + 1
            run = ReadingRun(request["StartingPosition"]["Type"], first, None, at, stopwatch())
            self._record_of(places[0].stream, places[0].shard, stream_named(request) or "").begin(run, at)
        run.note_read(max(each.ordinal for each in places) + 1, at, stopwatch(), bool(numbers))
        run.recent.clear()  # events are pushed: they are no reads of the client's
        if event.get("ChildShards"):
            run.end()
        return run

    @property
    def calls(self) -> int:
        """How many calls were noted; runs that are forgotten are left out."""
        reads = sum(run.reads + 1 for record in list(self.shards.values()) for run in list(record.runs))
        return self._calls + reads + sum(each.calls for each in list(self.writings.values()))

    @property
    def last(self) -> float:
        """When it last called."""
        reads = (run.last for record in list(self.shards.values()) for run in list(record.runs))
        return max(self._last, *reads, *(each.last for each in list(self.writings.values())), 0.0)

    def _find_run(self, used: ShardIterator, stream: str, at: float) -> ReadingRun:
        """The run that an iterator belongs to, or a new one."""
        record = self._record_of(used.stream, used.shard, stream)
        return record.find(used) or self._begin_unknown(record, used, at)

    def _begin_unknown(self, record: ShardRecord, used: ShardIterator, at: float) -> ReadingRun:
        """Begin a run of which the first iterator was not seen, or was forgotten."""
        run = ReadingRun("", used.ordinal, used, at, stopwatch())
        record.begin(run, at)
        return run

    def _record_of(self, number: int, index: int, stream: str) -> ShardRecord:
        record = self.shards.get((number, index))
        if record is None:
            self._recorder.make_room()
            record = self.shards[number, index] = ShardRecord(number, index, stream)
        return record

    def _find_record(self, used: ShardIterator | None, token: str) -> ShardRecord | None:
        if used is not None:
            return self.shards.get(used[:2])
        return next(
            (each for each in self.shards.values() if any(run.token == token for run in each.runs)), None
        )

    def _note_iterator(self, request: Shape, response: Shape, at: float) -> None:
        given = _read_token(response["ShardIterator"])
        if given is not None:
            record = self._record_of(given.stream, given.shard, stream_named(request) or "")
            run = ReadingRun(request["ShardIteratorType"], given.ordinal, given, at, stopwatch())
            record.begin(run, at)

    def _note_records(self, request: Shape, response: Shape, at: float, asked: float) -> None:
        token, following = request["ShardIterator"], response.get("NextShardIterator")
        used, held = _read_token(token), _read_token(following or "")
        record = self._find_record(used, token)
        if record is None:
            if used is None:
                return
            run = self._find_run(used, "", at)
        else:
            found = record.find(used) if used else next(run for run in record.runs if run.token == token)
            run = found or self._begin_unknown(
                record, used or ShardIterator(record.number, record.index, 1, 0), at
            )
        given = [position(each["SequenceNumber"]) for each in response["Records"]]
        places = [each.ordinal + 1 for each in given if each is not None]
        if held is not None and not places:
            places = [held.ordinal]
        run.held, run.used, run.token = held, used or run.used, following or ""
        expected = used.ordinal if used is not None else run.position
        run.note_apart(expected, max(places, default=0), [place - 1 for place in places if given], at)
        run.note_read(max(places, default=run.position), at, stopwatch(), bool(given))
        if not following:
            run.end()
        self.refused.accept(used or token, asked)

    def _note_put(self, operation: str, request: Shape, response: Shape, asked: float) -> None:
        entries = request.get("Records", (request,))
        answers = response.get("Records", (response,))
        stream = stream_named(request) or ""
        failed = [each.get("ErrorCode", "") for each in answers]
        places = (position(each.get("SequenceNumber") or "") for each in answers)
        if (place := next(filter(None, places), None)) is not None:
            writing = self.writings.get(place.stream) or self._begin_writing(place.stream)
            writing.calls += 1
            writing.records += sum(not each for each in failed)
            number = next(each["SequenceNumber"] for each in answers if each.get("SequenceNumber"))
            writing.answer = f'{{"SequenceNumber":"{number}'
            self._recorder.note_turn(place.stream, place, self)
        if not any(failed) and not self.refused.open:
            return
        fault = self._recorder.strikes.find_refusing(stream, asked) if any(failed) else ""
        for entry, code in zip(entries, failed, strict=False):
            if code:
                data: bytes = entry["Data"]
                call = _Refused(operation, stream, code, asked, fault)
                self._refuse(_key(entry), call, data, batch=operation == "PutRecords")
            else:
                self.refused.accept(_key(entry), asked)

    def _begin_writing(self, number: int) -> WritingRecord:
        if len(self.writings) >= MOST_STREAMS:
            del self.writings[next(iter(self.writings))]
        writing = self.writings[number] = WritingRecord(self._clock.time())
        return writing

    def _refuse(self, key: Hashable, call: _Refused, data: bytes = b"", *, batch: bool = False) -> None:
        at, moment = self._clock.time(), stopwatch()
        self.refused.forget_old(moment)
        refusal = RefusedAttempt(
            self.name,
            call.stream,
            call.operation,
            call.code,
            at,
            fault=call.fault,
            batch=batch,
            message_id=_peek(data).message_id if data else None,
            bytes=len(data),
        )
        self.refused.refuse(key, refusal, call.asked, moment)


class Recorder:
    """The records of every client. Used from the event loop of the AWS port; read from any thread.

    Where an upstream has the streams, ``places`` tells what its iterators and sequence numbers stand for.
    With a ``trace``, which has what takes the full path alone, every call is written down as an item too.
    """

    trace: KinesisTrace | None = None

    def __init__(self, clock: Clock, wiretap: Wiretap, places: UpstreamPlaces | None = None) -> None:
        self.clock, self.wiretap, self.places = clock, wiretap, places
        self.strikes = Strikes()
        self.batches = HandledBatches()
        self.last_writer: dict[int, ClientRecord | None] = {}
        self.forgotten: set[int] = set()
        """The numbers of the streams of which reads were forgotten."""
        self._clients: dict[Identity, ClientRecord] = {}
        self.known: dict[tuple[str, bytes], ClientRecord] = {}
        """The records of clients that called before: for the fast path, which saves a call of ``find``."""
        self._turns: dict[int, deque[tuple[Position, str]]] = {}

    def find(self, access_key: str, user_agent: bytes) -> ClientRecord:
        """The record of the client with this access key's id and User-Agent header."""
        alias = (access_key, user_agent)
        known = self.known.get(alias)
        if known is None:
            if len(self.known) >= _MOST_ALIASES:
                self.known.clear()
            known = self.known[alias] = self._find(identify(access_key, user_agent.decode("latin-1")))
        return known

    def find_consumer(self, access_key: str, arn: str) -> ClientRecord:
        """The record of a consumer that is registered for enhanced fan-out."""
        return self._find(identify(access_key, "", arn))

    def note_request(self) -> None:
        """Note a request to another service than Kinesis, such as one for leases: for the trace alone."""
        if self.trace is not None:
            self.trace.trace.note_request()

    def note_turn(self, number: int, place: Position, client: ClientRecord | None) -> None:
        """Note that from this record on this client writes to a stream; None is the control API."""
        if self.last_writer.get(number, self) is not client:
            if len(self._turns) >= MOST_STREAMS:
                del self._turns[oldest := next(iter(self._turns))]
                self.last_writer.pop(oldest, None)
            self.last_writer[number] = client
            turns = self._turns.setdefault(number, deque(maxlen=_MOST_TURNS))
            turns.append((place, client.name if client else CONTROL_API))

    def find_writers(self, number: int, place: Position) -> tuple[str, ...]:
        """The clients that may have put a record; empty for none known, more than one where it is not clear.

        Writers are told apart by the time of arrival, and within a millisecond by the order in a shard.
        """
        found: tuple[str, ...] = ()
        for began, name in tuple(self._turns.get(number, ())):
            if began.arrival > place.arrival:
                break
            if began.arrival < place.arrival or began.prefix == place.prefix:
                found = (name,) if began.arrival < place.arrival or began.ordinal <= place.ordinal else found
            else:
                found = (*found, name)
        return tuple(dict.fromkeys(found))

    def find_deliveries(self, place: Position) -> list[tuple[str, RecordDelivery]]:
        """Which clients were given the record at ``place``, and when; once for each run of reads."""
        return [
            (client.name, delivery)
            for client in self.clients()
            if (record := client.shards.get((place.stream, place.shard))) is not None
            for run in tuple(record.runs)
            if (delivery := run.find_delivery(place.ordinal)) is not None
        ]

    def make_room(self) -> None:
        """Forget the tenth of the shards that are quiet for longest, when there are too many."""
        if sum(len(client.shards) for client in self.clients()) < MOST_SHARDS:
            return
        records = [
            (each.last, client, key) for client in self.clients() for key, each in client.shards.items()
        ]
        records.sort(key=lambda found: found[0])
        for _, client, key in records[: MOST_SHARDS // 10]:
            del client.shards[key]
            self.forgotten.add(key[0])

    def clients(self) -> list[ClientRecord]:
        return list(self._clients.values())

    def find_holders(self) -> dict[ShardIterator, str]:
        """The names of the clients, by the iterator that each of their runs goes on with."""
        return {
            run.held: client.name
            for client in self.clients()
            for record in list(client.shards.values())
            for run in list(record.runs)
            if run.held is not None
        }

    def list_clients(self) -> Iterable[Client]:
        """Every client, as rules see it."""
        return [
            Client(each.name, *each.identity, each.calls, each.first, each.last) for each in self.clients()
        ]

    def clear(self) -> None:
        """Forget everything."""
        if self.places is not None:
            self.places.clear()
        self._clients.clear()
        self.known.clear()
        self._turns.clear()
        self.last_writer.clear()
        self.forgotten.clear()
        self.strikes.clear()
        self.batches.clear()

    def _find(self, identity: Identity) -> ClientRecord:
        if (known := self._clients.get(identity)) is None:
            if len(self._clients) >= MOST_CLIENTS:
                quiet = min(self._clients.values(), key=lambda each: each.last)
                self.forgotten |= {number for number, _ in quiet.shards}
                del self._clients[quiet.identity]
                self.known = {alias: each for alias, each in self.known.items() if each is not quiet}
            known = self._clients[identity] = ClientRecord(self, identity)
        return known


def _read_token(token: str) -> ShardIterator | None:
    """What a shard iterator of the engine's holds, expired or not; None for another's."""
    try:
        return iterators.read(token, now=0)
    except KinesisError:
        return None


def _key(entry: Shape) -> Hashable:
    return _identify_record(entry["Data"], entry.get("PartitionKey"))


def _identify_record(data: bytes, partition_key: str | None) -> Hashable:
    """What a record is known by when it comes again, on either path: a retry may write the message anew."""
    return _peek(data, partition_key or "").message_id or hash((partition_key, data))
