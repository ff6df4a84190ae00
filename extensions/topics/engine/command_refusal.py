"""The refusal of a command."""

from __future__ import annotations

from typing import Literal, TypeAlias

Category: TypeAlias = Literal[
    "bad acknowledgement type",
    "bad batch size",
    "bad bookmark",
    "bad command",
    "bad correlation id",
    "bad expiration",
    "bad filter",
    "bad message",
    "bad options",
    "bad order",
    "bad sequence number",
    "bad sow key",
    "invalid subscription",
    "invalid topic",
    "not entitled",
    "not stored",
    "subscription already exists",
]


class CommandRefusedError(Exception):
    """A command is refused; ``category`` is for programs, ``reason`` for people."""

    def __init__(self, category: Category, why: str) -> None:
        super().__init__(f"{category}: {why}")
        self.category = category
        self.reason = f"{category}: {why}"
