"""The memory for requests that are still arriving and for answers that are not read, shared by all ports."""

from __future__ import annotations

from emulator.http.bounds.client_limits import ANSWER_BYTES, BODY_BYTES

NO_ROOM = f"more than {BODY_BYTES >> 20} MiB of requests are on their way already: try again later"

NOT_READ = f"more than {ANSWER_BYTES >> 20} MiB of answers are not read yet: try again later"
LONG_BYTES = 1 << 16
"""An answer that is no longer is not counted: there is always room for it."""


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
LEAVING = BodyMemory(ANSWER_BYTES)
