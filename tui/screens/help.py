"""Every key, from the action registry, with the filter language and what the signs mean."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Markdown

from tui.actions import as_markdown
from tui.query import as_markdown as filter_language

SIGNS = """
### Signs

`●` open shard, `○` closed one; the bar beside it is its part of the hash keys. `▶` marked for a diff.
In the list: `D` duplicate, `L` late, `O` oversize, `R` retried.
"""


class Help(ModalScreen[None]):
    """What can be done, and with which key."""

    BINDINGS = [("escape,q,question_mark,f1", "dismiss(None)", "Close")]  # noqa: RUF012 -- Textual's declaration
    DEFAULT_CSS = """
    Help { align: center middle; }
    Help > VerticalScroll {
        width: 100; max-width: 96%; height: 90%;
        background: $panel; border: round $primary;
    }
    """

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=True):
            yield Markdown(as_markdown() + "\n" + filter_language() + SIGNS)
