"""Detection of changes between two snapshots of the sandbox."""

from __future__ import annotations

from tui.state.worker_messages import Snapshot


class Movement:
    """Remembers the counters of the last snapshot that it was given."""

    def __init__(self) -> None:
        self._seen: tuple[int, int | None, int] | None = None

    def since(self, snapshot: Snapshot | None) -> bool:
        """Remember this snapshot and return whether it differs from the last one; None never does."""
        before, self._seen = self._seen, snapshot.moved if snapshot else self._seen
        return self._seen != before
