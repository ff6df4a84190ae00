"""The sandbox's process: stream engine, fault engine, queues, broker and services over one data directory.

It is asked as over a network: it may die before it has answered, or after, and is started again by whoever
asks next. Nothing of the process survives but its directory.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeVar
from unittest import mock

from emulator import scheduler
from emulator.amqp import broker, turn
from emulator.amqp.store import message_file, message_store, packed_messages
from emulator.amqp.store.message_store import Rests
from emulator.assembly.data_directory import DataDirectory
from emulator.channels.memory import DEFAULT_SCOPE
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.journal import inventory, log, payloads, reserve
from emulator.kinesis import Engine, KinesisError, Scope, StoredRecord, segment_compression
from emulator.machine import private_files
from emulator.rng import Chance, Draws
from emulator.services.service_store import ServiceStore
from extensions.queues.engine import QueueEngine
from rdss_sandbox.shapes.events import Event
from tests.emulator.amqp.engine_client import OwnBroker
from tests.simulation.mortal_disk import MortalDisk, ProcessDiedError
from tests.simulation.power_supply import PowerSupply
from tests.simulation.virtual_time import SeededTasks

_SEGMENT_BYTES: Final = 3_000
_FILE_BYTES: Final = 2_000
_REFUSALS: Final = 0.02
_DEATHS_IN_STARTS: Final = 0.3
Answer = TypeVar("Answer")


class ConnectionLostError(Exception):
    """The sandbox ended before its answer came: whether it did what was asked is not known."""


@dataclass(slots=True)
class SandboxLife:
    """What a process of the sandbox has in memory."""

    directory: DataDirectory
    engine: Engine
    queues: QueueEngine
    amqp: OwnBroker
    services: ServiceStore


class SimulatedSandbox:
    """A sandbox that dies and starts again; ``lives`` counts its processes."""

    def __init__(
        self,
        root: Path,
        tasks: SeededTasks,
        disk: MortalDisk,
        chance: Chance,
        tell: Callable[[str], None],
        *,
        fsync: bool,
    ) -> None:
        self.root = root
        self.tasks = tasks
        self.disk = disk
        self.clock = tasks.clock
        self.lives = 0
        self.refuses = True
        self.dies_in_starts = False
        self.unwritten = False
        self.forgetting: list[Callable[[], None]] = []
        self.power: PowerSupply | None = None
        self._tell = tell
        self._fsync = fsync
        self._draws = chance.draws("sandbox")
        self._running: SandboxLife | None = None
        self.events = Events(self.clock)
        self.events._subscribers.append(self._note_event)
        self.faults = FaultEngine(
            chance, self.clock, self.events,
            control=lambda operation, request: self.ask(
                lambda running: running.engine.call(operation, request, DEFAULT_SCOPE)
            ),
        )  # fmt: skip

    def ask(self, call: Callable[[SandboxLife], Answer]) -> Answer:
        """Have the sandbox do something. Raises ConnectionLostError, and what ``call`` raises."""
        self.tasks.let_others_go_on()
        running, life = self.start(), self.lives
        try:
            answer = call(running)
        except ProcessDiedError:
            self._bury()
            raise ConnectionLostError from None
        finally:
            if not self.disk.is_dead:
                self.tasks.let_others_go_on()
        if self.lives != life or self._running is None:
            raise ConnectionLostError
        return answer

    def start(self) -> SandboxLife:
        """Start the process if it does not run. Raises ConnectionLostError where it ends in its start."""
        if self._running is None:
            self.lives += 1
            if self.dies_in_starts and self._draws.random() < _DEATHS_IN_STARTS:
                self.disk.end_after(self._draws.randrange(20))
            try:
                self._running = self._open()
            except (ProcessDiedError, OSError) as error:
                self._tell(f"sandbox did not start: {type(error).__name__}")
                self._bury()
                raise ConnectionLostError from None
            self._tell(f"sandbox started, life {self.lives}")
        return self._running

    def kill(self) -> None:
        """End the process between two of its calls."""
        if self._running is not None:
            self.disk.is_dead = True
            self._bury()

    def stop(self) -> None:
        """Close the process as a signal does."""
        running, self._running = self._running, None
        if running is None:
            return
        try:
            running.engine.close()
            running.queues.close()
            running.amqp.broker.close()
            running.services.close()
            running.directory.close()
        except ProcessDiedError:
            self._tell("sandbox died while it closed")
        self._running = None
        self._forget_process()

    def _open(self) -> SandboxLife:
        directory = DataDirectory(self.root, fsync=self._fsync)
        engine = Engine(
            directory.streams, self.clock, self.events, fsync=self._fsync, segment_bytes=_SEGMENT_BYTES
        )
        queues = QueueEngine(self.root / "queues.log", self.clock, self.events, fsync=self._fsync)
        amqp = OwnBroker(directory.broker, self.clock, rests=Rests(sparse=0, full=0), fsync=self._fsync)
        amqp.broker._host.report = self._note_report  # type: ignore[method-assign]
        amqp.broker.vhost.store._file_bytes = _FILE_BYTES
        services = ServiceStore(directory.services, self.events, fsync=self._fsync)
        return SandboxLife(directory, engine, queues, amqp, services)

    def _bury(self) -> None:
        running, self._running = self._running, None
        self._tell("sandbox died")
        if running is not None and (shrinking := running.amqp.broker.vhost.store._shrinking) is not None:
            # What is half done must not end later, in the midst of the next process.
            with suppress(ProcessDiedError):
                shrinking[1].close()
        self._forget_process()

    def _forget_process(self) -> None:
        """Drop what a process holds in its modules, and its open files."""
        has_died = self.disk.is_dead
        self.disk.bury()
        if has_died and self.power is not None:
            self.power.end_with_process()
        for opened in (inventory._inventories, payloads._opened, reserve._opened):
            opened.clear()
        for forget in self.forgetting:
            forget()

    def _note_event(self, event: Event) -> None:
        self._note_report(event.kind, **event.fields)

    def _note_report(self, kind: str, **fields: object) -> None:
        self.unwritten |= kind == "amqp.unwritten"
        told = " ".join(f"{name}={value!r}" for name, value in sorted(fields.items()))
        self._tell(f"event {kind} {told}".replace(str(self.root), ""))


class DistantStreams:
    """The streams of a sandbox, as its clients reach them: now and then it does not answer."""

    def __init__(self, sandbox: SimulatedSandbox, draws: Draws) -> None:
        self._sandbox = sandbox
        self._draws = draws

    def call(self, operation: str, request: dict[str, Any], scope: Scope) -> dict[str, Any]:
        return self._ask(lambda running: running.engine.call(operation, request, scope))

    def read(
        self, stream: str, shard_id: str, after: str | None, limit: int, scope: Scope | None = None
    ) -> list[StoredRecord]:
        if self._sandbox.refuses and self._draws.random() < _REFUSALS:
            raise KinesisError("ProvisionedThroughputExceededException", "simulated")
        return self._ask(lambda running: running.engine.read(stream, shard_id, after, limit, scope))

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self._ask(lambda running: getattr(running.engine, name)(*given))

    def _ask(self, call: Callable[[SandboxLife], Answer]) -> Answer:
        try:
            return self._sandbox.ask(call)
        except ConnectionLostError:
            raise KinesisError("InternalFailure", "the connection was lost", 500) from None


class _AtOnce:
    """An executor that does what it is given before it returns."""

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*given))
        except Exception as error:  # noqa: BLE001 -- as the pool does
            done.set_exception(error)
        return done


class _NoThread:
    """A thread that is never started: a task does its work."""

    def __init__(self, **_options: Any) -> None: ...
    def start(self) -> None: ...
    def join(self, timeout: float | None = None) -> None: ...


@contextmanager
def without_chance_or_threads(draws: Draws) -> Iterator[None]:
    """Take away what a run would have beside its seed: random bytes, the machine's time, and threads.

    Turns of the broker end by a time that each look at it advances. Journals and files of messages are
    rewritten, packed and shrunk when they have a few hundred bytes, and not some megabytes.
    """
    elapsed = 0.0

    def look() -> float:
        nonlocal elapsed
        elapsed += 0.0004 * draws.random()
        return elapsed

    threads = SimpleNamespace(**{**vars(threading), "Thread": _NoThread})
    with ExitStack() as stack:
        for module, name, value in (
            (os, "urandom", draws.randbytes),
            (turn, "stopwatch", look),
            (broker, "stopwatch", look),
            (message_store, "stopwatch", look),
            (message_store, "_PACKING", _AtOnce()),
            (message_file, "_SYNCING", _AtOnce()),
            (message_store, "_LEAST_ROLLED", 500),
            (scheduler, "threading", threads),
            (segment_compression, "threading", threads),
            (segment_compression, "_LEAST_BYTES", 1),
            (segment_compression, "_PAUSE_SECONDS", 0),
            (packed_messages, "_PAUSE_SECONDS", 0),
            (log, "OVERGROWN_BYTES", 600),
            (log, "_GROWTH", 2),
            (private_files, "close_tree", lambda _path: None),
        ):
            stack.enter_context(mock.patch.object(module, name, value))
        yield
