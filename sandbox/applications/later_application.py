"""An application whose messages are written down first and worked on later: an extension has that."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from emulator.clock import Clock
from emulator.events import Events
from rdss_sandbox.extension import import_place
from rdss_sandbox.installed_extensions import list_extensions
from sandbox.receiver import Application, Arrival
from sandbox.repository import Repository
from schemas.contract import Code

Reject: TypeAlias = Callable[[bytes, Code, str], None]
"""Moves a message to the queue of its error code."""


class LaterApplication(Protocol):
    """Stands between a receiver and an application: a call writes the message down and returns.

    A message that fails for good goes to ``reject``, which is set before the first ``work``.
    """

    reject: Reject

    def __call__(self, arrival: Arrival, store: sqlite3.Connection, /) -> None: ...

    def work(self) -> int:
        """Work on the messages that are due and return their number."""

    @property
    def unfinished(self) -> int:
        """The number of messages that have not ended, if there are few."""

    def close(self) -> None:
        """Release the unfinished messages for the next process on this store."""


OpenLater: TypeAlias = Callable[[Path, Repository, Application, Clock, Events], LaterApplication]


def find_later() -> OpenLater | None:
    """What opens one on a store; None where no extension has it."""
    places = [extension.later_application for extension in list_extensions() if extension.later_application]
    return import_place(places[0]) if places else None
