"""What clients do wrong, over the present screen: a list, and the evidence of the one under the cursor."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from rdss_sandbox.shapes.diagnosis import Finding
from rdss_sandbox.text.figures import clock_time, shard
from tui.text.columns import ListColumn
from tui.widgets.row_list import RowList
from tui.widgets.text_lines import TextLines

FINDING_COLUMNS: tuple[ListColumn[Finding], ...] = (
    ListColumn("harm", 10, lambda found: found.harm, "error", worth=8),
    ListColumn("what", 20, lambda found: found.rule, "warning", worth=9),
    ListColumn("stream", 10, lambda found: found.stream, worth=7),
    ListColumn("shard", 5, lambda found: shard(found.shard) if found.shard else "", worth=6),
    ListColumn("client", 16, lambda found: found.client or "", "dim", worth=7, stretch=True),
)


class Findings(ModalScreen[None]):
    """Shows findings; enter opens the evidence of one, and closes it again."""

    BINDINGS: ClassVar[list[Any]] = [("escape,q,w", "dismiss(None)", "Close")]
    DEFAULT_CSS = """
    Findings RowList { height: 1fr; }
    Findings TextLines { display: none; border-top: hkey $panel; }
    Findings.-evidence TextLines { display: block; }
    """

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__()
        self._findings = findings

    def compose(self) -> ComposeResult:
        with Vertical(classes="over"):
            yield RowList(FINDING_COLUMNS, empty="nothing was found; a client's mistake shows here")
            yield TextLines()

    def on_mount(self) -> None:
        rows = self.query_one(RowList)
        rows.fill(list(self._findings))
        rows.focus()

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        message.stop()
        self.toggle_class("-evidence")
        self.query_one(TextLines).show(list_evidence(message.row))


def list_evidence(found: Finding) -> list[str]:
    """A finding in lines of text: what was seen, step by step, the facts, and what to do."""
    return [
        found.said,
        "",
        *(f"{clock_time(step.at)}  {step.said}" for step in found.steps),
        *(f"{name}: {value}" for name, value in found.evidence.items()),
        *(f"fault: {name}" for name in found.faults),
        "",
        f"do: {found.advice}",
    ]
