"""One sequence: its parts in order, and the joined body or the missing parts."""

from __future__ import annotations

from textual import work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Label

from rdss_sandbox.shapes.messages import MessageRow
from rdss_sandbox.shapes.sequences import SequenceRow
from rdss_sandbox.text import figures
from tui.session import posting_failures, session_of
from tui.text import sequence_parts
from tui.text.columns import ListColumn
from tui.text.pretty import pretty
from tui.widgets.row_list import RowList, Whole
from tui.widgets.text_lines import TextLines

_PARTS_READ = 200

PART_COLUMNS: tuple[ListColumn[MessageRow], ...] = (
    ListColumn("part", 7, lambda row: f"{row.position}/{row.total}", "accent", right=True, worth=9),
    ListColumn("time (UTC)", 12, lambda row: figures.clock_time(row.time), "dim", worth=8),
    ListColumn("shard", 5, lambda row: figures.shard(row.shard), "dim", worth=5),
    ListColumn("size", 7, lambda row: figures.size(row.size), right=True, worth=6),
    ListColumn(
        "marks", 20, lambda row: ", ".join(row.marks), lambda row: "warning" if row.marks else "", worth=7
    ),
    ListColumn("message id", 8, lambda row: row.message_id or "", "dim", worth=3, stretch=True),
)


class SequenceDetail(Vertical):
    """Fetches a sequence and shows its parts and its body."""

    DEFAULT_CSS = """
    SequenceDetail {
        Label { width: 100%; padding: 0 1; background: $panel; }
        RowList { height: 1fr; max-height: 40%; min-height: 3; }
        TextLines { height: 2fr; }
    }
    """

    def compose(self) -> ComposeResult:
        yield Label(id="state", markup=False)
        yield RowList(PART_COLUMNS, whole=_tell, empty="no parts", title="parts")
        yield TextLines(title="the joined body")

    @work(group="sequence", exclusive=True)
    async def show(self, sequence: str, stream: str) -> None:
        client = session_of(self).client
        matching = f'sequence:"{sequence}" stream:"{stream}" total>1'
        with posting_failures(self):
            found = (await client.sequences(matching=matching, limit=1)).sequences
            rows = (await client.messages(matching=matching, limit=_PARTS_READ)).messages
            ordered = tuple(sorted(rows, key=lambda row: (row.position or 0, row.id)))
            lines = ["the body can be joined when every part is there"]
            if found and found[0].complete and len(ordered) < _PARTS_READ:
                lines = sequence_parts.list_body(await client.joined(sequence, stream=stream))
            self.call_later(self._draw, found[0] if found else None, ordered, lines)

    def _draw(self, row: SequenceRow | None, parts: tuple[MessageRow, ...], lines: list[str]) -> None:
        label = (
            f"{sequence_parts.cells(row, 60)}  {sequence_parts.describe_parts(row)}"
            if row
            else "no such sequence any more"
        )
        self.query_one("#state", Label).update(label)
        self.query_one(RowList).fill(parts)
        self.query_one(TextLines).show(lines, json=True)


def _tell(row: MessageRow) -> Whole:
    marks = f", {', '.join(row.marks)}" if row.marks else ""
    where = f"{row.stream} {figures.shard(row.shard)}"
    return f"part {row.position} of {row.total}, {where}{marks}", pretty(row)
