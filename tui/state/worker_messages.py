"""The messages that workers and widgets post to the app; workers never touch a widget."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message

from rdss_sandbox.shapes.contract import Contract
from rdss_sandbox.shapes.events import News
from rdss_sandbox.shapes.faults import Fault
from rdss_sandbox.shapes.status import Status


@dataclass(frozen=True)
class ObservedState:
    """The state of the sandbox at ``at`` (seconds of the event loop), and the contract of its messages."""

    at: float
    status: Status
    faults: tuple[Fault, ...]
    contract: Contract


@dataclass
class NewsArrived(Message):
    """Something happened in the sandbox."""

    news: News


@dataclass
class SnapshotTaken(Message):
    """The sandbox answered with its state."""

    snapshot: ObservedState


@dataclass
class ConnectionLost(Message):
    """The sandbox did not answer; ``why`` is the error."""

    why: str


@dataclass
class ActionDone(Message):
    """An action succeeded; ``said`` is the result for the user, ``command`` the shell command for it."""

    said: str
    command: str = ""


@dataclass
class ActionFailed(Message):
    """An action was refused or failed; ``why`` says what failed and what to do about it."""

    why: str
