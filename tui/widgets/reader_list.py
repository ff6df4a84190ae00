"""The readers of streams, their positions and their lag."""

from __future__ import annotations

from dataclasses import dataclass

from rdss_sandbox.shapes import readers
from rdss_sandbox.shapes.readers import Reader
from rdss_sandbox.text.figures import count, shard, span, tail
from tui.state.worker_messages import ObservedState
from tui.text.columns import ListColumn
from tui.text.lag import live
from tui.text.pretty import pretty
from tui.widgets.row_list import RowList, Whole

_KINDS = {"iterator": "iterator", "subscription": "fan-out", "consumer": "registered"}


@dataclass(frozen=True)
class ReaderLine:
    """A reader at the time ``now``, in whole seconds since the epoch."""

    reader: Reader
    now: int

    @property
    def place(self) -> str:
        reader = self.reader
        return f"{reader.stream} {shard(reader.shard)}" if reader.shard else reader.stream

    @property
    def idle(self) -> str:
        return span(max(0, self.now - int(self.reader.seen)))


def _tone(line: ReaderLine) -> str:
    return "" if live(line.reader, line.now) else "dim"


def _waiting(line: ReaderLine) -> str:
    return count(line.reader.behind) if line.reader.shard else ""


def _late(line: ReaderLine) -> str:
    return span(line.reader.late) if line.reader.behind else ""


def _tell(line: ReaderLine) -> Whole:
    who = line.reader.client or line.reader.consumer or "a client that is not known"
    return f"{who} reads {line.place}", pretty(line.reader)


READER_COLUMNS: tuple[ListColumn[ReaderLine], ...] = (
    ListColumn("kind", 10, lambda line: _KINDS[line.reader.kind], _tone, worth=7),
    ListColumn("stream, shard", 13, lambda line: line.place, _tone, worth=9),
    ListColumn(
        "behind", 7, _waiting, lambda line: "warning" if line.reader.behind else "good", right=True, worth=9
    ),
    ListColumn("late", 8, _late, "warning", right=True, worth=7),
    ListColumn("records", 8, lambda line: count(line.reader.records), _tone, right=True, worth=6),
    ListColumn("reads", 6, lambda line: count(line.reader.reads), "dim", right=True, worth=3),
    ListColumn("seen", 8, lambda line: line.idle, "dim", right=True, worth=5),
    ListColumn("at", 8, lambda line: tail(line.reader.position or "", 8), "dim", worth=4),
    ListColumn(
        "read by",
        16,
        lambda line: line.reader.client or line.reader.consumer or "",
        _tone,
        worth=9,
        stretch=True,
    ),
)


class ReaderTable(RowList[ReaderLine]):
    """Shows iterators and fan-out consumers: live ones first, then by lag."""

    def __init__(self) -> None:
        super().__init__(
            READER_COLUMNS, whole=_tell, empty="nobody reads the streams yet", title="readers", id="readers"
        )

    def show(self, snapshot: ObservedState, readers: readers.ReaderList) -> None:
        if not readers.known and not readers.readers:
            self.show_empty("the upstream of these streams does not say who reads them")
            return
        now = int(snapshot.status.clock.time)
        lines = [ReaderLine(reader, now) for reader in readers.readers]
        lines.sort(
            key=lambda line: (not live(line.reader, now), -line.reader.behind, line.place, line.reader.began)
        )
        self.fill(lines)
