"""``publish`` and ``delta_publish``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from emulator.topics.engine.access import Rights
from emulator.topics.engine.acknowledging import Receipt
from emulator.topics.engine.commands import DeltaPublish, Publish
from emulator.topics.engine.headers import base64_only
from emulator.topics.engine.live_topic import LiveTopic
from emulator.topics.engine.merging import merged
from emulator.topics.engine.records import Record, Store
from emulator.topics.engine.refusals import CommandRefusedError
from emulator.topics.engine.session import Session
from emulator.topics.engine.topic_registry import TopicRegistry
from emulator.topics.engine.transaction_log import bookmark_of, published
from emulator.topics.engine.update import Update

DEEPEST: Final = 200

_decode = msgspec.json.Decoder().decode


def publish(registry: TopicRegistry, session: Session, command: Publish, receipt: Receipt) -> None:
    """Take the message in and tell everybody it concerns; a publisher's repeat is only acknowledged."""
    repeat = command.seq is not None and repeats(session, command.seq)
    if not repeat:
        _take(registry, session, command)
        if command.seq is not None:
            session.processed(command.seq)
    if receipt.asked:
        receipt.done("duplicate" if repeat else "")
        receipt.persisted()


def repeats(session: Session, seq: int) -> bool:
    """Whether the publisher has sent this one before.

    Raises CommandRefusedError for what is no sequence number.
    """
    if seq < 0:
        raise CommandRefusedError("bad sequence number", f"{seq} is below 0")
    last = session.last_seq
    return last is not None and seq <= last


def parsed(data: msgspec.Raw) -> Any:
    """The value that ``data`` writes in JSON. Raises CommandRefusedError."""
    if not data:
        raise CommandRefusedError("bad message", "there is no data")
    try:
        value = _decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise CommandRefusedError("bad message", f"the data cannot be read as JSON ({error})") from None
    body = bytes(data)
    if body.count(b"[") + body.count(b"{") > DEEPEST and _deeper(value):
        raise CommandRefusedError("bad message", f"the data is nested deeper than {DEEPEST} levels")
    return value


def _deeper(value: Any) -> bool:
    """Whether ``value`` is nested deeper than everything that later looks into it can follow."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [child for one in level for child in _children(one)]
        if not level:
            return False
    return True


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _take(registry: TopicRegistry, session: Session, command: Publish) -> None:
    topic = registry.passing(command.topic)
    rights = registry.door.rights(session.user, topic.name)
    _check(session, topic, command, rights)
    body = command.data
    data = parsed(body) if topic.parses or rights.holds is not None or not body else None
    if topic.store is None:
        update = Update(topic.name, body, data, registry.clock.time(), "", command.correlation_id)
        record = None
    else:
        update, record = _overlaid(registry, topic.store, topic, command, data)
    if rights.holds is not None and not rights.holds(update.data):
        raise CommandRefusedError(
            "not entitled", f"{session.user!r} may not write this message to topic {topic.name!r}"
        )
    update.user_id = session.user if registry.door.reveals_users else ""
    update.expires = _expiry(topic, command, update.time)
    if registry.keeps(topic):
        _log(registry, topic, session, command, update)
    if record is not None and topic.store is not None:
        record.show(update)
        topic.store.add(record)
        if record.expires is not None:
            registry.watch(topic, record)
    topic.announce(update, record)


def _check(session: Session, topic: LiveTopic, command: Publish, rights: Rights) -> None:
    if not topic.takes_publishes:
        raise CommandRefusedError(
            "invalid topic", f"{topic.name!r} is made of other topics; publish to those"
        )
    if not rights.write:
        raise CommandRefusedError("not entitled", f"{session.user!r} may not write to topic {topic.name!r}")
    if command.correlation_id:
        base64_only(command.correlation_id, "bad correlation id")
    if command.sow_key and (topic.store is None or topic.store.key_fields is not None):
        raise CommandRefusedError(
            "bad sow key", f"topic {topic.name!r} takes none from publishers; leave it out"
        )
    expiration = command.expiration
    if expiration is not None and not 0 <= expiration < math.inf:
        raise CommandRefusedError("bad expiration", f"{expiration} is no number of seconds from 0 on")


def _overlaid(
    registry: TopicRegistry, store: Store, topic: LiveTopic, command: Publish, data: Any
) -> tuple[Update, Record]:
    """What the message comes to with what is known of its record; nothing is changed yet."""
    if not isinstance(data, dict):
        raise CommandRefusedError(
            "bad message", f"a record of topic {topic.name!r} is a JSON object; this is none"
        )
    key = _key(store, topic, command, data)
    known = store.get(key)
    body, correlation_id = command.data, command.correlation_id
    if known is not None and isinstance(command, DeltaPublish):
        body = merged(known.body, body)
        data = _decode(body)
        correlation_id = correlation_id or known.correlation_id
    update = Update(topic.name, body, data, registry.clock.time(), key, correlation_id)
    if known is not None:
        update.before = known.data
    if store.key_fields is not None:
        update.kept = store.key_fields.names
    return update, known or Record(key)


def _key(store: Store, topic: LiveTopic, command: Publish, data: Any) -> str:
    if store.key_fields is not None:
        return store.key_fields.key(data)
    if not command.sow_key:
        raise CommandRefusedError(
            "bad sow key", f"a publisher gives the keys of topic {topic.name!r}; this message has none"
        )
    base64_only(command.sow_key, "bad sow key")
    return command.sow_key


def _expiry(topic: LiveTopic, command: Publish, now: float) -> float | None:
    if topic.expiration is None:
        return None
    seconds = topic.expiration if command.expiration is None else command.expiration
    return now + seconds if seconds else None


def _log(
    registry: TopicRegistry, topic: LiveTopic, session: Session, command: Publish, update: Update
) -> None:
    body = bytes(update.body)
    if b"\n" in body:
        update.body = msgspec.Raw(msgspec.json.format(body, indent=-1))
    entry = published(update)
    entry.user_id = session.user
    if command.seq is not None:
        entry.publisher, entry.seq = session.publisher, command.seq
    number = registry.log.append(entry)
    if topic.logged:
        update.number, update.bookmark = number, bookmark_of(number)
