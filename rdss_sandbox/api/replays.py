"""Replays of tapes, for who watches."""

from __future__ import annotations

from rdss_sandbox.api.endpoint import POST, Mode, Subject
from rdss_sandbox.shapes.replays import ReplayPosition


class Replays(Subject[Mode], at="/replays"):
    """Replays of tapes, which ``sandbox replay-tape`` puts into the sandbox."""

    @POST("")
    def tell(self, position: ReplayPosition) -> ReplayPosition:
        """Report how far a replay is, as the event ``replay.moved``: the TUI and the watch page show it."""
