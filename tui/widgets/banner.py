"""The top line: the screens with their keys, and the state of the sandbox."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from rdss_sandbox.shapes.clock import ClockReading
from rdss_sandbox.text.figures import clock_time, counted, short_count
from tui.keys.actions import SHORT_LABELS, places
from tui.session import session_of
from tui.state.worker_messages import ObservedState

_STATE_CELLS = 16
_MARGIN_CELLS = 4
_BRIEF = 3
"""The letters of a name on a narrow screen."""


class Banner(Horizontal):
    """Shows the screens, the present one reversed, and whether the sandbox answers."""

    DEFAULT_CSS = """
    Banner {
        height: 1;
        background: $panel;
        color: $foreground;
        #places { width: auto; link-style: none; link-color: $foreground; link-background: $panel; }
        #state { width: 1fr; padding: 0 1; text-align: right; }
        #state.-lost { background: $error; color: $text; text-style: bold; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._named = 0

    def compose(self) -> ComposeResult:
        yield Static(id="places")
        yield Static(id="state")

    def on_mount(self) -> None:
        self.watch(self.app, "snapshot", self._show_state)
        self.watch(self.app, "lost", self._show_state)
        self._show_places()

    def _show_places(self) -> None:
        """Show the screens by name, as much of it as there is room for; the present one is reversed."""
        here = self.app.current_mode
        shown = name_places(here, self.app.size.width - _STATE_CELLS)
        self._named = _count_cells(shown)
        links = (
            f"[@click=app.go('{name}')]{'[reverse b]' if name == here else '[dim]'}{text}[/][/]"
            for name, text in shown
        )
        self.query_one("#places", Static).update(Content.from_markup("".join(links)))

    def _show_state(self) -> None:
        app = session_of(self)
        state = self.query_one("#state", Static)
        state.set_class(bool(app.lost), "-lost")
        if app.lost:
            text = "✗ connection lost, trying again"
        elif app.snapshot is None:
            text = "… connecting"
        else:
            text = f"● {_state(app.snapshot, self.size.width - self._named - _MARGIN_CELLS)}"
        # Textual redraws all lines between two changed ones, so an unchanged line is not updated.
        if text != self._text:
            self._text = text
            state.update(text, layout=False)

    def on_resize(self) -> None:
        self._show_places()
        self._show_state()


def name_places(here: str | None, width: int) -> list[tuple[str, str]]:
    """The mode and the name of each screen, as much of the names as fits ``width`` cells.

    With less than 84 cells three letters of each name are left, and with less than 60 the keys alone.
    """
    known = list(places())
    short = {name: SHORT_LABELS.get(label, label) for _, name, label in known}
    forms = [
        [(name, f" {key} {label} ") for key, name, label in known],
        [(name, f" {key} {label}") for key, name, label in known],
    ]
    for length in (max(map(len, short.values())), _BRIEF):
        cut = [(name, f" {key} {short[name][:length]}") for key, name, _ in known]
        whole = dict(forms[1])
        forms += [[(name, whole[name] if name == here else text) for name, text in cut], cut]
    keys = [(name, f" {key} {label} " if name == here else f" {key} ") for key, name, label in known]
    return next((form for form in forms if _count_cells(form) <= width), keys)


def _count_cells(form: Sequence[tuple[str, str]]) -> int:
    return sum(len(text) for _, text in form)


def _state(snapshot: ObservedState, cells: int) -> str:
    """The state of the sandbox in at most ``cells`` cells, if the shortest form fits."""
    status = snapshot.status
    faults = sum(fault.enabled for fault in snapshot.faults)
    clock = f"{clock_time(status.clock.time)[:8]} UTC{_pace(status.clock)}"
    messages = counted(status.messages, "message")
    struck = counted(faults, "fault")
    judged = f"{status.contract} · " if status.contract else ""
    short = f"{short_count(status.messages)} msg"
    usual = f"{status.profile} · seed {status.seed} · {messages} · {struck} · {clock}"
    fuller = (
        f"{judged}{usual}",
        usual,
        f"{messages} · {struck} · {clock}",
        f"{messages} · {clock}",
        f"{short} ⚡{faults}" if faults else messages,
    )
    return next((text for text in fuller if cell_len(text) <= cells), short)


def _pace(clock: ClockReading) -> str:
    if clock.real:
        return ""
    return f" at speed {clock.speed:g}" if clock.speed else " frozen"
