"""The entries of the command palette, made from the active bindings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from textual.command import DiscoveryHit, Hit, Provider

from tui.keys.actions import ACTIONS, keys_for_people

_BY_ID = {action.id: action for action in ACTIONS}


class ActionCommands(Provider):
    """Offers every registered action that works on the screen below the palette."""

    async def discover(self) -> AsyncIterator[DiscoveryHit]:
        for title, run, sentence in self._list_actions():
            yield DiscoveryHit(title, run, help=sentence)

    async def search(self, query: str) -> AsyncIterator[Hit]:
        matcher = self.matcher(query)
        for title, run, sentence in self._list_actions():
            if (score := matcher.match(title)) > 0:
                yield Hit(score, matcher.highlight(title), run, help=sentence)

    def _list_actions(self) -> list[tuple[str, Callable[[], Any], str]]:
        offered = {}
        for active in self.screen.active_bindings.values():
            action = _BY_ID.get(active.binding.id or "")
            if action and active.enabled:
                run = partial(self.app.run_action, active.binding.action, active.node)
                offered[action.id] = (f"{action.label}  ({keys_for_people(action.keys)})", run, action.help)
        return list(offered.values())
