"""What a sandbox does without, because an extra of this project is not installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from emulator.assembly.broker import Broker
from rdss_sandbox.installation import find_missing, how_to_add


class NoBroker(Broker):
    """Nothing on the AMQP port, since the extra for AMQP is not installed. ``notes`` say how to get it."""

    answers = False

    def __init__(self, *_: object) -> None:
        self.notes = (f"nothing answers on the AMQP port; get it with: {how_to_add('amqp')}",)

    def start(self, _environment: Mapping[str, str]) -> None:
        """Start nothing."""

    async def stop(self) -> None:
        """Stop nothing."""


@cache
def note_missing() -> tuple[str, ...]:
    """What people should know of this installation, in sentences."""
    if find_missing("messages"):
        return (f"messages are not validated; get the validator with: {how_to_add('messages')}",)
    return ()
