"""The footer: the keys that work in the focused pane, on two rows where the screen is high enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from tui.keys.actions import ACTIONS

_HIGH_ROWS = 30
"""The height of a screen that has room for a second row of keys."""
_WORTH = {action.id: action.worth for action in ACTIONS}
_WORTH_OF_OTHERS = 1
_GAP_CELLS = 2


class KeyFooter(Widget):
    """Shows the keys of the focused pane first, then those of its screen, and those that work everywhere.

    Keys of the lowest worth are left out where there is no room for all.
    """

    DEFAULT_CSS = """
    KeyFooter {
        dock: bottom;
        height: auto;
        layout: vertical;
        background: $footer-background;
        Horizontal { height: 1; }
    }
    """

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._draw_again)

    def on_resize(self) -> None:
        self.call_after_refresh(self.recompose)

    def compose(self) -> ComposeResult:
        size = self.app.size
        keys = list(self._list_keys())
        for row in fit_rows(keys, size.width, most=2 if size.height >= _HIGH_ROWS else 1):
            yield Horizontal(*(KeyHint(*key) for key in row))

    def _draw_again(self, screen: Screen[object]) -> None:
        if self.is_attached and screen is self.screen and self.app.app_focus:
            self.call_after_refresh(self.recompose)

    def _list_keys(self) -> Iterator[tuple[Binding, str]]:
        """The bindings to show with the names of their keys, one for each action."""
        keys = set()
        for active in self.screen.active_bindings.values():
            binding = active.binding
            shown = binding.show or binding.action == "command_palette"
            if shown and active.enabled and binding.action not in keys:
                keys.add(binding.action)
                yield binding, self.app.get_key_display(binding)


class KeyHint(Static):
    """A key with what it does; a click is as good as the key."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyHint { width: auto; height: 1; padding-right: 1; color: $footer-description-foreground; }
    KeyHint:hover { background: $block-hover-background; }
    """

    def __init__(self, binding: Binding, key: str) -> None:
        label = Content.assemble((key, "bold $footer-key-foreground"), " ", binding.description)
        super().__init__(label)
        self.tooltip = binding.tooltip or None
        self._key = binding.key

    def on_click(self) -> None:
        self.app.simulate_key(self._key)


def fit_rows(
    keys: Sequence[tuple[Binding, str]], width: int, *, most: int
) -> list[list[tuple[Binding, str]]]:
    """Lay keys out in at most ``most`` rows of ``width`` cells.

    Without room for all, those with the lowest worth are left out, the last of them first.
    """
    kept = list(keys)
    while len(rows := _fill_rows(kept, width)) > most:
        kept.remove(min(reversed(kept), key=lambda key: _WORTH.get(key[0].id or "", _WORTH_OF_OTHERS)))
    return rows


def _fill_rows(keys: Sequence[tuple[Binding, str]], width: int) -> list[list[tuple[Binding, str]]]:
    rows: list[list[tuple[Binding, str]]] = []
    left = 0
    for binding, key in keys:
        cells = len(key) + len(binding.description) + _GAP_CELLS
        if not rows or cells > left:
            rows.append([])
            left = width + 1  # the last one needs no gap
        rows[-1].append((binding, key))
        left -= cells
    return rows
