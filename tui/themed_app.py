"""What both apps share: themes, keys, help, the command palette and the width of a wide screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.filter import LineFilter
from textual.reactive import reactive
from textual.screen import Screen

from rdss_sandbox.shapes.contract import Contract
from tui.dialogs.help import Help
from tui.keys.actions import ActionGroup, bindings
from tui.keys.palette import ActionCommands
from tui.keys.preferences import Preferences
from tui.text.visible_filter import VisibleFilter
from tui.themes import DARK, LIGHT

_WIDE_CELLS = 120
_VISIBLE = VisibleFilter()
_UNKNOWN = Contract("", "", 0, (), (), None)


class ThemedApp(App[None]):
    """An app with the user's theme and keys. Until the ``contract`` is known, it has no fields."""

    TITLE = "RDSS sandbox"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[Any]] = bindings(ActionGroup.EVERYWHERE)
    COMMANDS: ClassVar[set[Any]] = {ActionCommands}
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 -- declared by Textual as an instance's
        (0, "-narrow"),
        (_WIDE_CELLS, "-wide"),
    ]

    contract: reactive[Contract] = reactive(_UNKNOWN, repaint=False)

    def __init__(self, preferences: Preferences) -> None:
        super().__init__()
        self.preferences = preferences
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        known = self.preferences.theme in self.available_themes
        # A theme that is set later has every widget of the first screen styled twice.
        self.set_reactive(App.theme, self.preferences.theme if known else DARK.name)
        self.set_class(self.current_theme.dark, "-dark-mode", update=False)
        self.set_class(not self.current_theme.dark, "-light-mode", update=False)

    def get_line_filters(self) -> Sequence[LineFilter]:
        return [*super().get_line_filters(), _VISIBLE]

    def on_mount(self) -> None:
        self.set_keymap(self.preferences.keymap)

    def action_go(self, screen: str) -> None:
        if screen in self.MODES:
            self.switch_mode(screen)

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        """Offer other screens only where there are several."""
        return bool(self.MODES) or action not in {"go", "goto"}

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_theme(self) -> None:
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name
        self.preferences.save_theme(self.theme)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        for command in super().get_system_commands(screen):
            if command.title in {"Theme", "Screenshot"}:
                yield command
