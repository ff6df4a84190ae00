"""The client's end of a connection, as the broker uses it."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from emulator.amqp.wire.commands import Command

Address: TypeAlias = tuple[str, int]
"""A host and a port."""


class Wire(Protocol):
    """Where a connection's commands go."""

    @property
    def ends(self) -> tuple[Address, Address]:
        """The client's address, and the one that it connected to."""

    @property
    def secured(self) -> bool:
        """Whether the client speaks TLS."""

    def answer(self, commands: list[Command]) -> None: ...
    def pause_input(self) -> None:
        """Bring nothing more for now, if that can be: what came is not all handled."""

    def resume_input(self) -> None: ...
    def close(self) -> None:
        """Close when what was written is sent."""

    def close_after(self, seconds: float) -> None:
        """Close after some seconds of the machine, unless the client closes first."""
