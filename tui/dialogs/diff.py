"""The differences between two messages, the earlier one first."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label

from rdss_sandbox.shapes.messages import MessageDetail
from rdss_sandbox.text import figures
from tui.text.difference import difference, lines_of
from tui.widgets.key_footer import KeyFooter
from tui.widgets.text_lines import TextLines


class Diff(ModalScreen[None]):
    """Shows lines that only the first message has with ``-``, and those of the second with ``+``."""

    BINDINGS: ClassVar[list[Any]] = [Binding("escape,q,d", "dismiss(None)", "Close", key_display="esc")]
    DEFAULT_CSS = """
    Diff Label { padding: 0 1; width: 100%; }
    Diff #verdict { text-style: bold; color: $text-accent; }
    """

    def __init__(self, first: MessageDetail, second: MessageDetail) -> None:
        super().__init__()
        self._first = first
        self._second = second

    def compose(self) -> ComposeResult:
        found = difference(lines_of(self._first), lines_of(self._second))
        with Vertical(classes="over") as over:
            over.border_title = "two messages compared"
            yield Label(f"- {_name(self._first)}", markup=False)
            yield Label(f"+ {_name(self._second)}", markup=False)
            yield Label(self._verdict(found), id="verdict", markup=False)
            lines = TextLines()
            lines.show(found, json=True, signs=True)
            yield lines
        yield KeyFooter()

    def on_mount(self) -> None:
        self.query_one(TextLines).focus()

    def _verdict(self, found: list[str]) -> str:
        apart = figures.span(self._second.time - self._first.time)
        if not found:
            same = self._first.sequence_number == self._second.sequence_number
            kind = (
                "the same record, delivered again"
                if same
                else "the same payload under another sequence number"
            )
            return f"equal: {kind}, {apart} later"
        changed = sum(line[0] in "-+" for line in found)
        return f"{figures.counted(changed, 'line')} differ{'s' if changed == 1 else ''}, {apart} apart"


def _name(detail: MessageDetail) -> str:
    return (
        f"#{detail.id} {detail.stream} {figures.shard(detail.shard)} {figures.clock_time(detail.time)} "
        f"{figures.size(detail.size)} {detail.message_id or ''}"
    )
