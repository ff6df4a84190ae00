"""Memory for what is still arriving, of all ports together: a process has one memory."""

from __future__ import annotations

from emulator.http.limits import BODY_BYTES

NO_ROOM = f"more than {BODY_BYTES >> 20} MiB of requests are on their way already: try again later"


class BodyMemory:
    """So many bytes, of which some are taken."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, size: int) -> bool:
        """Count that many; False, and nothing is counted, when there is no room for them."""
        if size > self.left:
            return False
        self.left -= size
        return True

    def give_back(self, size: int) -> None:
        self.left += size


ARRIVING = BodyMemory(BODY_BYTES)
