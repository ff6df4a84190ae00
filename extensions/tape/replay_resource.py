"""How far replays are, told to who watches the sandbox."""

from __future__ import annotations

import msgspec

from emulator.events import Events
from emulator.listeners.control.endpoint_routing import handles
from rdss_sandbox.api.replays import Replays
from rdss_sandbox.shapes.replays import ReplayPosition


class ReplayResource:
    """``/replays``."""

    def __init__(self, events: Events) -> None:
        self._events = events

    @handles(Replays.tell)
    def tell(self, position: ReplayPosition) -> ReplayPosition:
        self._events.emit("replay.moved", **msgspec.structs.asdict(position))
        return position
