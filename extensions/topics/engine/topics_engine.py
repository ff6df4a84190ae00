"""The engine of topics: publish and subscribe, state of the world, log, queues, views. It has no network.

    Session.execute(command)            with TopicRegistry.lock
        -> handler (publish, sow, subscribe, sow_delete)
             -> TransactionLog.append   the entry is durable before anything is visible
             -> Store                   the state of the world
             -> LiveTopic.announce      matching subscriptions -> Session.deliver
                  -> followers          queues, views, conflated topics
        -> Receipt                      acknowledgements -> Session.deliver

``Schedule`` runs what time asks for: expiry, ends of leases, conflation, long replays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import Block, Segments
from extensions.topics.engine.checkpoints import TopicCheckpoints, decode, encode, save
from extensions.topics.engine.client_session import ClientSession, Handler
from extensions.topics.engine.commands import (
    Command,
    DeltaPublish,
    DeltaSubscribe,
    Publish,
    Sow,
    SowAndDeltaSubscribe,
    SowAndSubscribe,
    SowDelete,
    Subscribe,
    Unsubscribe,
)
from extensions.topics.engine.deleting import sow_delete
from extensions.topics.engine.entitlements import AccessRules
from extensions.topics.engine.live_topic import LiveTopic
from extensions.topics.engine.outgoing_messages import Message
from extensions.topics.engine.querying import sow
from extensions.topics.engine.replication import Replication
from extensions.topics.engine.subscribing import sow_and_subscribe, subscribe, unsubscribe
from extensions.topics.engine.topic_assembly import assemble
from extensions.topics.engine.topic_definitions import EVERYBODY, BadDefinitionError, Definition
from extensions.topics.engine.topic_publishing import publish
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.transaction_log import Kind, TransactionLog, bookmark_of
from rdss_sandbox.shapes.topics import Access, Downstream, Topic, TopicLink

HANDLERS: Final[dict[type[Command], Handler]] = {
    Publish: publish,
    DeltaPublish: publish,
    Subscribe: subscribe,
    DeltaSubscribe: subscribe,
    Sow: sow,
    SowAndSubscribe: sow_and_subscribe,
    SowAndDeltaSubscribe: sow_and_subscribe,
    Unsubscribe: unsubscribe,
    SowDelete: sow_delete,
}


class NameInUseError(Exception):
    """The client name is in use by a session of another user."""

    def __init__(self, client_name: str) -> None:
        super().__init__(f"{client_name!r} is the name of another user's client; connect under another name")


class LogEntry(msgspec.Struct, frozen=True):
    """An entry of the transaction log: a published message, or a deleted or expired record."""

    bookmark: str
    topic: str
    kind: Kind
    time: float
    sow_key: str
    data: msgspec.Raw
    correlation_id: str
    user_id: str


class TopicsEngine:
    """The topics of a sandbox. Thread-safe. Without ``directory`` nothing outlives the process.

    A message that was acknowledged as persisted survives ``kill -9``, and with ``fsync`` a power cut. It is
    also in the ``downstreams`` of its topic; ``replication`` sends it there. The log can be replayed for at
    least ``retention`` seconds; None means for ever. Without a directory they may go on from a copy, which is
    ``recalled``. Raises DamagedLogError and BadDefinitionError.
    """

    def __init__(
        self,
        directory: Path | None,
        clock: Clock,
        events: Events,
        definitions: Sequence[Definition] = (),
        *,
        access: Access = EVERYBODY,
        downstreams: Sequence[Downstream] = (),
        fsync: bool = False,
        retention: float | None = None,
        recalled: TopicsCopy | None = None,
    ) -> None:
        if retention is not None and not retention >= 0:
            raise BadDefinitionError(f"retention {retention} is no number of seconds from 0 on")
        log = TransactionLog(directory, fsync=fsync, recalled=recalled.build_log() if recalled else None)
        path = None if directory is None else directory / "checkpoint"
        try:
            self._registry = registry = TopicRegistry(clock, events, AccessRules(access), log)
            self._checkpoints = TopicCheckpoints(
                registry,
                path,
                definitions,
                retention=retention,
                fsync=fsync,
                recalled=decode(recalled.checkpoint) if recalled else None,
            )
            assemble(registry, definitions, self._checkpoints)
            self.replication = Replication(registry, directory, definitions, downstreams)
            if log.torn_bytes:
                events.emit("journal.cut", file=str(directory), bytes=log.torn_bytes)
        # Nobody else can close it.
        except BaseException:
            log.close()
            raise
        if log.lost:
            # The rest of the log no longer holds the whole state, so a checkpoint must.
            self._checkpoints.write()
        self._checkpoints.begin()
        self._sessions: dict[ClientSession, None] = {}
        self._displaced: dict[str, tuple[ClientSession, Callable[[], None]]] = {}

    def session(
        self,
        user: str,
        deliver: Callable[[Message], None],
        *,
        client_name: str = "",
        displaced: Callable[[], None] = lambda: None,
    ) -> ClientSession:
        """Open a session for ``user``; ``deliver`` is called on any thread and must not block.

        An open session of the same user and ``client_name`` is closed, and its ``displaced`` is called.
        Raises NameInUseError.
        """
        with self._registry.lock:
            self._displace(user, client_name)
            session = ClientSession(self._registry, HANDLERS, user, deliver, client_name)
            self._sessions[session] = None
            session.on_close.append(lambda: self._left(session))
            if client_name:
                self._displaced[client_name] = session, displaced
            return session

    @property
    def lock(self) -> threading.RLock:
        """What is held while something is done to topics, for as long as that takes."""
        return self._registry.lock

    def tend(self) -> float | None:
        """Run the scheduled actions that are due: expiry, ends of leases, conflation, long replays.

        Returns the seconds of the clock until the next action, None when there is none.
        A ``Scheduler`` that follows it calls it at the right times.
        """
        with self._registry.lock:
            self._registry.catch_up()
            return self._registry.schedule.wait()

    def on_sooner(self, sooner: Callable[[], None]) -> None:
        """Register ``sooner``, called on any thread when an action is due earlier than ``tend`` returned."""
        self._registry.schedule.sooner = sooner

    def entitle(self, access: Access) -> None:
        """Set the entitlements; records that a subscription may no longer see leave it.

        Raises BadDefinitionError.
        """
        door = AccessRules(access)
        with self._registry.lock:
            self._registry.entitle(door)

    def summaries(self) -> list[Topic]:
        """All topics that are defined or have subscriptions, sorted by name."""
        with self._registry.lock:
            self._registry.catch_up()
            links_of = self.replication.links_of
            return [_summary(topic, links_of(topic)) for _, topic in sorted(self._registry.topics.items())]

    def history(self, topic: str, after: str = "0", limit: int = 1000) -> list[LogEntry]:
        """Up to ``limit`` log entries of ``topic`` after a bookmark.

        Applied in order to the state of the world at the bookmark, they give the current one. A topic that is
        not logged has no entries. Raises CommandRefusedError for a bookmark that is not valid.
        """
        with self._registry.lock:
            self._registry.catch_up()
            known = self._registry.topics.get(topic)
            if known is None or not known.replays:
                return []
            number, _ = self._registry.log.start(after)
            return list(islice(self._happenings(topic, number), limit))

    def copy(self) -> TopicsCopy:
        """Return a copy of the log and of the state after it. Raises DamagedLogError and OSError."""
        with self._registry.lock:
            self._registry.catch_up()
            return TopicsCopy(encode(self._checkpoints.build()), self._registry.log.copy())

    def close(self) -> None:
        """Close every session, write a checkpoint and close the log."""
        with self._registry.lock:
            for session in tuple(self._sessions):
                # A publisher sends again what was not acknowledged.
                session.persistence.flush()
                session.close()
            self._checkpoints.write()
            self._registry.log.close()

    def _left(self, session: ClientSession) -> None:
        self._sessions.pop(session, None)
        # A newer session may have the name by now.
        if self._displaced.get(session.client_name, (None,))[0] is session:
            del self._displaced[session.client_name]

    def _displace(self, user: str, client_name: str) -> None:
        session, displaced = self._displaced.get(client_name, (None, None))
        if session is None or displaced is None or session.closed:
            return
        if session.user != user:
            raise NameInUseError(client_name)
        session.close()
        displaced()

    def _happenings(self, topic: str, number: int) -> Any:
        for at, entry in self._registry.log.entries(number):
            if entry.topic == topic:
                yield LogEntry(
                    bookmark_of(at),
                    topic,
                    entry.kind,
                    entry.time,
                    entry.key,
                    entry.data,
                    entry.correlation_id,
                    entry.user_id if self._registry.door.reveals_users else "",
                )


def _summary(topic: LiveTopic, downstreams: tuple[TopicLink, ...]) -> Topic:
    kept = topic.store if topic.queue is None else topic.queue
    takers = topic.subscriptions if topic.queue is None else topic.queue.takers
    return Topic(
        topic.name,
        topic.definition.kind if topic.definition is not None else "",
        None if kept is None else len(kept),
        len(takers),
        topic.logged,
        topic.message_type.name,
        downstreams,
    )


class TopicsCopy(msgspec.Struct, gc=False):
    """The transaction log, and the encoded checkpoint after its last entry.

    ``leap`` is as ``Segments`` counts it.
    """

    checkpoint: bytes
    blocks: list[Block]
    leap: int = 0

    def build_log(self, directory: Path | None = None) -> Segments:
        """Make a log of the copy. Raises OSError."""
        return Segments.put_back(directory, self.blocks, leap=self.leap)

    def write(self, directory: Path, *, fsync: bool) -> None:
        """Write the copy to a directory that is not there. Raises OSError."""
        log = self.build_log(directory)
        try:
            log.keep_next()
            if fsync:
                log.sync()
        finally:
            log.close()
        save(directory / "checkpoint", decode(self.checkpoint), fsync=fsync)
