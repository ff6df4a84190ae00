"""The top line: the screens by their keys, and how the sandbox is."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from emulator.resources import ClockReading
from tui.actions import places
from tui.figures import clock_time, count

if TYPE_CHECKING:
    from tui.app import SandboxApp

_STATE_CELLS = 16


class Banner(Horizontal):
    """Where one is, where one can go, and whether the sandbox answers."""

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
        self._said = ""

    def compose(self) -> ComposeResult:
        yield Static(id="places")
        yield Static(id="state")

    def on_mount(self) -> None:
        self.watch(self.app, "snapshot", self._show_state)
        self.watch(self.app, "lost", self._show_state)
        self._show_places()

    def _show_places(self) -> None:
        """The screens by name; where there is no room for all the names, only this one's."""
        here = self.app.current_mode
        named = [(key, name, f" {key} {label} ") for key, name, label in places()]
        room = sum(len(text) for _, _, text in named) + _STATE_CELLS <= self.app.size.width
        links = (
            f"[@click=app.go('{name}')]{'[reverse b]' if name == here else '[dim]'}"
            f"{text if room or name == here else f' {key} '}[/][/]"
            for key, name, text in named
        )
        self.query_one("#places", Static).update(Content.from_markup("".join(links)))

    def _show_state(self) -> None:
        app = cast("SandboxApp", self.app)
        state = self.query_one("#state", Static)
        state.set_class(bool(app.lost), "-lost")
        if app.lost:
            said = "✗ connection lost, trying again"
        elif app.snapshot is None:
            said = "… connecting"
        else:
            status = app.snapshot.status
            clock = _pace(status.clock)
            faults = sum(fault.enabled for fault in app.snapshot.faults)
            wide = (
                f"{status.profile} · seed {status.seed} · {count(status.messages)} messages · "
                f"{faults} fault{'' if faults == 1 else 's'} · {clock_time(status.clock.time)[:8]} UTC{clock}"
            )
            narrow = f"{count(status.messages)} msg" + (f" · {faults}⚡" if faults else "")
            said = f"● {wide if self.size.width >= 130 else narrow}"
        # A line that is drawn draws whatever lies between it and the others that are.
        if said != self._said:
            self._said = said
            state.update(said, layout=False)

    def on_resize(self) -> None:
        self._show_places()
        self._show_state()


def _pace(clock: ClockReading) -> str:
    if clock.real:
        return ""
    return f" at speed {clock.speed:g}" if clock.speed else " frozen"
