"""What clients do wrong, over the present screen: a list, and the evidence of the one under the cursor."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen

from rdss_sandbox.shapes.diagnosis import Finding
from rdss_sandbox.text.figures import clock_time, shard
from tui.dialogs.whole_row import WholeRow
from tui.text.columns import ListColumn
from tui.widgets.key_footer import KeyFooter
from tui.widgets.meaning_pane import MeaningPane
from tui.widgets.row_list import RowList

FINDING_COLUMNS: tuple[ListColumn[Finding], ...] = (
    ListColumn("what", 24, lambda found: found.title, "warning", worth=9, stretch=True),
    ListColumn("stream", 7, lambda found: found.stream, worth=7),
    ListColumn("shard", 5, lambda found: shard(found.shard) if found.shard else "", worth=6),
    ListColumn("client", 16, lambda found: found.client or "", "dim", worth=7),
    ListColumn("leads to", 19, lambda found: found.harm, "error", worth=5),
    ListColumn("rule", 24, lambda found: found.rule, "dim", worth=4),
)


class Findings(ModalScreen[None]):
    """Shows findings over the evidence of the one under the cursor; enter shows it alone, to scroll in."""

    BINDINGS: ClassVar[list[Any]] = [Binding("escape,q,w", "dismiss(None)", "Close", key_display="esc")]
    DEFAULT_CSS = """
    Findings RowList { height: 35%; }
    """

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__()
        self._findings = findings

    def compose(self) -> ComposeResult:
        with Vertical(classes="over") as over:
            over.border_title = "what clients do wrong"
            yield RowList(FINDING_COLUMNS, empty="nothing was found; a client's mistake shows here")
            yield MeaningPane()
        yield KeyFooter()

    def on_mount(self) -> None:
        rows = self.query_one(RowList)
        rows.fill(list(self._findings))
        rows.focus()

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        if (found := message.row) is not None:
            evidence = "\n".join(list_evidence(found))
            self.query_one(MeaningPane).show(found.rule, found.said, evidence, f"What to do: {found.advice}")

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        found: Finding = message.row
        lines = [*list_evidence(found), "", f"What to do: {found.advice}"]
        self.app.push_screen(WholeRow(found.said, lines))


def list_evidence(found: Finding) -> list[str]:
    """What was seen, step by step, and the facts, in lines of text."""
    return [
        *(f"{clock_time(step.at)}  {step.said}" for step in found.steps),
        *(f"{name}: {_list_values(value)}" for name, value in found.evidence.items()),
        *(f"fault: {name}" for name in found.faults),
    ]


def _list_values(value: object) -> str:
    """A fact as people write it: a list with commas, and ``none`` for what is not there."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_list_values, value)) or "none"
    return "none" if value is None else str(value)
