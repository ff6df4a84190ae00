"""What a sandbox is made of besides its listeners, and what can be done to all of it at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from emulator.archives import Archives
from emulator.buckets import Buckets
from emulator.catalogue import Catalogue
from emulator.clock import Clock
from emulator.data_directory import DataDirectory
from emulator.events import Events
from emulator.faults.stage import Stage
from emulator.kinesis import Engine, Scope
from emulator.listeners.credentials import DEFAULT_ACCOUNT
from emulator.messages import MessageIndex
from emulator.resources import Populated, Topology
from emulator.rng import Chance
from emulator.settings import Settings


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a sandbox; ``home`` is the account and region of its own streams."""

    settings: Settings
    clock: Clock
    events: Events
    home: Scope
    engine: Engine
    catalogue: Catalogue
    buckets: Buckets
    stage: Stage
    index: MessageIndex
    archives: Archives

    def populate(self, topology: Topology | None = None) -> Populated:
        """Make what is missing of ``topology``, by default the sandbox's own. Raises ``KinesisError``."""
        wanted = self.settings.topology if topology is None else topology
        there = {view.name for view in self.engine.streams(self.home)}
        missing = tuple(name for name in wanted.streams if name not in there)
        for name in missing:
            request = {"StreamName": name, "ShardCount": wanted.streams[name]}
            self.engine.call("CreateStream", request, self.home)
        return Populated(missing, self.buckets.want(wanted.buckets))

    def reset(self) -> None:
        """Remove every fault, stream, message and object, set the clock to real time, and populate afresh."""
        self.stage.clear()
        for scope in self.engine.scopes():
            for view in self.engine.streams(scope):
                request = {"StreamName": view.name, "EnforceConsumerDeletion": True}
                self.engine.call("DeleteStream", request, scope)
        self.buckets.empty()
        self.index.clear()
        if not self.clock.state().real:
            self.clock.resume_real_time()
        self.populate()
        self.archives.reset()
        self.events.emit("sandbox.reset")


@contextmanager
def assembled(settings: Settings, clock: Clock | None = None) -> Iterator[Parts]:
    """The parts that these settings ask for, populated; put away again at the end.

    Raises ``DirectoryInUse``, ``DamagedLog``, and OSError when the data directory cannot be used.
    """
    clock = clock or Clock()
    home = Scope(DEFAULT_ACCOUNT, settings.region)
    with ExitStack() as stack:
        directory = None
        if settings.data_dir is not None:
            directory = DataDirectory(settings.data_dir)
            stack.callback(directory.close)
        log = directory.events(fsync=settings.fsync) if directory else None
        if log:
            stack.callback(log.close)
        events = Events(clock, log)
        streams = directory.streams if directory else None
        engine = Engine(streams, clock, events, fsync=settings.fsync, limits=settings.limits)
        stack.callback(engine.close)
        audit = settings.topology.audit
        catalogue = Catalogue(engine, home, copies=(audit.stream,) if audit else ())
        index = MessageIndex(catalogue, directory.index if directory else None)
        stack.callback(index.close)
        stage = Stage(Chance(settings.seed), clock, events)
        stack.callback(stage.close)
        stage.control = lambda operation, request: engine.call(operation, request, home)
        buckets = Buckets(home)
        stack.callback(buckets.close)
        positions = directory.positions if directory else None
        archives = Archives(
            engine=engine,
            clock=clock,
            events=events,
            scope=home,
            topology=settings.topology,
            s3=buckets.client,
            positions=positions,
        )
        parts = Parts(settings, clock, events, home, engine, catalogue, buckets, stage, index, archives)
        parts.populate()
        yield parts
