"""The topics of a sandbox: started on first use, and kept up to date with the streams from then on."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from emulator.clock import Clock
from emulator.destinations import Destinations
from emulator.events import Events
from emulator.faults.fault_engine import FaultEngine
from emulator.journal import DamagedLogError, ends_whole, unlist_below
from emulator.journal.packed import segment_files
from emulator.streams.merged_reading import IndexedStreams
from emulator.streams.stream_service import StreamService
from rdss_sandbox.shapes.topics import OURS, Access, Downstream

if TYPE_CHECKING:
    from emulator.channels.checkpoints.checkpoint_file import CheckpointFile
    from extensions.topics.current_versions import ObjectVersions
    from extensions.topics.engine.client_session import ClientSession
    from extensions.topics.engine.outgoing_messages import Message
    from extensions.topics.engine.topics_engine import TopicsEngine
    from extensions.topics.object_projection import ObjectProjection
    from extensions.topics.replication_links import TopicLinks
    from extensions.topics.saved_topics import SavedTopics
    from extensions.topics.topic_configuration import TopicConfiguration

_CATCH_UP_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class ObjectSources:
    """The sources of the topic ``objects``: ``streams`` to read, ``arrivals`` to be notified of new records.

    ``skipped`` are the streams of the error and the invalid queue.
    """

    streams: IndexedStreams
    arrivals: StreamService
    skipped: frozenset[str]


class TopicService:
    """Starts topics at the first ``open``; before that it loads and runs nothing. Thread-safe.

    ``configured`` None is the topic of objects alone, for everybody. ``destinations`` are what downstreams
    may be. Thread-safe.
    """

    def __init__(
        self,
        directory: Path | None,
        *,
        clock: Clock,
        events: Events,
        fault_engine: FaultEngine,
        configured: TopicConfiguration | None,
        feeding: ObjectSources,
        fsync: bool = False,
        destinations: Destinations | None = None,
    ) -> None:
        self._configured = configured
        self.fault_engine = fault_engine
        self.clock = clock
        self._directory = directory
        self._events = events
        self._feeding = feeding
        self._fsync = fsync
        self._destinations = destinations or Destinations()
        self._lock = threading.RLock()
        self._running: _Running | None = None
        self._access: Access | None = None
        self._downstreams: tuple[Downstream, ...] | None = None
        self._closers: set[Callable[[str], None]] = set()
        self._saved: SavedTopics | None = None

    @property
    def configuration(self) -> TopicConfiguration:
        if self._configured is None:
            from extensions.topics.topic_configuration import NO_CONFIGURATION

            self._configured = NO_CONFIGURATION
        return self._configured

    @property
    def opened(self) -> bool:
        """Whether topics are started, so that ``open`` returns at once."""
        return self._running is not None

    def open(self) -> TopicsEngine:
        """Start the topics if needed, which reads their log, and return them.

        Raises DamagedLogError and BadDefinitionError.
        """
        return self._run().topics

    def look(self) -> None:
        """Tell of what was not written whole or is damaged, by opening the logs if one does not end well.

        Damage is not repaired: opening the topics then raises DamagedLogError.
        """
        if self._directory is None or _end_well(self._directory):
            return
        from extensions.topics.engine.topic_definitions import BadDefinitionError

        try:
            self.open()
        except DamagedLogError as error:
            self._events.emit("journal.damaged", file=str(error.path), why=str(error))
        except BadDefinitionError:
            # The log itself cannot be read. Opening the topics will raise the error.
            return
        finally:
            self.close()

    def session(
        self,
        user: str,
        deliver: Callable[[Message], None],
        *,
        client_name: str = "",
        ended: Callable[[str], None] = lambda _: None,
    ) -> ClientSession:
        """Open a session. ``ended`` is called with ``displaced`` or ``reset`` when the service ends it.

        A session is displaced by another of the same user and ``client_name``. Raises NameInUseError.
        """
        session = self.open().session(
            user, deliver, client_name=client_name, displaced=lambda: ended("displaced")
        )
        self._closers.add(ended)
        return session

    @property
    def access(self) -> Access:
        """The current entitlements."""
        return self._access or self.configuration.access

    def entitle(self, access: Access) -> None:
        """Set the entitlements until a reset, also for open subscriptions.

        Records that a subscription may no longer see leave it. Raises BadDefinitionError.
        """
        from extensions.topics.topic_configuration import add_own_access

        with self._lock:
            self.open().entitle(add_own_access(access))
            self._access = access
        self._events.emit("topic.access_changed", access=msgspec.to_builtins(access))

    @property
    def downstreams(self) -> tuple[Downstream, ...]:
        """The sandboxes that topics can name."""
        return self.configuration.downstreams if self._downstreams is None else self._downstreams

    def point(self, downstreams: tuple[Downstream, ...]) -> None:
        """Set the sandboxes that topics can name, until a reset. Raises BadDefinitionError."""
        with self._lock:
            running = self._run()
            running.links.point(downstreams)
            self._downstreams = downstreams
        links = [{"name": one.name, "url": one.url, "mode": one.mode} for one in downstreams]
        self._events.emit("topic.downstreams_changed", downstreams=links)

    def replicate(self) -> None:
        """Start the topics if there are downstreams, so that they receive what they miss."""
        if not self.downstreams:
            return
        try:
            self.open()
        except ValueError as error:
            self._failed(error)

    def left(self, session: ClientSession, ended: Callable[[str], None]) -> None:
        """Close a session whose client is gone."""
        self._closers.discard(ended)
        session.close()

    def catch_up(self) -> None:
        """Read new messages of the streams into the topic ``objects``, for at most two real seconds."""
        running = self._run()
        running.feed.catch_up(running.session, _CATCH_UP_SECONDS)

    def reset(self) -> None:
        """Forget every message, record and session."""
        with self.closed():
            self._forget()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no other thread use or open the topics while the context lasts."""
        with self._lock, self._running.topics.lock if self._running is not None else nullcontext():
            yield

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Close the topics and their sessions; no thread opens them while the context lasts."""
        with self._lock:
            self.close()
            for ended in tuple(self._closers):
                ended("reset")
            self._closers.clear()
            yield

    def save(self) -> list[bytes]:
        """Return a copy of everything, for ``load``. Raises as ``open``, and OSError."""
        from extensions.topics import saved_topics

        with self._lock:
            if self._saved is not None and self._running is None:
                return [saved_topics.encode(self._saved)]
            there = self._directory is not None and segment_files(self._directory / "messages")
            if self._running is None and not there:
                return []
            running = self._run()
            saved = saved_topics.save(running.topics, running.positions, running.versions)
            saved.access, saved.downstreams = self._access, self._downstreams
            return [saved_topics.encode(saved)]

    def load(self, saved: Sequence[bytes | memoryview], leap: int) -> None:
        """Replace everything by what was saved, while the topics are ``closed``. Raises OSError.

        Numbers of new entries are beyond all that had a lower ``leap``.
        """
        self._forget()
        if not saved:
            return
        from extensions.topics import saved_topics

        found = saved_topics.decode(saved[0])
        found.topics.leap = leap
        self._access, self._downstreams = found.access, found.downstreams
        if self._directory is None:
            self._saved = found
        else:
            saved_topics.write(found, self._directory, fsync=self._fsync)

    def close(self) -> None:
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.stack.close()

    def _forget(self) -> None:
        self._access = self._downstreams = self._saved = None
        if self._directory is not None:
            unlist_below(self._directory)
            shutil.rmtree(self._directory, ignore_errors=True)

    def _run(self) -> _Running:
        running = self._running
        if running is None:
            with self._lock:
                running = self._running = self._running or self._started()
        return running

    def _started(self) -> _Running:
        from emulator.background_worker import BackgroundWorker
        from emulator.channels.checkpoints.checkpoint_file import CheckpointFile
        from emulator.scheduler import Scheduler
        from extensions.topics.current_versions import ObjectVersions
        from extensions.topics.engine.topics_engine import TopicsEngine
        from extensions.topics.object_projection import ObjectProjection
        from extensions.topics.replication_links import TopicLinks
        from extensions.topics.topic_configuration import add_own_access

        directory = self._directory
        with ExitStack() as stack:
            topics = TopicsEngine(
                directory / "messages" if directory else None,
                self.clock,
                self._events,
                self.configuration.definitions,
                access=add_own_access(self.access),
                downstreams=self.downstreams,
                fsync=self._fsync,
                retention=self.configuration.retention,
                recalled=self._saved.topics if self._saved else None,
            )
            stack.callback(topics.close)
            positions = CheckpointFile(directory / "positions.log" if directory else None)
            stack.callback(positions.close)
            self._tell_of_tail("positions.log", positions.torn_bytes)
            for definition in self.configuration.definitions:
                self.fault_engine.note_channel(definition.name, "topic")
            scheduler = Scheduler(self.clock, "topics", self._failed)
            stack.callback(scheduler.close)
            tending = scheduler.follow(topics.tend)
            topics.on_sooner(lambda: scheduler.wake(tending))
            feeding = self._feeding
            versions = ObjectVersions(directory / "versions.log" if directory else None)
            stack.callback(versions.close)
            self._tell_of_tail("versions.log", versions.torn_bytes)
            if self._saved is not None:
                positions.load(self._saved.positions)
                versions.load(self._saved.versions)
            feed = ObjectProjection(feeding.streams, self.clock, positions, versions, feeding.skipped)
            session = topics.session(OURS, lambda _: None)
            worker = BackgroundWorker("objects", [lambda: feed.step(session)], self._failed)
            stack.callback(worker.close)
            stack.callback(feeding.arrivals.on_records(lambda _stream, _shard: worker.wake()))
            worker.wake()
            links = TopicLinks(topics.replication, self._destinations, self._failed)
            stack.callback(links.close)
            links.start(self.downstreams)
            self._saved = None
            return _Running(topics, session, feed, links, positions, versions, stack.pop_all())

    def _tell_of_tail(self, name: str, torn_bytes: int) -> None:
        if self._directory is not None and torn_bytes:
            self._events.emit("journal.cut", file=str(self._directory / name), bytes=torn_bytes)

    def _failed(self, error: Exception) -> None:
        self._events.emit("topics.failed", why=str(error) or repr(error))


@dataclass(frozen=True, slots=True)
class _Running:
    topics: TopicsEngine
    session: ClientSession
    feed: ObjectProjection
    links: TopicLinks
    positions: CheckpointFile
    versions: ObjectVersions
    stack: ExitStack


def _end_well(directory: Path) -> bool:
    """Whether the logs of topics end as they do when all was written whole, as far as their ends tell."""
    segments = segment_files(directory / "messages")
    if segments and int(segments[0].stem) > 1 and not (directory / "messages" / "checkpoint").exists():
        return False
    logs = [*segments[-1:], directory / "positions.log", directory / "versions.log"]
    return all(ends_whole(path) for path in logs if path.exists())
