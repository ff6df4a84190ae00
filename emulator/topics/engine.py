"""Topics: publish and subscribe with a state of the world, a log, queues and views. No network in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.topics.commands import Command
from emulator.topics.definitions import EVERYBODY, Access, Definition
from emulator.topics.messages import Message


class Session:
    """One client. Everything comes back through ``deliver``, acknowledgements included, in order.

    ``last_seq`` is the last sequence number of this publisher that was processed, None before the first.
    """

    user: str
    client_name: str
    closed: bool
    last_seq: int | None

    def execute(self, command: Command) -> None:
        """Do what ``command`` asks; never raises for what it says: that is in its acknowledgements."""
        raise NotImplementedError

    def close(self) -> None:
        """End its subscriptions; what it holds of queues goes back."""
        raise NotImplementedError


class NameInUse(Exception):  # noqa: N818 - it says what was found
    """A client name belongs to a session of another user."""


class TopicSummary(msgspec.Struct, frozen=True):
    """A topic as it is: ``records`` None where it keeps no state of the world."""

    name: str
    kind: str
    records: int | None
    subscriptions: int
    logged: bool


class Topics:
    """Thread-safe. ``directory`` None keeps nothing beyond the process.

    Raises ``DamagedLog``, and ``BadDefinition`` for definitions that contradict each other.
    """

    def __init__(
        self,
        directory: Path | None,
        clock: Clock,
        events: Events,
        definitions: Sequence[Definition] = (),
        *,
        access: Access = EVERYBODY,
        fsync: bool = False,
    ) -> None:
        raise NotImplementedError

    def session(
        self,
        user: str,
        deliver: Callable[[Message], None],
        *,
        client_name: str = "",
        displaced: Callable[[], None] = lambda: None,
    ) -> Session:
        """A session for ``user``; ``deliver`` is called on any executing thread and must not wait.

        An open session of the same user and ``client_name`` is closed and its ``displaced`` called.
        Raises NameInUse.
        """
        raise NotImplementedError

    def tend(self) -> float | None:
        """Do what time asks for: expiry, leases, conflation, long replays.

        Returns in how many seconds of the clock there is more to do, None when nothing waits.
        ``attendant.attend`` calls it at the right times.
        """
        raise NotImplementedError

    def on_sooner(self, sooner: Callable[[], None]) -> None:
        """Have ``sooner`` called, on any thread, whenever there is something to do sooner than ``tend`` said."""
        raise NotImplementedError

    def summaries(self) -> list[TopicSummary]:
        """Every topic that is defined or has been used."""
        raise NotImplementedError

    def close(self) -> None:
        """Close every session and give the files back."""
        raise NotImplementedError
