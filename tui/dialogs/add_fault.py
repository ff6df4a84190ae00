"""A form for a new fault, built from the attributes of its type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec.structs import replace
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Checkbox, Footer, Input, Label, Select

from rdss_sandbox.shapes.faults import FaultAttribute, FaultType, NewFault
from rdss_sandbox.text import shell_commands
from tui.session import session_of
from tui.state.query import show_match
from tui.state.worker_messages import ActionDone

_FIRST = frozenset({"name", "channel", "direction", "toxicity", "limit"})
"""What stands above the type's own attributes; the others are in a fault's ``when``."""
_COUNTS = {"after", "first", "every", "fails"}


class AddFault(ModalScreen[None]):
    """Adds a fault of ``type_``, with the ``settings`` that every fault has.

    When the sandbox refuses it, the form shows why and stays open.
    """

    BINDINGS: ClassVar[list[Any]] = [
        Binding("ctrl+s", "add", "Add it"),
        Binding("escape", "dismiss(None)", "Never mind"),
    ]
    DEFAULT_CSS = """
    AddFault > Vertical {
        width: 90; max-width: 96%; height: auto; max-height: 92%;
        background: $panel; border: round $primary; padding: 0 1;
    }
    AddFault VerticalScroll { height: auto; }
    AddFault .about { width: 100%; padding-bottom: 1; color: $text-muted; }
    AddFault .row { height: auto; }
    AddFault .row > .name { width: 14; text-style: bold; }
    AddFault .row > .help { width: 1fr; color: $text-muted; padding-left: 1; }
    AddFault .row > Input, AddFault .row > Select, AddFault .row > Checkbox { width: 26; }
    AddFault #wrong { width: 100%; color: $text-error; }
    """

    def __init__(self, type_: FaultType, settings: Iterable[FaultAttribute]) -> None:
        super().__init__()
        self._type = type_
        self._settings = tuple(settings)

    def compose(self) -> ComposeResult:
        with Vertical():
            with VerticalScroll(can_focus=False):
                yield Label(f"Add the fault [b]{self._type.type}[/b]")
                yield Label(self._type.help, classes="about", markup=False)
                yield from self._common(first=True)
                for attribute in self._type.attributes:
                    yield _row(attribute.name, _help(attribute), _field(attribute, "attribute-"))
                yield from self._common(first=False)
            yield Label(id="wrong", markup=False)
        yield Footer()

    def _common(self, *, first: bool) -> ComposeResult:
        example = show_match(session_of(self).contract.fields)
        directions = {"choices": self._type.directions, "default": self._type.directions[0]}
        for setting in self._settings:
            if (setting.name in _FIRST) is first:
                shown = replace(setting, **directions) if setting.name == "direction" else setting
                sentence = f"field=glob: {example}" if setting.name == "match" else setting.help
                yield _row(setting.name, sentence, _field(shown, "" if first else "when-"))

    def on_mount(self) -> None:
        self.query_one("#channel").focus()

    def on_input_submitted(self) -> None:
        self.action_add()

    def action_add(self) -> None:
        try:
            fault = self._fault()
        except ValueError as error:
            self._show_error(str(error))
            return
        self._add(fault)

    @work(exclusive=True)
    async def _add(self, fault: NewFault) -> None:
        app = session_of(self)
        command = shell_commands.add_fault(fault, self._type)
        try:
            added = await app.client.add_fault(fault)
        except app.failures as error:
            self.call_later(self._show_error, str(error))
        else:
            sentence = f"{added.name} is in force on {added.channel}"
            done = ActionDone(f"{sentence}: {added.note}" if added.note else sentence, command)
            self.call_later(self._end, done)

    def _end(self, done: ActionDone) -> None:
        self.app.post_message(done)
        self.dismiss(None)

    def _show_error(self, wrong: str) -> None:
        self.query_one("#wrong", Label).update(wrong)

    def _fault(self) -> NewFault:
        """Read the form. Raises ValueError with the name of a field that is not a number."""
        attributes = {
            attribute.name: value
            for attribute in self._type.attributes
            if (value := self._value(f"attribute-{attribute.name}"))
            not in {"", attribute.default, str(attribute.default)}
        }
        when: dict[str, Any] = {}
        for name in (each.name for each in self._settings if each.name not in _FIRST | {"match"}):
            if text := self._value(f"when-{name}"):
                when[name] = int(_number(name, text)) if name in _COUNTS else text
        if match := self._value("when-match"):
            field, equals, glob = str(match).partition("=")
            if not equals:
                raise ValueError(f"match: {match!r} is not field=glob")
            when["match"] = {field: glob}
        limit, toxicity = self._value("limit"), _number("toxicity", self._value("toxicity") or "1")
        return NewFault(
            self._type.type,
            name=self._value("name") or None,
            channel=self._value("channel") or None,
            direction=self._value("direction"),
            toxicity=None if toxicity == 1 else toxicity,
            limit=int(_number("limit", limit)) if limit else None,
            attributes=attributes,
            when=when,
        )

    def _value(self, id_: str) -> Any:
        field = self.query_one(f"#{id_}")
        assert isinstance(field, Input | Select | Checkbox)
        return field.value.strip() if isinstance(field, Input) else field.value


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}: {text!r} is not a number") from None


def _row(name: str, sentence: str, field: Widget) -> Horizontal:
    return Horizontal(
        Label(name, classes="name"), field, Label(sentence, classes="help", markup=False), classes="row"
    )


def _field(attribute: FaultAttribute, prefix: str) -> Widget:
    id_ = f"{prefix}{attribute.name}"
    if attribute.choices:
        choices = [(choice, choice) for choice in attribute.choices]
        return Select(choices, value=attribute.default, allow_blank=False, id=id_, compact=True)
    if attribute.type == "flag":
        return Checkbox(value=bool(attribute.default), id=id_, compact=True)
    return Input("" if attribute.default is None else str(attribute.default), id=id_, compact=True)


def _help(attribute: FaultAttribute) -> str:
    bounds = f" ({attribute.least:.0f} to {attribute.most:.0f})" if attribute.most is not None else ""
    return (
        f"{attribute.help}, {attribute.unit}{bounds}"
        if attribute.unit and attribute.unit not in attribute.help
        else f"{attribute.help}{bounds}"
    )
