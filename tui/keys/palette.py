"""The entries of the command palette, made from the active bindings: first what fits the row and its pane."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

from textual.command import DiscoveryHit, Hit, Provider

from tui.keys.actions import ACTIONS, Action, ActionGroup, keys_for_people

_BY_ID = {action.id: action for action in ACTIONS}


class ActionCommands(Provider):
    """Offers every registered action that works on the screen below the palette, and what Textual has."""

    async def discover(self) -> AsyncIterator[DiscoveryHit]:
        for title, run, sentence in self._list_commands():
            yield DiscoveryHit(title, run, help=sentence)

    async def search(self, query: str) -> AsyncIterator[Hit]:
        matcher = self.matcher(query)
        for title, run, sentence in self._list_commands():
            if (score := matcher.match(title)) > 0:
                yield Hit(score, matcher.highlight(title), run, help=sentence)

    def _list_commands(self) -> Iterator[tuple[str, Callable[[], Any], str]]:
        offered: dict[str, tuple[Action, partial[Any]]] = {}
        for active in self.screen.active_bindings.values():
            action = _BY_ID.get(active.binding.id or "")
            if action and active.enabled:
                run = partial(self.app.run_action, active.binding.action, active.node)
                offered[action.id] = action, run
        for action, run in sorted(offered.values(), key=lambda offer: _rank(offer[0])):
            yield f"{action.label}  ({keys_for_people(action.keys)})", run, action.help
        for command in self.app.get_system_commands(self.screen):
            yield command.title, command.callback, command.help


def _rank(action: Action) -> tuple[int, int]:
    """What is done with a row stands first, then the other screens, what moves the cursor, and the app."""
    if action.group not in {ActionGroup.EVERYWHERE, ActionGroup.LIST} or action.id == "list.open":
        return 0, -action.worth
    if action.id == "everywhere.goto" or action.handler.startswith("go("):
        return 1, 0
    return 2 if action.group == ActionGroup.LIST else 3, 0
