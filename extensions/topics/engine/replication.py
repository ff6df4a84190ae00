"""Replication of topics to and from other sandboxes.

    upstream   log ──▶ shipment(after) ──────▶ receive ──▶ log   downstream
               Link.acknowledge ◀── Position ◀──┘

Each log has an identity, and a replicated entry names its source log and number. So the downstream knows its
position in the upstream's log after any crash of either, and takes no entry twice. Nothing is kept in memory
for a downstream that is behind: its entries are read from the log when it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from emulator.journal import Log
from emulator.rng import new_uuid
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import Publish
from extensions.topics.engine.downstream_links import Link
from extensions.topics.engine.live_topic import LiveTopic
from extensions.topics.engine.topic_definitions import BadDefinitionError, Definition, Topic
from extensions.topics.engine.topic_publishing import MessageAuthor, build_update, commit
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.transaction_log import EntryOrigin, LoggedChange
from rdss_sandbox.shapes.topics import Downstream, TopicLink

MOST_ENTRIES: Final = 1000
MOST_BYTES: Final = 1 << 22
MOST_SOURCES: Final = 1000
"""Logs from which one takes over; each is remembered for good."""
_LONGEST_SOURCE: Final = 64


class Shipment(msgspec.Struct):
    """The entries of the log ``source`` for a downstream, with numbers above ``after`` up to ``upto``.

    A downstream takes it only if its position is ``after``.
    """

    source: Annotated[str, msgspec.Meta(max_length=_LONGEST_SOURCE)]
    after: int
    upto: int
    entries: Annotated[list[tuple[int, LoggedChange]], msgspec.Meta(max_length=MOST_ENTRIES)] = []


class DownstreamPosition(msgspec.Struct, omit_defaults=True):
    """The position of the downstream log ``log`` in the upstream log; ``refused`` is why it cannot go on."""

    log: str
    number: int
    refused: str = ""


class Replication:
    """Replicates between the log of ``registry``, in ``directory``, and those of others. Thread-safe.

    Raises BadDefinitionError, ``DamagedLogError``.
    """

    def __init__(
        self,
        registry: TopicRegistry,
        directory: Path | None,
        definitions: Iterable[Definition],
        downstreams: Sequence[Downstream],
    ) -> None:
        self._registry = registry
        self._directory = directory
        self._topics: dict[str, list[str]] = {}
        for definition in definitions:
            for name in dict.fromkeys(definition.downstreams if isinstance(definition, Topic) else ()):
                self._topics.setdefault(name, []).append(definition.name)
        self._links: dict[str, Link] = {}
        self._peers: dict[str, str] = {}
        if directory is not None and self._identity_path(directory).exists():
            # A wrong setting is reported now, not at the first shipment.
            _ = self.identity
        self.point(downstreams)

    @cached_property
    def identity(self) -> str:
        """Which log it is: the same for as long as its directory is there.

        Raises OSError, ``DamagedLogError``.
        """
        if self._directory is None:
            return new_uuid()
        # Synced in any case: under another identity, every downstream would begin again.
        log = Log(self._identity_path(self._directory), fsync=True)
        try:
            if log.torn_bytes:
                self._registry.events.emit("journal.cut", file=str(log.path), bytes=log.torn_bytes)
            for _, known in log.entries():
                return known.decode("ascii")
            drawn = new_uuid()
            log.append(drawn.encode("ascii"))
        finally:
            log.close()
        return drawn

    @staticmethod
    def _identity_path(directory: Path) -> Path:
        return directory / "replication" / "identity.log"

    def check(self, downstreams: Sequence[Downstream]) -> None:
        """Raise BadDefinitionError if one is not valid, or a topic names one that is missing."""
        _check_downstreams(downstreams, self._topics)

    def point(self, downstreams: Sequence[Downstream]) -> None:
        """Replace the downstreams; their positions are unknown at first. Raises BadDefinitionError."""
        named = _check_downstreams(downstreams, self._topics)
        registry = self._registry
        with registry.lock:
            for name, downstream in named.items():
                link = self._links.get(name)
                if link is not None:
                    link.point(downstream)
                    continue
                # Until it answers, it may lack all that is there.
                link = Link(
                    downstream, registry.log.next - 1, registry.clock, registry.events, registry.schedule
                )
                link.released = registry.release
                self._links[name] = link
                for topic in self._topics.get(name, ()):
                    registry.topics[topic].links.append(link)
            for name in self._links.keys() - named.keys():
                del self._links[name]

    def links(self) -> list[TopicLink]:
        """The state of all downstreams, sorted by name."""
        with self._registry.lock:
            return [self._describe(link) for _, link in sorted(self._links.items())]

    def links_of(self, topic: LiveTopic) -> tuple[TopicLink, ...]:
        """The downstreams of ``topic``. The caller must hold the registry's lock."""
        return tuple(self._describe(link) for link in topic.links)

    def on_more(self, name: str, more: Callable[[], None]) -> None:
        """Register ``more``, called on any thread when the log has an entry for the downstream ``name``."""
        with self._registry.lock:
            self._links[name].stirred = more

    def begin(self, name: str, position: DownstreamPosition) -> None:
        """Note that the downstream ``name`` answers and has that position."""
        with self._registry.lock:
            self._peers[name] = position.log
            # It may have entries that this log has lost in a power cut.
            self._links[name].connect(min(position.number, self._registry.log.next - 1))

    def sent(self, name: str, number: int) -> None:
        """Note that the downstream ``name`` was sent the log up to ``number``."""
        with self._registry.lock:
            self._links[name].send(number)

    def acknowledge(self, name: str, number: int) -> None:
        """Note that the downstream ``name`` has the log up to ``number``, which falls after a loss."""
        with self._registry.lock:
            self._links[name].acknowledge(number)

    def refuse(self, name: str, why: str) -> None:
        """Note that the downstream ``name`` refuses the next entry."""
        with self._registry.lock:
            self._links[name].refuse(why)

    def lose(self, name: str, why: str) -> None:
        """Note that the downstream ``name`` does not answer."""
        with self._registry.lock:
            self._links[name].disconnect(why)

    def shipment(self, name: str, after: int, scanned: int) -> Shipment:
        """Build a shipment behind ``scanned`` for the downstream ``name`` at position ``after``."""
        registry = self._registry
        with registry.lock:
            start = max(scanned + 1, registry.log.first)
            if start > scanned + 1:
                missing = start - scanned - 1
                registry.events.emit("topic.link_gap", downstream=name, missing=missing)
            shipment = Shipment(self.identity, after, min(start + MOST_ENTRIES, registry.log.next) - 1)
            size = 0
            for number, entry in registry.log.entries(start, MOST_ENTRIES):
                shipment.upto = max(shipment.upto, number)
                if self._concerns(name, entry):
                    shipment.entries.append((number, entry))
                    size += len(memoryview(entry.data))
                if size > MOST_BYTES:
                    shipment.upto = number
                    break
            return shipment

    def receive(self, user: str, shipment: Shipment) -> DownstreamPosition:
        """Store the new entries of ``shipment`` as ``user``; return the new, durable position."""
        registry = self._registry
        with registry.lock:
            registry.catch_up()
            at = registry.arrivals.get(shipment.source, 0)
            if shipment.source == self.identity:
                return DownstreamPosition(self.identity, at, "a sandbox cannot be downstream of itself")
            if shipment.after != at:
                return DownstreamPosition(self.identity, at)
            if shipment.source not in registry.arrivals and len(registry.arrivals) >= MOST_SOURCES:
                why = f"it is downstream of {MOST_SOURCES} logs already, which is the most"
                return DownstreamPosition(self.identity, at, why)
            refused = ""
            try:
                for number, entry in shipment.entries:
                    origin = shipment.source if entry.arrived is None else entry.arrived.origin
                    self._take_over(user, EntryOrigin(shipment.source, number, origin), entry)
                    # One by one: where an entry is refused, those before it do not come again.
                    registry.arrivals[shipment.source] = number
                # Behind the last entry there was nothing for this sandbox.
                registry.arrivals[shipment.source] = shipment.upto
                registry.log.sync()
            except CommandRefusedError as error:
                refused = error.reason
            except OSError as error:
                refused = f"not stored: the log could not be made durable ({error})"
            return DownstreamPosition(self.identity, registry.arrivals.get(shipment.source, 0), refused)

    def _concerns(self, name: str, entry: LoggedChange) -> bool:
        if entry.kind == "taken" or entry.topic not in self._topics.get(name, ()):
            return False
        # Nothing goes back to where it came from.
        return entry.arrived is None or entry.arrived.source != self._peers.get(name)

    def _take_over(self, user: str, arrived: EntryOrigin, entry: LoggedChange) -> None:
        registry = self._registry
        known = registry.sequences.get(entry.publisher) if entry.publisher else None
        repeated = known is not None and entry.seq is not None and entry.seq <= known
        # Sandboxes may replicate in a circle, in which an entry comes back to where it began.
        if repeated or arrived.origin == self.identity:
            return
        topic = registry.find_published(entry.topic)
        author = MessageAuthor(entry.user_id, entry.publisher, entry.seq, arrived)
        if entry.kind == "published":
            given = topic.store is not None and topic.store.key_fields is None
            command = Publish(entry.topic, entry.data, correlation_id=entry.correlation_id)
            command.sow_key = entry.key if given else ""
            update, record = build_update(self._registry, topic, command, user)
            update.expires = None if topic.expiration is None else entry.expires
            commit(self._registry, topic, update, record, author)
        else:
            self._withdraw(user, topic, entry, author)
        if entry.publisher and entry.seq is not None:
            registry.sequences[entry.publisher] = entry.seq

    def _withdraw(self, user: str, topic: LiveTopic, entry: LoggedChange, author: MessageAuthor) -> None:
        registry = self._registry
        rights = registry.door.rights(user, topic.name)
        record = topic.store.get(entry.key) if topic.store is not None else None
        if not rights.write or (record is not None and not rights.covers(record.data)):
            raise CommandRefusedError("not entitled", f"{user!r} may not write to topic {topic.name!r}")
        if record is None:
            return
        gone = LoggedChange(entry.kind, topic.name, registry.clock.time(), record.key, user_id=entry.user_id)
        gone.publisher, gone.seq, gone.arrived = author.publisher, author.seq, author.arrived
        registry.keep(topic, gone)
        topic.withdraw(record, "expired" if entry.kind == "expired" else "deleted")

    def _describe(self, link: Link) -> TopicLink:
        state: Literal["up", "down", "refusing"] = "down" if not link.up else "refusing" if link.why else "up"
        downstream = link.downstream
        topics = tuple(self._topics.get(link.name, ()))
        return TopicLink(
            link.name, downstream.url, downstream.mode, state, link.behind, topics, link.downgraded, link.why
        )


def _check_downstreams(
    downstreams: Sequence[Downstream], topics: dict[str, list[str]]
) -> dict[str, Downstream]:
    named: dict[str, Downstream] = {}
    for one in downstreams:
        if one.name in named or not one.name:
            raise BadDefinitionError(f"downstream {one.name!r}: every one has a name of its own")
        if not one.url.startswith(("http://", "https://")):
            raise BadDefinitionError(
                f"downstream {one.name!r}: url {one.url!r} is not that of a topics port, as http://127.0.0.1:9007"
            )
        if one.downgrade_after is not None and not one.downgrade_after >= 0:
            found = f"downgrade_after {one.downgrade_after} is no number of seconds from 0 on"
            raise BadDefinitionError(f"downstream {one.name!r}: {found}")
        named[one.name] = one
    for name, wanting in topics.items():
        if name not in named:
            names = ", ".join(sorted(named)) or "none"
            raise BadDefinitionError(
                f"topic {wanting[0]!r}: there is no downstream {name!r} to go on to; there are: {names}"
            )
    return named
