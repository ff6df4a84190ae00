"""What the hub and the process that forks seats say to each other, a line each."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from sandbox.profiles.running import Running


class StartSeat(msgspec.Struct, frozen=True, tag=True):
    """Start a person's sandbox, which asks for the token."""

    name: str
    token: str


class StopSeat(msgspec.Struct, frozen=True, tag=True):
    """End it; its data stays."""

    name: str


class HubReady(msgspec.Struct, frozen=True, tag=True):
    """The hub listens."""

    running: Running


class SeatReady(msgspec.Struct, frozen=True, tag=True):
    """A sandbox answers."""

    name: str
    running: Running


class SeatEnded(msgspec.Struct, frozen=True, tag=True):
    """A sandbox has ended, or the hub where there is no name; ``why`` is empty where it was told to."""

    name: str
    why: str = ""


SeatMessage: TypeAlias = StartSeat | StopSeat | HubReady | SeatReady | SeatEnded
_encode = msgspec.json.Encoder().encode
decode_message: Final = msgspec.json.Decoder(SeatMessage).decode


def encode_message(message: SeatMessage) -> bytes:
    return _encode(message) + b"\n"
