"""Reads the trace of a certificate as a tape: its messages, reads, refusals and shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from extensions.tape.tape_format import FORMAT
from extensions.tape.tape_reader import BadTapeError
from rdss_sandbox.shapes.tape import (
    TapedChannel,
    TapedMessage,
    TapedRead,
    TapedRefusal,
    TapeEntry,
    TapeMark,
)
from rdss_sandbox.shapes.trace import IteratorRequest, Put, Read

_Row: TypeAlias = TapedMessage | TapedChannel | IteratorRequest | Read | Put
_read_row: Final = msgspec.json.Decoder(_Row).decode


class _Kind(msgspec.Struct):
    """What a line says of its kind: a row of a certificate, or an event of a run."""

    type: str = ""
    kind: str = ""


_read_kind: Final = msgspec.json.Decoder(_Kind).decode
_KINDS: Final = frozenset({"message", "channel", "iterator", "read", "put"})


class CertifiedTrace:
    """The ``events.ndjson`` of a certificate, as a ``Tape``; its times count from the start of the trial.

    Raises ``BadTapeError`` for another file, and for one without messages.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mark = TapeMark(FORMAT, "unknown", 0.0, f"the certificate beside {path}")
        self.troubles: list[str] = []
        self._entries = list(self._read_lines())
        if not any(isinstance(each, TapedMessage) for each in self._entries):
            raise BadTapeError(
                f"{path} is no tape: the events.ndjson of a certificate has messages as a tape has them, and "
                "this has none; a run of a scenario is played again from its seed"
            )
        self.entries = len(self._entries)
        self.first, self.last = self._entries[0].at, self._entries[-1].at

    def read(self, start: float | None = None, end: float | None = None) -> Iterator[TapeEntry]:
        for each in self._entries:
            if (start is None or each.at >= start) and (end is None or each.at < end):
                yield each

    def _read_lines(self) -> Iterator[TapeEntry]:
        try:
            lines = self.path.read_bytes().splitlines()
        except OSError as error:
            raise BadTapeError(f"{self.path} cannot be read: {error.strerror}") from error
        bad = 0
        for line in lines:
            try:
                if _read_kind(line).type in _KINDS:
                    yield from _convert(_read_row(line))
            except (msgspec.MsgspecError, UnicodeDecodeError):
                bad += 1
        if bad:
            self.troubles.append(f"{self.path} has {bad} lines that cannot be read: they are left out")


def _convert(row: _Row) -> Iterator[TapeEntry]:
    match row:
        case TapedMessage() | TapedChannel():
            yield row
        case IteratorRequest():
            yield _read(row, "GetShardIterator", start=row.start)
        case Read():
            yield _read(row, "GetRecords", records=len(row.records), ended=row.ended)
        case Put():
            yield from _list_refusals(row)


def _read(
    row: IteratorRequest | Read, operation: str, *, start: str = "", records: int = 0, ended: bool = False
) -> TapedRead | TapedRefusal:
    if row.error:
        return TapedRefusal(row.at, row.stream, operation, row.error, shard=row.shard)
    return TapedRead(
        row.at, row.stream, operation, shard=row.shard, start=start, records=records, ended=ended
    )


def _list_refusals(put: Put) -> Iterator[TapedRefusal]:
    """The refusals of a put; what was accepted of it stands among the messages."""
    count = len(put.entries)
    codes = Counter({put.error: count}) if put.error else Counter(each.error for each in put.entries)
    for code, records in codes.items():
        if code:
            yield TapedRefusal(
                put.at,
                put.stream,
                "PutRecords" if put.batch else "PutRecord",
                code,
                records=records,
                of=count,
                latency=put.at - put.asked,
            )
