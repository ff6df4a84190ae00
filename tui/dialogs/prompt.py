"""A question with a one-line answer."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, Label

from tui.widgets.key_footer import KeyFooter


class Prompt(ModalScreen[str | None]):
    """Asks ``question``; dismissed with the answer, or None on escape."""

    BINDINGS = [("escape", "dismiss(None)", "Never mind")]  # noqa: RUF012 -- Textual's declaration
    DEFAULT_CSS = """
    Prompt > Vertical {
        Label { width: 100%; }
        .hint { color: $text-muted; padding-bottom: 1; }
    }
    """

    def __init__(
        self, question: str, *, hint: str = "", value: str = "", words: tuple[str, ...] = ()
    ) -> None:
        super().__init__()
        self._question = question
        self._hint = hint
        self._value = value
        self._words = words

    def compose(self) -> ComposeResult:
        with Vertical(classes="question"):
            yield Label(self._question)
            yield Label(self._hint, classes="hint")
            yield Input(
                self._value, suggester=SuggestFromList(self._words, case_sensitive=False), compact=True
            )
        yield KeyFooter()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)


def ask(node: DOMNode, prompt: Prompt, act: Callable[[str], object]) -> None:
    """Ask a question and act on the answer; without one nothing happens."""

    def use(answer: str | None) -> None:
        if answer:
            act(answer)

    node.app.push_screen(prompt, use)
