"""A yes-or-no question before an action that cannot be undone."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.widgets import Button, Label


class Confirm(ModalScreen[bool]):
    """Asks ``question``; dismissed with True for yes and False for no."""

    BINDINGS = [  # noqa: RUF012 -- Textual's declaration
        ("escape,n", "dismiss(False)", "No"),
        ("y", "dismiss(True)", "Yes"),
    ]
    DEFAULT_CSS = """
    Confirm > Vertical {
        Label { width: 100%; padding-bottom: 1; }
        Horizontal { height: auto; align-horizontal: right; }
        Button { margin-left: 2; }
    }
    """

    def __init__(self, question: str, yes: str) -> None:
        super().__init__()
        self._question = question
        self._yes = yes

    def compose(self) -> ComposeResult:
        with Vertical(classes="question"):
            yield Label(self._question)
            with Horizontal():
                yield Button(f"{self._yes} (y)", variant="primary", id="yes", compact=True)
                yield Button("Leave it (n)", id="no", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


def confirm(node: DOMNode, question: str, yes: str, act: Callable[[], None]) -> None:
    """Ask whether to act, and act if it is answered with yes."""

    def use(sure: bool | None) -> None:
        if sure:
            act()

    node.app.push_screen(Confirm(question, yes), use)
