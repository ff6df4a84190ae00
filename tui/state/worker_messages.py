"""The messages that workers and widgets post to the app; workers never touch a widget."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from rdss_sandbox.shapes.faults import Fault
from rdss_sandbox.shapes.readers import ReaderList
from rdss_sandbox.shapes.status import Status
from rdss_sandbox.shapes.streams import StreamDetail


@dataclass(frozen=True)
class Snapshot:
    """The state of the sandbox at ``at``, and its readers at ``readers_at`` (seconds of the event loop).

    ``listed`` is how many messages can be listed, None while they cannot.
    """

    at: float
    readers_at: float
    status: Status
    listed: int | None
    streams: tuple[StreamDetail, ...]
    faults: tuple[Fault, ...]
    readers: ReaderList

    @property
    def moved(self) -> tuple[int, int | None, int]:
        """Counters that differ when a list may have changed: process id, messages, events."""
        return self.status.pid, self.listed, self.status.events


class SnapshotTaken(Message):
    """The sandbox answered with its state."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class ConnectionLost(Message):
    """The sandbox did not answer; ``why`` is the error."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why


class ActionDone(Message):
    """An action succeeded; ``said`` is the result for the user, ``command`` the shell command for it."""

    def __init__(self, said: str, command: str = "") -> None:
        super().__init__()
        self.said = said
        self.command = command


class ActionFailed(Message):
    """An action was refused or failed; ``why`` says what failed and what to do about it."""

    def __init__(self, why: str) -> None:
        super().__init__()
        self.why = why
