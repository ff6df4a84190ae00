"""What was published through the relay, as events: one for each channel and moment, not one a message."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from emulator.events import Events
from emulator.relay.amqp.frames import Unit
from schemas.peek import peek

_EVERY_SECONDS: Final = 0.1
_MOST_IDS: Final = 20


@dataclass(slots=True)
class _Published:
    messages: int = 0
    size: int = 0
    message_ids: list[str] = field(default_factory=list)


class PublishTap:
    """Event ``amqp.published``: channel, messages, bytes, and the ids of the first twenty of them."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._since: dict[str, _Published] = {}

    def note(self, channel: str, unit: Unit) -> None:
        """A message was passed to the broker."""
        if not self._since:
            asyncio.get_running_loop().call_later(_EVERY_SECONDS, self.flush)
        found = self._since.get(channel)
        if found is None:
            found = self._since[channel] = _Published()
        found.messages += 1
        found.size += unit.body_size
        if len(found.message_ids) < _MOST_IDS and (message_id := peek(unit.body).message_id):
            found.message_ids.append(message_id)

    def flush(self) -> None:
        """Tell of what was noted."""
        told, self._since = self._since, {}
        for channel, found in told.items():
            self._events.emit(
                "amqp.published",
                channel=channel,
                messages=found.messages,
                bytes=found.size,
                message_ids=found.message_ids,
            )
