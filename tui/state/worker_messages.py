"""What workers and widgets tell the app: they post these, and touch no widget themselves."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from rdss_sandbox.shapes.faults import Fault
from rdss_sandbox.shapes.readers import ReaderList
from rdss_sandbox.shapes.status import Status
from rdss_sandbox.shapes.streams import StreamDetail


@dataclass(frozen=True)
class Snapshot:
    """The sandbox as it stood at ``at``, its readers at ``readers_at`` (seconds of the event loop)."""

    at: float
    readers_at: float
    status: Status
    streams: tuple[StreamDetail, ...]
    faults: tuple[Fault, ...]
    readers: ReaderList

    @property
    def moved(self) -> tuple[int, int, int]:
        """What is another when anything in the lists may be: the process, its messages, its events."""
        return self.status.pid, self.status.messages, self.status.events


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
