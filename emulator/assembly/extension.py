"""What is built on top of the emulator and has a state of its own, such as asynchronous processing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Extension(Protocol):
    """What is built on top of the emulator, and has a state of its own. ``name`` is that of its section."""

    name: str

    def reset(self) -> None:
        """Forget everything."""

    def save(self) -> list[bytes]:
        """Return a copy of everything, for ``load``. Raises OSError."""

    def load(self, saved: Sequence[bytes | memoryview]) -> None:
        """Replace everything by what was saved. Raises OSError."""
