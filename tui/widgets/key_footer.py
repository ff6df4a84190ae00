"""The footer: the keys that work where the focus is, in groups, in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from tui.keys.actions import ACTIONS

_BY_ID = {action.id: action for action in ACTIONS}
_WORTH_OF_OTHERS = 1
_GAP_CELLS = 2


class FooterKey(NamedTuple):
    """A binding with the name of its key, and the group that it stands in."""

    binding: Binding
    key: str
    group: str

    @property
    def cells(self) -> int:
        return len(self.key) + len(self.binding.description) + _GAP_CELLS

    @property
    def worth(self) -> int:
        action = _BY_ID.get(self.binding.id or "")
        return action.worth if action else _WORTH_OF_OTHERS


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

    def __init__(self) -> None:
        super().__init__()
        self._shown: list[FooterKey] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._draw_again)

    def on_resize(self) -> None:
        self.call_after_refresh(self.recompose)

    def compose(self) -> ComposeResult:
        self._shown = fit_keys(list(self._list_keys()), self.app.size.width)
        groups = [None, *(key.group for key in self._shown)]
        hints = (
            KeyHint(key, begins=before not in {None, key.group})
            for key, before in zip(self._shown, groups, strict=False)
        )
        yield Horizontal(*hints)

    def _draw_again(self, screen: Screen[object]) -> None:
        if self.is_attached and screen is self.screen and self.app.app_focus:
            self.call_after_refresh(self._recompose_if_changed)

    async def _recompose_if_changed(self) -> None:
        if self.is_attached and fit_keys(list(self._list_keys()), self.app.size.width) != self._shown:
            await self.recompose()

    def _list_keys(self) -> Iterator[FooterKey]:
        """The bindings to show with the names of their keys, one for each action."""
        keys = set()
        for active in self.screen.active_bindings.values():
            binding = active.binding
            shown = binding.show or binding.action == "command_palette"
            if shown and active.enabled and binding.action not in keys:
                keys.add(binding.action)
                action = _BY_ID.get(binding.id or "")
                if binding.action == "command_palette":
                    binding = replace(binding, description="Commands")
                yield FooterKey(binding, self.app.get_key_display(binding), action.group if action else "")


class KeyHint(Static):
    """A key with what it does; a click is as good as the key. A line is before one that begins a group."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyHint { width: auto; height: 1; padding-right: 1; color: $footer-description-foreground; }
    KeyHint:hover { background: $block-hover-background; }
    """

    def __init__(self, shown: FooterKey, *, begins: bool) -> None:
        line = Content.styled("│ ", "$text-muted") if begins else Content("")
        key = Content.styled(shown.key, "bold $footer-key-foreground")
        super().__init__(Content.assemble(line, key, " ", shown.binding.description))
        self.tooltip = shown.binding.tooltip or None
        self._key = shown.binding.key

    def on_click(self) -> None:
        self.app.simulate_key(self._key)


def fit_keys(keys: Sequence[FooterKey], width: int) -> list[FooterKey]:
    """The keys that fit into a line of ``width`` cells, with a line before each group but the first.

    Without room for all, those with the lowest worth are left out, the last of them first.
    """
    kept = list(keys)
    while kept and _count_cells(kept) > width + 1:  # the last one needs no gap
        kept.remove(min(reversed(kept), key=lambda key: key.worth))
    return kept


def _count_cells(keys: Sequence[FooterKey]) -> int:
    begun = sum(key.group != before.group for before, key in pairwise(keys))
    return sum(key.cells for key in keys) + _GAP_CELLS * begun
