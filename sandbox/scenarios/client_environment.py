"""The environment of a client under test: channels, folder, application, and killable processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from emulator.assembly.components import Components
from emulator.channels.channel import Channel
from emulator.channels.checkpoints import Checkpoints
from emulator.clock import Clock
from emulator.events import Events
from sandbox.judging.arrivals import ArrivalsReader, record_arrival
from sandbox.receiver import Arrival, MemoryOriginals
from sandbox.receiver.originals import Originals
from sandbox.scenarios.scenario import Claims
from sandbox.scenarios.watched_channel import WatchedChannel

OpenChannel = Callable[[str, Checkpoints | None], Channel]


class Crash(BaseException):
    """The simulated death of a process; ``except Exception`` does not catch it."""


@dataclass(slots=True)
class KillableProcess:
    """A target of the faults ``pause`` and ``kill``; the name says at which moment the process dies."""

    name: str
    paused: bool = False
    killed: bool = False

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def kill(self) -> None:
        self.killed = True

    def die_if_killed(self) -> None:
        """Raise ``Crash`` once after a ``kill``."""
        killed, self.killed = self.killed, False
        if killed:
            raise Crash(self.name)


BEFORE_WORK: Final = "receiver-before-work"
AFTER_WORK: Final = "receiver-after-work"


@dataclass(slots=True)
class ClientEnvironment:
    """The environment that a client is started with; it observes channels and records processed messages.

    ``open`` takes a channel's name and, for streams, the checkpoints to read from. ``process`` is the
    application; it is called with a whole message and the connection for its writes. ``takes`` is its working
    time for a message in seconds. Where messages are claimed, ``claims`` has the rules, and ``workers`` are
    the claiming processes. ``components`` are those of the sandbox that is played in, where it
    is in this process. ``failing`` has the failure of a message by its messageId.
    """

    folder: Path
    clock: Clock
    events: Events
    new_id: Callable[[], str]
    takes: float
    channels: OpenChannel
    components: Components | None = None
    claims: Claims | None = None
    workers: tuple[KillableProcess, ...] = ()
    originals: Originals = field(default_factory=MemoryOriginals)
    failing: Mapping[str, str] = field(default_factory=dict)
    receiver: KillableProcess = field(default_factory=lambda: KillableProcess("receiver"))
    before_work: KillableProcess = field(default_factory=lambda: KillableProcess(BEFORE_WORK))
    after_work: KillableProcess = field(default_factory=lambda: KillableProcess(AFTER_WORK))
    _arrivals: ArrivalsReader = field(init=False)

    def __post_init__(self) -> None:
        self._arrivals = ArrivalsReader(self.receiver_store)

    @property
    def receiver_store(self) -> Path:
        """The SQLite file of the receiving process, with the table for ``process``."""
        return self.folder / "receiver.sqlite3"

    @property
    def victims(self) -> tuple[KillableProcess, ...]:
        return self.receiver, self.before_work, self.after_work, *self.workers

    def open(self, name: str, checkpoints: Checkpoints | None = None) -> Channel:
        """Open an observed channel. Its first use raises ``ChannelUnavailableError`` without a broker."""
        return WatchedChannel(self.channels(name, checkpoints), self.events, self.emit_processed)

    def process(self, arrival: Arrival, store: sqlite3.Connection) -> None:
        """Run the application: work for ``takes`` seconds, then record the message as processed."""
        self.before_work.die_if_killed()
        if self.takes:
            self.clock.wait(self.takes)
        record_arrival(arrival, store, self.clock.time())
        self.after_work.die_if_killed()

    def emit_processed(self) -> None:
        """Emit ``message.processed`` for each message that was committed since the last call."""
        for each in self._arrivals.more():
            name = each.message_id
            self.events.emit(
                "message.processed", message_id=name, parts=each.parts, body=each.body, at=each.time
            )

    def emit_kept(self) -> None:
        """Emit ``original.kept`` for each stored original of a rejected message."""
        kept = self.originals.kept if isinstance(self.originals, MemoryOriginals) else {}
        for uri, data in kept.items():
            self.events.emit("original.kept", uri=uri, size=len(data))

    def close(self) -> None:
        self._arrivals.close()
