"""A sandbox made of fixed figures, for pictures that must come out the same on every machine."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

from emulator.clock import Clock
from emulator.listeners.control.contract import ContractResources
from emulator.listeners.control.message_content import render_content, render_verdict
from emulator.message_index.sql_filter import compile_filter, list_columns
from rdss_sandbox.client import RefusedError, UnreachableError
from rdss_sandbox.questions.message_filter import MARKS
from rdss_sandbox.shapes import messages as m
from rdss_sandbox.shapes.audit import AuditPlace, AuditStatus
from rdss_sandbox.shapes.buckets import Bucket, ObjectPage, ObjectRow
from rdss_sandbox.shapes.clock import ClockChange, ClockReading
from rdss_sandbox.shapes.contract import Contract, MessageVerdict
from rdss_sandbox.shapes.diagnosis import Diagnosis, Finding
from rdss_sandbox.shapes.events import Event, News
from rdss_sandbox.shapes.faults import Fault, FaultAttribute, FaultChange, FaultType, NewFault
from rdss_sandbox.shapes.readers import Reader, ReaderList
from rdss_sandbox.shapes.sequences import JoinedSequence, SequencePage, SequenceRow
from rdss_sandbox.shapes.status import Status
from rdss_sandbox.shapes.streams import Reshard, Shard, Stream, StreamDetail
from rdss_sandbox.shapes.topology import AuditTap, Topology
from schemas.rdss.contract import RDSS
from tests.tui.canned_faults import FAULT_SETTINGS, FAULT_TYPES
from tests.tui.canned_scenarios import CannedScenarios, NothingInstalled
from tui.state import transfer

_COLUMNS = list_columns(RDSS.fields)
_LABELS = ("message_class", "tenant", "version")
CONTRACT = ContractResources(RDSS, Clock()).contract()
NOON = 1_780_000_000.0
TYPES = ("MetadataCreate", "MetadataUpdate", "MetadataRead", "MetadataDelete", "PreservationEvent")
STREAMS = ("input", "output", "input", "error", "input", "output", "invalid")
CODES = {"error": "GENERR006", "invalid": "GENERR001"}
KEYS = 2**128
Kind = Literal["iterator", "subscription", "consumer"]
TOPOLOGY = Topology(
    streams={"input": 2, "output": 2, "error": 1, "invalid": 1, "audit": 1},
    buckets=("rdss-audit", "rdss-error", "rdss-invalid"),
    audit=AuditTap(),
    archives={"error": "rdss-error", "invalid": "rdss-invalid"},
)
EVENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("sandbox.started", {"version": "0.1.0", "seed": 42}),
    ("fault.added", {"fault": "latency", "channel": "input", "type": "latency"}),
    (
        "stream.resharded",
        {
            "stream": "input",
            "action": "split",
            "closed": ["shardId-000000000000"],
            "opened": ["shardId-000000000002", "shardId-000000000003"],
        },
    ),
    (
        "fault.injected",
        {"fault": "latency", "channel": "input", "did": "held 412 ms", "message_id": "000001f4"},
    ),
)


def shard(
    number: int, parents: tuple[int, ...], children: tuple[int, ...], part: tuple[int, int, int], records: int
) -> Shard:
    """A shard whose hash range is ``part`` (from, to, of)."""
    first, last, of = part
    return Shard(
        id=f"shardId-{number:012}",
        parents=tuple(f"shardId-{parent:012}" for parent in parents),
        children=tuple(f"shardId-{child:012}" for child in children),
        starting_hash_key=str(KEYS * first // of),
        ending_hash_key=str(KEYS * last // of - 1),
        starting_sequence_number=str(49_590_000_000 + number),
        ending_sequence_number=str(49_590_900_000 + number) if children else None,
        open=not children,
        records=records,
        bytes=records * 3512,
        created=NOON,
    )


def reader(kind: Kind, number: int | None, behind: int, late: float, ago: float, **more: Any) -> Reader:
    """A reader of ``input``, seen ``ago`` seconds before the sandbox's time."""
    held: dict[str, Any] = {
        "stream": "input",
        "kind": kind,
        "shard": None if number is None else f"shardId-{number:012}",
        "consumer": None,
        "position": None if number is None else str(49_590_338_271_490_256_608 + number),
        "behind": behind,
        "late": late,
        "began": NOON + 30,
        "seen": NOON + 120 - ago,
        "reads": 12,
        "records": 97,
    }
    return Reader(**(held | more))


READERS = (
    reader("iterator", 1, 0, 0.0, 0.2),
    reader("iterator", 4, 8, 3.4, 0.2, reads=3, records=4),
    reader("iterator", 0, 120, 95.0, 88.0, reads=0, records=0),
    reader("subscription", 4, 2, 0.6, 0.0, consumer="archivist", reads=0, records=10),
    reader("consumer", None, 0, 0.0, 90.0, consumer="idle-one", reads=0, records=0),
)


def stream(name: str, shards: tuple[Shard, ...]) -> StreamDetail:
    return StreamDetail(
        name=name,
        arn=f"arn:aws:kinesis:eu-west-2:000000000000:stream/{name}",
        status="ACTIVE",
        open_shards=sum(each.open for each in shards),
        closed_shards=sum(not each.open for each in shards),
        records=sum(each.records for each in shards),
        bytes=sum(each.bytes for each in shards),
        shards=shards,
    )


def row(number: int) -> m.MessageRow:
    """The ``number``-th message, from 1: every 40th in five parts, some marked, some with a code."""
    name = STREAMS[number % len(STREAMS)]
    marks = tuple(mark for mark, every in zip(MARKS, (11, 17, 29, 13), strict=True) if number % every == 0)
    whole = number % 40 < 5
    return m.MessageRow(
        id=number,
        time=NOON + number * 0.137,
        stream=name,
        shard=f"shardId-{number % 2:012}",
        sequence_number=str(
            49_590_338_271_490_256_608_559_692_538_361_571_095_921_575_989_136_588_898 + number
        ),
        partition_key=f"key-{number}",
        message_id=f"{number:08x}-7f2a-4c1e-9b3d-2f6a8c0d1e4f",
        message_type=TYPES[number % len(TYPES)],
        message_class="Event" if number % len(TYPES) == 4 else "Command",
        sequence=f"{number // 40:08x}-0000-4000-8000-000000000000" if whole else None,
        position=number % 40 + 1 if whole else None,
        total=5 if whole else None,
        size=1_204_511 if "oversize" in marks else 900 + number * 37 % 5000,
        code=CODES.get(name),
        tenant=12,
        version="4.0.0",
        marks=marks,
    )


class Canned:
    """Answers as ``AsyncClient`` does, from ``rows`` and ``streams``; unreachable while ``gone``."""

    url = "http://127.0.0.1:4570"

    def __init__(self, messages: int = 500) -> None:
        self.gone = False
        self.topology = TOPOLOGY
        self.asked: list[tuple[str, Any]] = []
        self.rows: list[m.MessageRow] = []
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "CREATE TABLE message (id, time, stream, shard, sequence_number, partition_key, message_id,"
            " message_type, label_message_class, sequence, position, total, size, code, label_tenant,"
            " label_version, marks)"
        )
        self.arrive(messages)
        self.all_streams = (
            stream("audit", (shard(0, (), (), (0, 1, 1), 871),)),
            stream("error", (shard(0, (), (), (0, 1, 1), 71),)),
            stream(
                "input",
                (
                    shard(0, (), (2, 3), (0, 1, 2), 120),
                    shard(1, (), (), (1, 2, 2), 97),
                    shard(2, (0,), (4,), (0, 1, 4), 31),
                    shard(3, (0,), (4,), (1, 2, 4), 28),
                    shard(4, (2, 3), (), (0, 1, 2), 12),
                ),
            ),
            stream("invalid", (shard(0, (), (), (0, 1, 1), 71),)),
            stream("output", (shard(0, (), (), (0, 1, 2), 80), shard(1, (), (), (1, 2, 2), 63))),
        )
        self.readers_known = True
        self.all_findings: tuple[Finding, ...] = ()
        self.scenarios = CannedScenarios()
        self.queues = self.topics = NothingInstalled()
        self.all_readers: tuple[Reader, ...] = READERS
        self.all_faults: tuple[Fault, ...] = (
            Fault(
                "latency",
                "latency",
                "input",
                "publish",
                0.25,
                {"delay": 0.4, "jitter": 0.1},
                {},
                None,
                True,
                31,
            ),
            Fault("duplicate", "duplicate", "*", "publish", 0.05, {}, {}, None, False, 7),
        )

    def arrive(self, count: int) -> None:
        """Let this many further messages arrive."""
        for number in range(len(self.rows) + 1, len(self.rows) + count + 1):
            made = row(number)
            self.rows.append(made)
            bits = sum(1 << MARKS.index(mark) for mark in made.marks)
            kept = {
                (f"label_{name}" if name in _LABELS else name): getattr(made, name)
                for name in made.__struct_fields__
                if name != "labels"
            } | {"marks": bits}
            places = ", ".join("?" * len(kept))
            self._db.execute(
                f"INSERT INTO message ({', '.join(kept)}) VALUES ({places})", tuple(kept.values())
            )

    async def close(self) -> None:
        """Nothing is open."""

    async def status(self) -> Status:
        self._answer("status")
        return Status(
            version="0.1.0",
            profile="embedded",
            pid=4711,
            uptime=61.0,
            aws="http://127.0.0.1:4566",
            control=self.url,
            amqp=None,
            data_dir="/var/lib/sandbox",
            seed=42,
            clock=ClockReading(NOON + 120, 1.0, True, 120.0),
            streams=tuple(
                Stream(s.name, s.arn, s.status, s.open_shards, s.closed_shards, s.records, s.bytes)
                for s in self.all_streams
            ),
            messages=len(self.rows),
            events=len(EVENTS),
            topology=self.topology,
            notes=(),
        )

    async def follow_news(
        self, *, on_connection: Callable[[bool], None] = lambda _: None
    ) -> AsyncIterator[News]:
        """News of the messages that ``arrive``, and of the connection."""
        known, connected = -1, False
        while True:
            if self.gone == connected:
                connected = not self.gone
                on_connection(connected)
                known = -1
            if connected and len(self.rows) != known:
                yield News(streams=("input",), first=known < 0)
                known = len(self.rows)
            await asyncio.sleep(0.02)

    async def readers(self, stream: str | None = None) -> ReaderList:
        self._answer("readers", stream)
        return ReaderList(self.all_readers if self.readers_known else (), known=self.readers_known)

    async def diagnosis(self) -> Diagnosis:
        self._answer("diagnosis")
        return Diagnosis(NOON, self.all_findings, (), ())

    async def faults(self) -> tuple[Fault, ...]:
        self._answer("faults")
        return self.all_faults

    async def stream(self, name: str) -> StreamDetail:
        self._answer("stream", name)
        return next(each for each in self.all_streams if each.name == name)

    async def reshard(self, name: str, change: Reshard) -> StreamDetail:
        self._answer("reshard", (name, change))
        return await self.stream(name)

    async def messages(
        self, *, offset: int | None = None, after: int | None = None, limit: int = 100, matching: str = ""
    ) -> m.MessagePage:
        self._answer("messages", matching)
        condition = compile_filter(matching, _COLUMNS)
        found = self._db.execute(
            f"SELECT id FROM message WHERE {condition.sql or '1'} ORDER BY id", condition.parameters
        ).fetchall()
        ids = [each[0] for each in found]
        start = sum(each <= after for each in ids) if after is not None else offset or 0
        start = max(0, len(ids) + start) if start < 0 else start
        rows = tuple(self.rows[each - 1] for each in ids[start : start + limit])
        return m.MessagePage(rows, len(ids), len(self.rows))

    async def message(self, row_id: int) -> m.MessageDetail:
        self._answer("message", row_id)
        if not 0 < row_id <= len(self.rows):
            raise RefusedError(404, "no_such_message", f"there is no message {row_id}")
        found = self.rows[row_id - 1]
        envelope = {
            "messageHeader": header(found),
            "messageBody": {"objectUUID": f"{row_id:08x}-0000-4000-8000-00000000abcd"},
        }
        return m.MessageDetail(
            **{name: getattr(found, name) for name in found.__struct_fields__},
            header=envelope["messageHeader"],
            body=envelope["messageBody"],
            raw=json.dumps(envelope),
            events=(
                {
                    "id": 1,
                    "time": found.time + 0.4,
                    "kind": "fault.injected",
                    "fault": "latency",
                    "did": "held 400 ms",
                },
            ),
        )

    async def contract(self) -> Contract:
        return CONTRACT

    async def original(self, row_id: int) -> m.Original:
        return m.Original(transfer.as_bytes(await self.message(row_id)), 0)

    async def verdict(self, row_id: int) -> MessageVerdict:
        """The contract's own; the reason is what the header says."""
        found = await self.message(row_id)
        judged = render_verdict(RDSS.judge(transfer.as_bytes(found), now=found.time))
        return MessageVerdict(**judged, reason=(found.header or {}).get("errorDescription"))

    async def joined(self, sequence: str, *, stream: str) -> JoinedSequence:
        found = await self.messages(matching=f'sequence:"{sequence}" stream:"{stream}" total>1')
        parts = [transfer.as_bytes(await self.message(each.id)) for each in found.messages]
        whole, verdict = RDSS.sequences.judge_parts(parts)
        return JoinedSequence(**render_verdict(verdict), **render_content(whole, RDSS))

    async def reads(self, matching: str = "") -> m.MessageReads:
        """One read of each message, by one client."""
        found = (await self.messages(matching=matching)).messages
        at = [each.time + 0.6 for each in found]
        return m.MessageReads(
            tuple(
                m.MessageRead(each.id, each.stream, each.shard, "test/loader (Boto3/1.40)", time, time)
                for each, time in zip(found, at, strict=True)
            )
        )

    async def export(self, matching: str = "") -> AsyncIterator[bytes]:
        self._answer("export", matching)
        for found in (await self.messages(limit=len(self.rows), matching=matching)).messages:
            yield f"{(await self.message(found.id)).raw}\n".encode()

    def audit(self, place: AuditPlace) -> Canned:
        """The entries of the audit log: one for each message."""
        self._answer("audit", place)
        return self

    async def audit_status(self) -> AuditStatus:
        self._answer("audit_status")
        tap = self.topology.audit
        if tap is None:
            raise RefusedError(404, "no_audit", "this sandbox's topology has no audit log")
        count = len(self.rows)
        return AuditStatus(tap.stream, tap.bucket, tap.taps, count, count - 2, 2, 7)

    async def send(self, message: m.NewMessage) -> m.Sent:
        self._answer("send", message)
        return m.Sent(message.stream, "shardId-000000000000", "4959")

    async def counts(self, by: str, *, matching: str = "") -> tuple[m.Count, ...]:
        self._answer("counts", matching)
        condition = compile_filter(matching, _COLUMNS)
        rows = self._db.execute(
            f"SELECT {by}, count(*) FROM message WHERE {condition.sql or '1'} GROUP BY {by} ORDER BY 2 DESC",
            condition.parameters,
        )
        return tuple(m.Count(*each) for each in rows)

    async def sequences(
        self, *, offset: int = 0, limit: int = 100, matching: str = "", unfinished: bool = False
    ) -> SequencePage:
        self._answer("sequences", matching)
        made = [
            SequenceRow(
                sequence=f"{number:08x}-0000-4000-8000-000000000000",
                stream="input",
                message_type=TYPES[number % len(TYPES)],
                total=total,
                positions=positions,
                parts=len(positions) + number % 2,
                size=total * 998_000,
                first=NOON + number * 3,
                last=NOON + number * 3 + 2,
                expires=NOON + 120 + 312 if number % 2 else None,
            )
            for number, (total, positions) in enumerate(
                ((5, (1, 2, 3, 4, 5)), (3, (1, 3)), (12, tuple(range(1, 12))), (64, tuple(range(1, 40))))
            )
        ]
        kept = [each for each in made if not (unfinished and each.complete)]
        return SequencePage(tuple(kept[offset : offset + limit]), len(kept))

    async def fault_settings(self) -> tuple[FaultAttribute, ...]:
        return FAULT_SETTINGS

    async def fault_types(self) -> tuple[FaultType, ...]:
        self._answer("fault_types")
        return FAULT_TYPES

    async def add_fault(self, fault: NewFault) -> Fault:
        self._answer("add_fault", fault)
        if fault.toxicity is not None and not 0 <= fault.toxicity <= 1:
            raise RefusedError(400, "bad_fault", f"toxicity is {fault.toxicity}: give a share from 0 to 1")
        made = Fault(fault.name or fault.type, fault.type, fault.channel or "*", fault.direction or "publish")
        self.all_faults += (made,)
        return made

    async def change_fault(self, name: str, change: FaultChange) -> Fault:
        self._answer("change_fault", (name, change))
        return self.all_faults[0]

    async def remove_fault(self, name: str) -> Fault:
        self._answer("remove_fault", name)
        gone = next(each for each in self.all_faults if each.name == name)
        self.all_faults = tuple(each for each in self.all_faults if each.name != name)
        return gone

    async def change_clock(self, change: ClockChange) -> ClockReading:
        self._answer("change_clock", change)
        return ClockReading(NOON + 120, 0.0, False, 120.0)

    async def last_event(self) -> int:
        self._answer("last_event")
        return len(EVENTS)

    async def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        self._answer("events", after)
        return [
            Event(number, NOON + number, kind, fields)
            for number, (kind, fields) in enumerate(EVENTS, 1)
            if after < number <= after + limit
        ]

    async def buckets(self) -> tuple[Bucket, ...]:
        self._answer("buckets")
        return tuple(Bucket(name, NOON) for name in ("rdss-audit", "rdss-error", "rdss-invalid"))

    async def objects(
        self, bucket: str, *, prefix: str = "", after: str | None = None, limit: int = 1000
    ) -> ObjectPage:
        self._answer("objects", (bucket, prefix))
        keys = [f"audit/2026/05/{day}/{number:03}.ndjson" for day in (27, 28) for number in range(3)]
        found = tuple(ObjectRow(key, 4096, NOON) for key in [*keys, "report.json"] if key.startswith(prefix))
        return ObjectPage(found, None)

    async def object(self, bucket: str, key: str) -> bytes:
        self._answer("object", (bucket, key))
        return b'{"verdict": "pass"}' if key.endswith(".json") else b'{"n": 1}\n{"n": 2}\n'

    def _answer(self, what: str, given: Any = None) -> None:
        if self.gone:
            raise UnreachableError(self.url, "connection refused or lost")
        self.asked.append((what, given))


def header(of: m.MessageRow) -> dict[str, Any]:
    """A header as the envelope has it."""
    held: dict[str, Any] = {
        "messageId": of.message_id,
        "messageClass": of.message_class,
        "messageType": of.message_type,
        "messageTimings": {"publishedTimestamp": "2026-05-28T20:26:40.100Z"},
        "messageHistory": [
            {"machineId": "adaptor-1", "machineAddress": "10.0.0.7", "timestamp": "2026-05-28T20:26:40.250Z"}
        ],
        "version": of.version,
        "generator": "sandbox",
        "tenantJiscID": 12,
    }
    if of.total:
        held["messageSequence"] = {"sequence": of.sequence, "position": of.position, "total": of.total}
    if of.code:
        held |= {"errorCode": of.code, "errorDescription": "body/objectTitle: required and not there"}
    return held
