"""One row of a list with all that is known of it, over the present screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Label

from tui.widgets.key_footer import KeyFooter
from tui.widgets.text_lines import TextLines


class WholeRow(ModalScreen[None]):
    """Shows ``said`` as long as it is, and below it the fields as lines of JSON."""

    BINDINGS: ClassVar[list[Any]] = [Binding("escape,q,enter", "dismiss(None)", "Close", key_display="esc")]
    DEFAULT_CSS = """
    WholeRow > Vertical {
        width: 96%; max-width: 130; height: 80%; background: $surface; border: round $primary;
    }
    WholeRow Label { width: 100%; padding: 0 1 1 1; text-style: bold; }
    """

    def __init__(self, heading: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._heading = heading
        self._lines = lines

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(self._heading, markup=False)
            lines = TextLines()
            lines.show(self._lines, json=True)
            yield lines
        yield KeyFooter()

    def on_mount(self) -> None:
        self.query_one(TextLines).focus()
