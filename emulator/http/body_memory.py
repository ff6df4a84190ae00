"""The memory for requests that are still arriving, shared by all ports of the process."""

from __future__ import annotations

from emulator.http.limits import BODY_BYTES

NO_ROOM = f"more than {BODY_BYTES >> 20} MiB of requests are on their way already: try again later"


class BodyMemory:
    """A budget of bytes. ``left`` are not taken."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, size: int) -> bool:
        """Take ``size`` bytes of the budget; return False and take nothing when fewer are left."""
        if size > self.left:
            return False
        self.left -= size
        return True

    def give_back(self, size: int) -> None:
        self.left += size


ARRIVING = BodyMemory(BODY_BYTES)
