"""Whether anything moved in the sandbox since one last looked."""

from __future__ import annotations

from tui.state.worker_messages import Snapshot


class Movement:
    """Remembers how far the sandbox was when ``since`` was last asked."""

    def __init__(self) -> None:
        self._seen: tuple[int, int, int] | None = None

    def since(self, snapshot: Snapshot | None) -> bool:
        """Whether this snapshot is further than the last one; the first one always is, none never."""
        before, self._seen = self._seen, snapshot.moved if snapshot else self._seen
        return self._seen != before
