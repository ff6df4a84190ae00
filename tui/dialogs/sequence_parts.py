"""The other parts of a message, over the present screen."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.screen import ModalScreen

from tui.dialogs.whole_row import WholeRow
from tui.widgets.row_list import RowList
from tui.widgets.sequence_detail import SequenceDetail


class SequenceParts(ModalScreen[None]):
    """Shows one sequence of one stream."""

    BINDINGS: ClassVar[list[Any]] = [("escape,q,equals_sign", "dismiss(None)", "Close")]

    def __init__(self, sequence: str, stream: str) -> None:
        super().__init__()
        self._sequence = sequence
        self._stream = stream

    def compose(self) -> ComposeResult:
        yield SequenceDetail(classes="over")

    def on_mount(self) -> None:
        self.query_one(SequenceDetail).show(self._sequence, self._stream)
        self.query_one(RowList).focus()

    def on_row_list_opened(self, message: RowList.Opened) -> None:
        if (tell := message.control.whole) is not None:
            self.app.push_screen(WholeRow(*tell(message.row)))
