"""An editor for a message; the sandbox judges it at every key."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, TextArea

from rdss_sandbox.shapes.contract import Judged, Verdict
from tui.session import session_of
from tui.text.reasons import list_violations

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
    """Edits a message; dismissed with the new bytes, or None when the user leaves."""

    BINDINGS: ClassVar[list[Any]] = [
        Binding("ctrl+s", "send", "Send"),
        Binding("escape", "dismiss(None)", "Leave it"),
    ]
    DEFAULT_CSS = """
    Edit TextArea { height: 1fr; border: none; &:focus { border: none; } }
    Edit #verdict { width: 100%; padding: 0 1; background: $panel; }
    """

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._data = data

    def compose(self) -> ComposeResult:
        with Vertical(classes="over") as over:
            over.border_title = "edit the message"
            yield TextArea(lay_out(self._data), show_line_numbers=True, soft_wrap=False)
            yield Label(id="verdict", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self._judge()
        self.query_one(TextArea).focus()

    def on_text_area_changed(self) -> None:
        self._judge()

    def action_send(self) -> None:
        self.dismiss(compact(self.query_one(TextArea).text))

    @work(exclusive=True)
    async def _judge(self) -> None:
        # Found before the sandbox is asked: the dialog may be closed when it answers.
        session, verdict = session_of(self), self.query_one("#verdict", Label)
        data = compact(self.query_one(TextArea).text)
        try:
            lines = _tell(await session.client.judge(Judged(data)))
        except session.failures as error:
            lines = [f"? {error}"]
        self.call_later(verdict.update, "\n".join(lines))


def _tell(verdict: Verdict) -> list[str]:
    if verdict.code is None:
        return ["✓ meets the contract"]
    return [f"✗ {verdict.code}", *list_violations(verdict, _SHOWN)]
