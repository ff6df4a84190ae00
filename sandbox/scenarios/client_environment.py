"""Where a client under test runs: its channels, its folder, its application, and the ways it can die."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from emulator.channels import Channel, Checkpoints
from emulator.clock import Clock
from emulator.events import Events
from emulator.queues.engine import QueueEngine
from sandbox.judging.arrivals import ArrivalsReader, write_down
from sandbox.receiver import Arrival, MemoryOriginals
from sandbox.scenarios.watched_channel import WatchedChannel

OpenChannel = Callable[[str, Checkpoints | None], Channel]


class Crash(BaseException):
    """The process dies here; no ``except Exception`` saves it."""


@dataclass(slots=True)
class KillableProcess:
    """The receiving process as the faults ``pause`` and ``kill`` know it, by the moment at which it dies."""

    name: str
    paused: bool = False
    doomed: bool = False

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def kill(self) -> None:
        self.doomed = True

    def die_if_doomed(self) -> None:
        doomed, self.doomed = self.doomed, False
        if doomed:
            raise Crash(self.name)


BEFORE_WORK: Final = "receiver-before-work"
AFTER_WORK: Final = "receiver-after-work"


class Claiming(NamedTuple):
    """How workers claim: from which queues, for how long (seconds), how many messages at once."""

    queues: QueueEngine
    ttl: int
    grace: int
    limit: int


@dataclass(slots=True)
class ClientEnvironment:
    """What a client is given. What it opens is watched, what it processes is written down.

    ``open`` takes a channel's name and, for streams, the checkpoints to begin behind; ``process`` is the
    application, to be called with a whole message and the connection to write through. Where messages are
    claimed, ``claims`` says how, and ``workers`` are the processes that do.
    """

    folder: Path
    clock: Clock
    events: Events
    new_id: Callable[[], str]
    takes: float
    channels: OpenChannel
    claims: Claiming | None = None
    workers: tuple[KillableProcess, ...] = ()
    originals: MemoryOriginals = field(default_factory=MemoryOriginals)
    receiver: KillableProcess = field(default_factory=lambda: KillableProcess("receiver"))
    before_work: KillableProcess = field(default_factory=lambda: KillableProcess(BEFORE_WORK))
    after_work: KillableProcess = field(default_factory=lambda: KillableProcess(AFTER_WORK))
    _arrivals: ArrivalsReader = field(init=False)

    def __post_init__(self) -> None:
        self._arrivals = ArrivalsReader(self.receiver_store)

    @property
    def receiver_store(self) -> Path:
        """The SQLite file of the receiving process; the table that ``process`` writes to is in it."""
        return self.folder / "receiver.sqlite3"

    @property
    def victims(self) -> tuple[KillableProcess, ...]:
        return self.receiver, self.before_work, self.after_work, *self.workers

    def open(self, name: str, checkpoints: Checkpoints | None = None) -> Channel:
        """A channel of this name. Raises ``ChannelUnavailableError`` when first used without a broker."""
        return WatchedChannel(self.channels(name, checkpoints), self.events, self.tell_processed)

    def process(self, arrival: Arrival, store: sqlite3.Connection) -> None:
        """The application: works for a while, then writes down that it has the message."""
        self.before_work.die_if_doomed()
        if self.takes:
            self.clock.wait(self.takes)
        write_down(arrival, store, self.clock.time())
        self.after_work.die_if_doomed()

    def tell_processed(self) -> None:
        """Emit ``message.processed`` for what was committed as processed since the last call."""
        for each in self._arrivals.more():
            name = each.message_id
            self.events.emit(
                "message.processed", message_id=name, parts=each.parts, body=each.body, at=each.time
            )

    def tell_kept(self) -> None:
        """Emit ``original.kept`` for each rejected message that was kept whole."""
        for uri, data in self.originals.kept.items():
            self.events.emit("original.kept", uri=uri, size=len(data))

    def close(self) -> None:
        self._arrivals.close()
