"""The editor of the filter below the message list; ``@name`` stands for a saved filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Label

from rdss_sandbox.questions.message_filter import FilterError, read_filter
from tui.dialogs.prompt import Prompt, ask
from tui.session import session_of
from tui.state.query import QuerySuggester, explain_fields, show_example
from tui.state.worker_messages import ActionDone


class FilterBar(Vertical):
    """Shown while a filter is edited: enter applies it, escape keeps the old one, ctrl+s saves it by name."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=True),
        Binding("ctrl+s", "save", "Save by name", show=True),
    ]
    DEFAULT_CSS = """
    FilterBar {
        display: none; height: auto; background: $panel;
        &.-asking { display: block; }
        Horizontal { height: 1; }
        #slash { padding: 0 1; color: $text-accent; text-style: bold; width: auto; }
        #wrong { padding: 0 3; color: $text-error; width: 1fr; }
        #wrong.-none { display: none; }
        Input { width: 1fr; }
    }
    """

    @dataclass
    class Submitted(Message):
        """The user entered the filter ``text``; empty removes it."""

        text: str

    class Cancelled(Message):
        """The user left the editor; the filter stays."""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Label("/", id="slash")
            yield Input(select_on_focus=False, compact=True)
        yield Label(id="wrong", classes="-none", markup=False)

    def ask(self, text: str) -> None:
        """Show the editor with ``text``."""
        self.add_class("-asking")
        field, declared = self.query_one(Input), session_of(self).contract.fields
        field.placeholder = show_example(declared)
        field.suggester = QuerySuggester(explain_fields(declared))
        field.value = text
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value.strip()
        session = session_of(self)
        for name, meaning in session.preferences.filters.items():
            text = f" {text} ".replace(f" @{name} ", f" {meaning} ").strip()
        try:
            fields = explain_fields(session.contract.fields)
            read_filter(text, {name: each.kind for name, each in fields.items()})
        except FilterError as error:
            self._show_error(str(error))
        else:
            self.remove_class("-asking")
            self.post_message(self.Submitted(text))

    def on_input_changed(self) -> None:
        self._show_error("")

    def _show_error(self, why: str) -> None:
        wrong = self.query_one("#wrong", Label)
        wrong.update(why.removeprefix("filter: "))
        wrong.set_class(not why, "-none")

    def action_leave(self) -> None:
        self.remove_class("-asking")
        self.post_message(self.Cancelled())

    def action_save(self) -> None:
        text = self.query_one(Input).value.strip()
        names = ", ".join(session_of(self).preferences.filters) or "none"

        def save(name: str) -> None:
            session_of(self).preferences.save_filter(name.lstrip("@"), text)
            sentence = f"saved: @{name.lstrip('@')} stands for {text or 'nothing any more'}"
            self.post_message(ActionDone(sentence))

        hint = f"then @name stands for it; saved so far: {names}"
        ask(self, Prompt(f"Save the filter {text!r} as", hint=hint), save)
