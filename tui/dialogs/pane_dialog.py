"""A pane over the present screen: the parts of a sequence, an object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widget import Widget

from tui.dialogs.whole_row import WholeRow
from tui.widgets.key_footer import KeyFooter
from tui.widgets.row_list import RowList


class PaneDialog(ModalScreen[None]):
    """Shows ``pane``; ``begin`` has it fetch what it shows."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("escape,q,equals_sign", "dismiss(None)", "Close", key_display="esc")
    ]

    def __init__(self, pane: Widget, begin: Callable[[], object]) -> None:
        super().__init__()
        self._pane = pane
        self._begin = begin

    def compose(self) -> ComposeResult:
        yield self._pane.add_class("over")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._begin()

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        if (tell := message.control.whole) is not None:
            self.app.push_screen(WholeRow(*tell(message.row)))
