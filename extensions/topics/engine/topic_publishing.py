"""The commands ``publish`` and ``delta_publish``."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec

from extensions.topics.engine.acknowledging import CommandReceipt
from extensions.topics.engine.client_session import ClientSession
from extensions.topics.engine.command_headers import check_base64
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import DeltaPublish, Publish
from extensions.topics.engine.entitlements import Rights
from extensions.topics.engine.live_topic import LiveTopic
from extensions.topics.engine.state_of_world import RecordStore, WorldRecord
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.transaction_log import EntryOrigin, LoggedChange, bookmark_of, build_entry
from extensions.topics.engine.update import Update


class MessageAuthor(NamedTuple):
    """The user and publisher of a message, its sequence number, and the log that it was replicated from."""

    user_id: str
    publisher: str = ""
    seq: int | None = None
    arrived: EntryOrigin | None = None


def publish(
    registry: TopicRegistry, session: ClientSession, command: Publish, receipt: CommandReceipt
) -> None:
    """Publish a message; a repeated sequence number is only acknowledged."""
    repeat = command.seq is not None and repeats(session, command.seq)
    # The entry of a repeated message is somewhere in the log; waiting for its end is safe.
    number = registry.log.next - 1 if repeat else _take(registry, session, command)
    if command.seq is not None and not repeat:
        session.processed(command.seq)
    if receipt.asked:
        receipt.acknowledge_done("duplicate" if repeat else "")
        receipt.acknowledge_persisted(registry.place(command.topic, number))


def repeats(session: ClientSession, seq: int) -> bool:
    """Whether the publisher has sent this sequence number before.

    Raises CommandRefusedError for a negative number.
    """
    if seq < 0:
        raise CommandRefusedError("bad sequence number", f"{seq} is below 0")
    last = session.last_seq
    return last is not None and seq <= last


def build_update(
    registry: TopicRegistry, topic: LiveTopic, command: Publish, user: str
) -> tuple[Update, WorldRecord | None]:
    """Build the update and the record for a command of ``user``, without changing any state.

    Raises CommandRefusedError.
    """
    rights = registry.door.rights(user, topic.name)
    _check(topic, command, rights, user)
    body, kind = command.data, topic.message_type
    # To parse a message costs most of all, and is for those who look into it.
    data = kind.parse(body) if topic.parses or rights.holds is not None or not body else None
    record: WorldRecord | None = None
    if topic.store is None:
        update = Update(topic.name, body, data, registry.clock.time(), "", command.correlation_id)
    else:
        update, record = _build_stored_update(registry, topic.store, topic, command, data)
    if rights.holds is not None and not rights.holds(update.data):
        raise CommandRefusedError(
            "not entitled", f"{user!r} may not write this message to topic {topic.name!r}"
        )
    return update, record


def commit(
    registry: TopicRegistry,
    topic: LiveTopic,
    update: Update,
    record: WorldRecord | None,
    author: MessageAuthor,
) -> int:
    """Log an update, store it and send it to subscribers; return its number in the log, or 0.

    The log comes first: an update that could not be logged changes nothing. Raises CommandRefusedError.
    """
    update.user_id = author.user_id if registry.door.reveals_users else ""
    number = registry.keep(topic, _build_authored_entry(update, author)) if registry.keeps(topic) else 0
    if topic.logged:
        update.number, update.bookmark = number, bookmark_of(number)
    if record is not None and topic.store is not None:
        record.show(update)
        topic.store.add(record)
        if record.expires is not None:
            registry.watch(topic, record)
    topic.announce(update, record)
    return number


def _build_authored_entry(update: Update, author: MessageAuthor) -> LoggedChange:
    body = bytes(update.body)
    if b"\n" in body:
        # An entry of the log is one line.
        update.body = msgspec.Raw(msgspec.json.format(body, indent=-1))
    entry = build_entry(update)
    entry.user_id, entry.publisher, entry.seq = author.user_id, author.publisher, author.seq
    entry.arrived = author.arrived
    return entry


def _take(registry: TopicRegistry, session: ClientSession, command: Publish) -> int:
    topic = registry.find_published(command.topic)
    update, record = build_update(registry, topic, command, session.user)
    update.expires = _expiry(topic, command, update.time)
    publisher = session.publisher if command.seq is not None else ""
    return commit(registry, topic, update, record, MessageAuthor(session.user, publisher, command.seq))


def _check(topic: LiveTopic, command: Publish, rights: Rights, user: str) -> None:
    if not topic.takes_publishes:
        raise CommandRefusedError(
            "invalid topic", f"{topic.name!r} is made of other topics; publish to those"
        )
    if not rights.write:
        raise CommandRefusedError("not entitled", f"{user!r} may not write to topic {topic.name!r}")
    if command.correlation_id:
        check_base64(command.correlation_id, "bad correlation id")
    if command.sow_key and (topic.store is None or topic.store.key_fields is not None):
        raise CommandRefusedError(
            "bad sow key", f"topic {topic.name!r} takes none from publishers; leave it out"
        )
    expiration = command.expiration
    if expiration is not None and not 0 <= expiration < math.inf:
        raise CommandRefusedError("bad expiration", f"{expiration} is no number of seconds from 0 on")


def _build_stored_update(
    registry: TopicRegistry, store: RecordStore, topic: LiveTopic, command: Publish, data: Any
) -> tuple[Update, WorldRecord]:
    """Build the update and the record for a topic with a state of the world, without changing any state."""
    kind = topic.message_type
    if kind.has_fields and not isinstance(data, dict):
        raise CommandRefusedError(
            "bad message", f"a record of topic {topic.name!r} is a JSON object; this is none"
        )
    key = _key(store, topic, command, data)
    known = store.get(key)
    body, correlation_id = command.data, command.correlation_id
    if known is not None and isinstance(command, DeltaPublish):
        body = kind.merge(known.body, body)
        data = kind.parse(body)
        correlation_id = correlation_id or known.correlation_id
    update = Update(topic.name, body, data, registry.clock.time(), key, correlation_id)
    update.message_type = kind
    if known is not None:
        update.before = known.data
    if store.key_fields is not None:
        update.kept = store.key_fields.names
    return update, known or WorldRecord(key)


def _key(store: RecordStore, topic: LiveTopic, command: Publish, data: Any) -> str:
    if store.key_fields is not None:
        return store.key_fields.key(data)
    if not command.sow_key:
        raise CommandRefusedError(
            "bad sow key", f"a publisher gives the keys of topic {topic.name!r}; this message has none"
        )
    check_base64(command.sow_key, "bad sow key")
    return command.sow_key


def _expiry(topic: LiveTopic, command: Publish, now: float) -> float | None:
    if topic.expiration is None:
        return None
    seconds = topic.expiration if command.expiration is None else command.expiration
    return now + seconds if seconds else None
