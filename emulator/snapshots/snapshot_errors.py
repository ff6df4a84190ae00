"""Why a snapshot cannot be saved, found or loaded. Each text says what to do."""

from __future__ import annotations

from collections.abc import Sequence


class SnapshotError(Exception):
    """A snapshot cannot be saved, found or loaded."""


class BadNameError(SnapshotError):
    """The name is none that a snapshot can have."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is no name for a snapshot: use up to 100 letters, digits and the characters . _ - "
            "and begin with a letter or a digit"
        )


class NoSnapshotError(SnapshotError):
    """There is no snapshot of this name."""

    def __init__(self, name: str, there: Sequence[str]) -> None:
        known = ", ".join(there) or "none"
        super().__init__(f"no snapshot is named {name!r}; there are: {known}")


class UnreadableError(SnapshotError):
    """The snapshot is damaged, or another version wrote it. Nothing was changed."""
