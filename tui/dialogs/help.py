"""The help: every key from the action registry, the filter language and the signs."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static, TabbedContent, TabPane

from tui.keys.actions import ACTIONS, Action, keys_for_people
from tui.session import session_of
from tui.state.query import Meaning, explain_fields
from tui.text.columns import ListColumn
from tui.widgets.key_footer import KeyFooter
from tui.widgets.row_list import RowList

SIGNS = """\
●    an open shard, a fault in force, a sandbox that answers
○    a closed shard
‖    paused
▶    chosen, or marked to be compared
█    the shard's part of all hash keys
!2   two mistakes of clients were found here: w on Streams tells them
■ □  a part that came, one that did not

D    duplicate: the message was in this stream before
R    retried: a duplicate with other bytes, made anew by its sender
O    oversize: more bytes than the contract allows
L    late: past its expiry, or over a minute after it was published

Terms of a filter are separated by spaces and must all hold. - before a
term turns it round, * stands for any text, a comma for or, none for a
missing field. A word without a field is looked for in the message id and
the partition key. @name stands for a saved filter."""

KEY_COLUMNS: tuple[ListColumn[Action], ...] = (
    ListColumn("where", 19, lambda row: row.group, "dim", worth=5),
    ListColumn("key", 14, lambda row: keys_for_people(row.keys), "accent", worth=9),
    ListColumn("does", 14, lambda row: row.label, worth=8),
    ListColumn("in full", 24, lambda row: row.help, worth=7, stretch=True),
    ListColumn("in a keymap", 25, lambda row: row.id, "dim", worth=2),
)
FIELD_COLUMNS: tuple[ListColumn[tuple[str, Meaning]], ...] = (
    ListColumn("field", 10, lambda row: row[0], "accent", worth=9),
    ListColumn("looks at", 34, lambda row: row[1].what, worth=8),
    ListColumn("for example", 20, lambda row: row[1].example, worth=7, stretch=True),
)


class Help(ModalScreen[None]):
    """Shows the help in three tabs."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,q,question_mark,f1", "dismiss(None)", "Close", key_display="esc")
    ]
    DEFAULT_CSS = """
    Help > TabbedContent {
        width: 130; max-width: 100%; height: 92%;
        background: $surface; border: round $primary;
    }
    Help TabPane { padding: 0 1; }
    Help RowList, Help #signs { height: 1fr; }
    Help #sentence { height: 1; color: $text-accent; padding: 0 1; }
    """

    def compose(self) -> ComposeResult:
        with TabbedContent():
            with TabPane("Keys"):
                yield RowList(KEY_COLUMNS, id="keys")
                yield Static(id="sentence", markup=False)
            with TabPane("Filter language"):
                yield RowList(FIELD_COLUMNS, id="fields")
            with TabPane("Signs"), VerticalScroll(id="signs"):
                yield Static(SIGNS, markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        self.query_one("#keys", RowList).fill(ACTIONS)
        fields = explain_fields(session_of(self).contract.fields)
        self.query_one("#fields", RowList).fill(tuple(fields.items()))
        self.query_one("#keys").focus()

    def on_row_list_highlighted(self, message: RowList.Highlighted) -> None:
        if message.control.id == "keys" and message.row is not None:
            self.query_one("#sentence", Static).update(message.row.help, layout=False)
