"""Files of a data directory: a journal's segments, snapshots, and what the broker keeps.

The first byte of an input chooses the file. From 128 on the checksums of a log or a snapshot are set right,
since chance finds none. What is packed, and what the broker keeps, is read as it is: their checksums say that
we wrote it.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
from isal.isal_zlib import compress

from emulator.journal import DamagedLogError, KeyedLog
from emulator.journal.checking import find_damage
from emulator.journal.frames import HEADER_BYTES, header
from emulator.journal.segments import Segments
from emulator.snapshots import snapshot_file
from emulator.snapshots.snapshot_errors import UnreadableError
from extensions.tape.tape_format import FORMAT
from extensions.tape.tape_reader import BadTapeError, TapeFile
from extensions.tape.tape_writer import TapeWriter
from rdss_sandbox.shapes.snapshots import Snapshot
from rdss_sandbox.shapes.tape import TapedMessage, TapeMark
from tests.emulator.amqp.calls import bind, exchange, publish, queue
from tests.emulator.amqp.engine_client import OwnBroker
from tests.emulator.amqp.raw_client import build_properties
from tests.fuzz.fuzzed_parser import FuzzedParser, Parse, refusals

_FIELDS: Final = struct.Struct("<IIIIQQ")
_SET_RIGHT: Final = 128
_SEGMENTS: Final = ("0000000000000001.log", "0000000000000001.packed", "keyed.log")
_BROKER: Final = (
    "definitions.log",
    "00000001.messages.log",
    "00000001.settled.log",
    "00000001.messages.packed",
)
_AS_IT_IS: Final = (*_SEGMENTS[:2], *_BROKER)


def _set_right(data: bytes) -> bytes:
    """The frames in ``data`` with lengths that fit and the checksums that they should have."""
    written, at = bytearray(), 0
    while at + HEADER_BYTES <= len(data):
        length, _, lines, size, ordinal, arrival = _FIELDS.unpack_from(data, at)
        payload = data[at + HEADER_BYTES :][:length]
        written += header(payload, lines=lines, size=size, ordinal=ordinal, arrival=arrival) + payload
        at += HEADER_BYTES + len(payload)
    return bytes(written + data[at:])


def _place(folder: Path, names: tuple[str, ...], data: bytes) -> str:
    """Write an input to the file that it chooses, and return its name."""
    name = names[data[0] % _SET_RIGHT % len(names)] if data else names[0]
    sets_right = data[:1] >= b"\x80" and name not in _AS_IT_IS
    (folder / name).write_bytes(_set_right(data[1:]) if sets_right else data[1:])
    return name


def _open_journal() -> Parse:
    def parse(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as made, refusals(DamagedLogError):
            folder = Path(made)
            if _place(folder, _SEGMENTS, data) == "keyed.log":
                with closing(KeyedLog(folder / "keyed.log")) as log:
                    log.read()
                return
            for _ in find_damage([folder / name for name in _SEGMENTS if (folder / name).exists()]):
                pass
            segments = Segments(folder)
            try:
                ordinal = 1
                while ordinal < segments.next and (found := segments.read(ordinal, 100, 1 << 20)).lines:
                    ordinal = found.next
                segments.first_at_or_after(1)
                segments.append(b"{}\n", 1, 2, 1)
            finally:
                segments.close()

    return parse


def _journal_seeds() -> Iterable[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        segments = Segments(folder / "shard", segment_bytes=200)
        for number in range(4):
            segments.append(b'{"Data":"aGVsbG8="}\n' * 3, 3, 60, 1000 + number)
        if (cold := segments.cold) is not None:
            segments.replace(cold, cold.pack())
        segments.close()
        log = KeyedLog(folder / "keyed.log")
        log.append([(b"key", b"value"), (b"other", None)])
        log.close()
        for path in sorted((folder / "shard").iterdir()):
            if path.suffix in (".log", ".packed"):
                yield (
                    f"segment{path.suffix}",
                    bytes((_SET_RIGHT + (path.suffix == ".packed"),)) + path.read_bytes(),
                )
        yield "keyed", bytes((_SET_RIGHT + 2,)) + (folder / "keyed.log").read_bytes()
        yield "torn", bytes((2,)) + (folder / "keyed.log").read_bytes()[:-3]


def _open_snapshot() -> Parse:
    def parse(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as made, refusals(UnreadableError):
            _place(Path(made), ("s.snapshot",), data)
            snapshot_file.read(Path(made) / "s.snapshot")

    return parse


def _snapshot_seeds() -> Iterable[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "s.snapshot"
        about = Snapshot("s", 1.0, 2, 3)
        snapshot_file.write(path, about, {"streams": [b"one", b"two"], "services": []})
        yield "snapshot", b"\x80" + path.read_bytes()
        yield "as-it-is", b"\0" + path.read_bytes()


def _open_broker() -> Parse:
    def parse(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as made, refusals(DamagedLogError):
            _place(Path(made), _BROKER, data)
            own = OwnBroker(Path(made))
            own.client().ask(queue("fresh"))
            own.broker.close()

    return parse


def _broker_seeds() -> Iterable[tuple[str, bytes]]:
    with tempfile.TemporaryDirectory() as made:
        own = OwnBroker(Path(made))
        client = own.client()
        client.ask(exchange("e", "topic", durable=True))
        client.ask(queue("q", durable=True, arguments={"x-max-length": 5}))
        client.ask(bind("e", "a.#", to="q"))
        client.publish(publish("a.b", "e"), b"body", build_properties({"h": 1}, 2))
        client.publish(publish("k\udcff", ""), b"body", build_properties(None, 2))
        own.broker.close()
        for place, name in enumerate(_BROKER):
            if (path := Path(made) / name).exists():
                yield name, bytes((_SET_RIGHT + place,)) + path.read_bytes()


def _open_tape() -> Parse:
    """A tape as it is, or one of a mark, a line, and what is compressed into its block."""

    def parse(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as made, refusals(BadTapeError):
            path = Path(made) / "t.tape"
            if data[:1] >= b"\x80":
                mark, _, block = data[1:].partition(b"\n")
                packed = compress(block)
                written = header(mark, lines=0) + mark + header(packed, lines=1, arrival=1000) + packed
                path.write_bytes(written)
            else:
                path.write_bytes(data[1:])
            tape = TapeFile.open(path)
            list(tape.read())
            list(tape.read(1.0, 2.0))

    return parse


def _tape_seeds() -> Iterable[tuple[str, bytes]]:
    mark = TapeMark(FORMAT, "0", 1.0, "stream input")
    entries = [TapedMessage(1.0, "input", b"{}", 2), TapedMessage(1.5, "input", b"\xff", 1, key="k")]
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "t.tape"
        with TapeWriter(path, mark) as tape:
            for entry in entries:
                tape.add(entry)
        yield "whole", b"\0" + path.read_bytes()
        yield "killed", b"\0" + path.read_bytes()[:-30]
    yield "block", b"\x80" + msgspec.json.encode(mark) + b"\n" + msgspec.msgpack.encode(entries)


JOURNAL = FuzzedParser("segments and logs of the journal", _open_journal, _journal_seeds)
SNAPSHOT = FuzzedParser("snapshots", _open_snapshot, _snapshot_seeds)
TAPE = FuzzedParser("tapes", _open_tape, _tape_seeds)
BROKER_FILES = FuzzedParser("the broker's definitions and messages", _open_broker, _broker_seeds)
