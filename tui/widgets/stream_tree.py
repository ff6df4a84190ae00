"""Streams and their shards as a lineage tree, with hash ranges as bars and rates as sparklines."""

from __future__ import annotations

from textual.message import Message

from tui import lineage
from tui.columns import Column
from tui.figures import count, rate, shard, size
from tui.lineage import Branch
from tui.messages import Snapshot
from tui.rates import Rates, range_bar, sparkline
from tui.widgets.row_list import RowList

_BAR_CELLS = 12
_SPARK_CELLS = 10


def label(branch: Branch) -> str:
    """``▾ input`` for a stream, ``├ ● 0003`` for a shard, ``└ ○ 0001 + 0002`` for a closed merged one."""
    if branch.shard is None:
        return f"▾ {branch.stream.name}"
    others = "".join(f" + {shard(other)}" for other in branch.others)
    return f"  {branch.trunk}{'●' if branch.shard.open else '○'} {shard(branch.shard.id)}{others}"


def hash_range(branch: Branch) -> str:
    """The shard's part of all hash keys as a bar; for a stream ``2 ● 3 ○``: two open shards, three closed."""
    if branch.shard is None:
        closed = f" {branch.stream.closed_shards} ○" if branch.stream.closed_shards else ""
        return f"{branch.stream.open_shards} ●{closed}"
    return range_bar(*lineage.span(branch.shard), _BAR_CELLS)


def _tone(branch: Branch) -> str:
    return "" if branch.shard is None or branch.shard.open else "dim"


def _bar_tone(branch: Branch) -> str:
    return "accent" if branch.shard and branch.shard.open else "dim"


def _records(branch: Branch) -> str:
    return count((branch.shard or branch.stream).records)


def _bytes(branch: Branch) -> str:
    return size((branch.shard or branch.stream).bytes)


def columns(rates: Rates) -> tuple[Column[Branch], ...]:
    """What a line of the tree shows, with the rates from ``rates``."""

    def now(branch: Branch) -> str:
        return rate(per_second) if (per_second := rates.now(branch.key)) else ""

    def spark(branch: Branch) -> str:
        return sparkline(rates.of(branch.key), _SPARK_CELLS)

    bars = Column("hash keys", _BAR_CELLS, hash_range, _bar_tone, worth=8)
    return (
        Column("stream, shard", 20, label, _tone, worth=9, stretch=True),
        bars,
        Column("records", 8, _records, _tone, right=True, worth=8),
        Column("bytes", 7, _bytes, lambda _: "dim", right=True, worth=4),
        Column("rate", 7, now, lambda _: "good", right=True, worth=6),
        Column("last 30 s", _SPARK_CELLS, spark, lambda _: "good", worth=5),
    )


class StreamTree(RowList[Branch]):
    """The streams; says which is ``Chosen`` for the message list."""

    class Chosen(Message):
        """Messages of this branch are wanted; None for all of them."""

        def __init__(self, branch: Branch | None) -> None:
            super().__init__()
            self.branch = branch

    def __init__(self) -> None:
        self._rates = Rates()
        self.chosen: Branch | None = None
        super().__init__(columns(self._rates), marked=self._is_chosen, empty="no streams yet", id="tree")

    def show(self, snapshot: Snapshot) -> None:
        """Draw the streams as they stand."""
        for stream in snapshot.streams:
            self._rates.note(stream.name, snapshot.at, stream.records)
            for each in stream.shards:
                self._rates.note(f"{stream.name}/{each.id}", snapshot.at, each.records)
        self.fill(lineage.grow(snapshot.streams))

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        message.stop()
        branch: Branch = message.row
        self.chosen = None if self.chosen and self.chosen.key == branch.key else branch
        self.redraw()
        self.post_message(self.Chosen(self.chosen))

    def _is_chosen(self, branch: Branch) -> bool:
        return self.chosen is not None and self.chosen.key == branch.key


def scope(branch: Branch | None) -> str:
    """The filter that lets through the messages of a branch."""
    if branch is None:
        return ""
    return f"stream:{branch.stream.name}" + (f" shard:{branch.shard.id}" if branch.shard else "")
