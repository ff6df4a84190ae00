"""An editor for a message; it is validated at every key."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, TextArea

from schemas.rdss.envelope import oversize
from schemas.rdss.validation import judge

_SHOWN = 3


def lay_out(data: bytes) -> str:
    """The message as indented JSON, or unchanged where it is not JSON."""
    text = data.decode(errors="replace")
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def compact(text: str) -> bytes:
    """The edited text as it is sent: JSON without blanks, other text unchanged."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")).encode()
    except ValueError:
        return text.encode()


class Edit(ModalScreen[bytes | None]):
    """Edits a message; dismissed with the new bytes, or None when the user leaves.

    ``now`` is the sandbox's time, in seconds since the epoch: what has expired by then is refused again.
    """

    BINDINGS: ClassVar[list[Any]] = [
        Binding("ctrl+s", "send", "Send"),
        Binding("escape", "dismiss(None)", "Leave it"),
    ]
    DEFAULT_CSS = """
    Edit { align: center middle; }
    Edit > Vertical { width: 96%; height: 92%; background: $surface; border: round $primary; }
    Edit TextArea { height: 1fr; border: none; }
    Edit #verdict { width: 100%; padding: 0 1; background: $panel; }
    """

    def __init__(self, data: bytes, now: float) -> None:
        super().__init__()
        self._data = data
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TextArea(lay_out(self._data), show_line_numbers=True, soft_wrap=False)
            yield Label(id="verdict", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self._validate()
        self.query_one(TextArea).focus()

    def on_text_area_changed(self) -> None:
        self._validate()

    def action_send(self) -> None:
        self.dismiss(compact(self.query_one(TextArea).text))

    def _validate(self) -> None:
        data = compact(self.query_one(TextArea).text)
        verdict = judge(data, now=self._now)
        lines = [f"{each.path or 'the message'}: {each.message}" for each in verdict.violations[:_SHOWN]]
        if (more := len(verdict.violations) - _SHOWN) > 0:
            lines.append(f"and {more} more")
        if oversize(data):
            lines.append(f"{len(data):,} bytes, 1,000,000 are allowed")
        head = "✓ meets the contract" if not lines else f"✗ {verdict.code or 'too large'}"
        self.query_one("#verdict", Label).update("\n".join([head, *lines]))
