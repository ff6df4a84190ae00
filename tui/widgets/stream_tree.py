"""Streams and their shards as a lineage tree: hash ranges as bars, rates and lag as sparklines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from textual.message import Message

from rdss_sandbox.shapes.diagnosis import Finding
from rdss_sandbox.shapes.readers import ReaderList
from rdss_sandbox.shapes.streams import Shard, StreamDetail
from rdss_sandbox.text.figures import rate, shard, short_count, size
from tui.state.worker_messages import ObservedState
from tui.text import lineage
from tui.text.bars import range_bar, sparkline
from tui.text.columns import ListColumn
from tui.text.lag import behind
from tui.text.lineage import Branch
from tui.text.readings import Readings
from tui.widgets.row_list import RowList

_BAR_CELLS = 9
_SPARK_CELLS = 6


@dataclass(frozen=True)
class TreeLine:
    """A line of the tree: a stream or shard with its rate and its lag, now and over time.

    ``now`` and ``rates`` are records per second. ``behind`` and ``lags`` are numbers of records; ``behind``
    is None without a reader. ``found`` counts the findings about clients.
    """

    branch: Branch
    now: float
    rates: tuple[float, ...]
    behind: int | None
    lags: tuple[float, ...]
    found: int = 0

    @property
    def name(self) -> str:
        """``input`` for a stream, ``input 0003`` for a shard of it."""
        shard_of_it = f" {shard(self.branch.shard.id)}" if self.branch.shard else ""
        return f"{self.branch.stream.name}{shard_of_it}"

    @property
    def held(self) -> StreamDetail | Shard:
        return self.branch.shard or self.branch.stream

    @property
    def closed(self) -> bool:
        return self.branch.shard is not None and not self.branch.shard.open


def label(branch: Branch) -> str:
    """``▾ input`` for a stream, ``├ ● 0003`` for a shard, ``└ ○ 0001 + 0002`` for a closed merged one."""
    if branch.shard is None:
        return f"▾ {branch.stream.name}"
    others = "".join(f" + {shard(other)}" for other in branch.others)
    return f"  {branch.trunk}{'●' if branch.shard.open else '○'} {shard(branch.shard.id)}{others}"


def hash_range(branch: Branch) -> str:
    """The hash key range of a shard as a bar; for a stream ``2 ● 3 ○``, its open and closed shards."""
    if branch.shard is None:
        closed = f" {branch.stream.closed_shards} ○" if branch.stream.closed_shards else ""
        return f"{branch.stream.open_shards} ●{closed}"
    return range_bar(*lineage.hash_bounds(branch.shard), _BAR_CELLS)


def _lag(line: TreeLine) -> str:
    return sparkline(line.lags, _SPARK_CELLS) if line.behind is not None else ""


def _tone(line: TreeLine) -> str:
    if line.found:
        return "error"
    return "dim" if line.closed else ""


def _name(line: TreeLine) -> str:
    """The label, with a mark where clients do something wrong."""
    return f"{label(line.branch)} !{line.found}" if line.found else label(line.branch)


def _bar_tone(line: TreeLine) -> str:
    return "primary" if line.branch.shard and line.branch.shard.open else "dim"


def _waiting(line: TreeLine) -> str:
    """The lag as text, empty without a reader."""
    return "" if line.behind is None else short_count(line.behind)


TREE_COLUMNS: tuple[ListColumn[TreeLine], ...] = (
    ListColumn("stream, shard", 18, _name, _tone, worth=9, stretch=True),
    ListColumn("hash keys", _BAR_CELLS, lambda line: hash_range(line.branch), _bar_tone, worth=8),
    ListColumn("records", 7, lambda line: short_count(line.held.records), _tone, right=True, worth=8),
    ListColumn("bytes", 7, lambda line: size(line.held.bytes), "dim", right=True, worth=2),
    ListColumn(
        "per s",
        7,
        lambda line: rate(line.now).removesuffix("/s") if line.now else "",
        "good",
        right=True,
        worth=6,
    ),
    ListColumn("rate", _SPARK_CELLS, lambda line: sparkline(line.rates, _SPARK_CELLS), "good", worth=5),
    ListColumn("behind", 6, _waiting, lambda line: "warning" if line.behind else "good", right=True, worth=7),
    ListColumn("lag", _SPARK_CELLS, _lag, "warning", worth=5),
)


class StreamTree(RowList[TreeLine]):
    """Shows the streams and shards; posts ``Chosen`` for the message list."""

    @dataclass
    class Chosen(Message):
        """The user chose a stream or shard, or None for all messages."""

        branch: Branch | None

    def __init__(self) -> None:
        self.records = Readings()
        """The number of records by branch, over the last minute."""
        self.waiting = Readings()
        """The number of records behind by branch, where there is a reader."""
        self._behind: Mapping[str, int] = {}
        self._findings: Sequence[Finding] = ()
        self.chosen: Branch | None = None
        super().__init__(
            TREE_COLUMNS, marked=self._is_chosen, empty="no streams yet", title="streams", id="tree"
        )

    def show(
        self,
        snapshot: ObservedState,
        streams: Sequence[StreamDetail],
        readers: ReaderList,
        findings: Sequence[Finding] = (),
    ) -> None:
        """Draw the streams and their readers as of a snapshot, and add them to the readings."""
        for stream in streams:
            counts = [(f"{stream.name}/{each.id}", each.records) for each in stream.shards]
            for name, records in ((stream.name, stream.records), *counts):
                self.records.note(name, snapshot.at, records)
        self._findings = findings
        self._behind = behind(readers.readers, snapshot.status.clock.time, streams)
        for name, records in self._behind.items():
            self.waiting.note(name, snapshot.at, records)
        self.fill([self._line_of(branch) for branch in lineage.build_branches(streams)])

    def _line_of(self, branch: Branch) -> TreeLine:
        rates = tuple(self.records.latest_rates(branch.key, _SPARK_CELLS))
        return TreeLine(
            branch,
            rates[-1] if rates else 0.0,
            rates,
            self._behind.get(branch.key),
            tuple(self.waiting.latest_levels(branch.key, _SPARK_CELLS)),
            sum(concerns(each, branch) for each in self._findings),
        )

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        message.stop()
        branch: Branch = message.row.branch
        self.chosen = None if self.chosen and self.chosen.key == branch.key else branch
        self.redraw()
        self.post_message(self.Chosen(self.chosen))

    def _is_chosen(self, line: TreeLine) -> bool:
        return self.chosen is not None and self.chosen.key == line.branch.key


def concerns(finding: Finding, branch: Branch) -> bool:
    """Whether a finding is about this shard, or about this stream or any shard of it."""
    if finding.stream != branch.stream.name:
        return False
    return branch.shard is None or finding.shard == branch.shard.id


def scope(branch: Branch | None) -> str:
    """The filter for the messages of a branch; empty for None."""
    if branch is None:
        return ""
    return f"stream:{branch.stream.name}" + (f" shard:{branch.shard.id}" if branch.shard else "")
