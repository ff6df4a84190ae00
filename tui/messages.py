"""What workers and widgets tell the app: they post these, and touch no widget themselves."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from emulator.resources import Fault, Status, StreamDetail


@dataclass(frozen=True)
class Snapshot:
    """The sandbox as it stood at ``at`` (seconds of a counter that only grows)."""

    at: float
    status: Status
    streams: tuple[StreamDetail, ...]
    faults: tuple[Fault, ...]


class Seen(Message):
    """The sandbox answered."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class Lost(Message):
    """The sandbox did not answer; ``why`` says so."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class Done(Message):
    """Something was done; ``said`` tells what, ``command`` is how to do it from a shell."""

    def __init__(self, said: str, command: str = "") -> None:
        super().__init__()
        self.said = said
        self.command = command


class Undone(Message):
    """Something was refused or failed; ``why`` says what, and what to do about it."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why
