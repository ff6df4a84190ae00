"""Builds live topics from definitions, and restores their records and messages from the log."""

from __future__ import annotations

import math
from collections.abc import Sequence

from emulator.filters import read_path
from extensions.topics.engine.checkpoints import Checkpoint, TopicCheckpoints
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.conflation import Conflator
from extensions.topics.engine.keys import KeyFields
from extensions.topics.engine.leased_queues import MessageQueue
from extensions.topics.engine.live_topic import LiveTopic
from extensions.topics.engine.message_types import JSON, MessageType, message_type
from extensions.topics.engine.state_of_world import RecordStore, WorldRecord
from extensions.topics.engine.topic_definitions import (
    BadDefinitionError,
    ConflatedTopic,
    Definition,
    Queue,
    Topic,
    View,
)
from extensions.topics.engine.topic_name_patterns import NAME
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.transaction_log import LoggedChange, bookmark_of
from extensions.topics.engine.update import Update
from extensions.topics.engine.view_maker import ViewMaker


def assemble(
    registry: TopicRegistry, definitions: Sequence[Definition], checkpoints: TopicCheckpoints
) -> None:
    """Add the topics of ``definitions`` to the registry and restore their state.

    Raises BadDefinitionError and DamagedLogError.
    """
    for definition in definitions:
        try:
            registry.add(_topic(registry, definition))
        except ValueError as error:
            raise BadDefinitionError(f"{definition.kind} {definition.name!r}: {error}") from None
    registry.conflates = any(topic.logged for topic in registry.topics.values())
    for definition in definitions:
        # Before the log is read, whose messages go into queues.
        if isinstance(definition, Queue):
            _attach_queue(registry, definition)
    checkpoint = checkpoints.read()
    if checkpoint is not None:
        _recall_checkpoint(registry, checkpoint)
    for number, entry in registry.log.entries(checkpoint.next if checkpoint is not None else 1):
        _recall(registry, number, entry)
    _finish_recall(registry)
    # Views first, for a conflated topic may follow one.
    for definition in sorted(definitions, key=lambda one: isinstance(one, ConflatedTopic)):
        if isinstance(definition, View | ConflatedTopic):
            _attach_copy(registry, definition)


def _topic(registry: TopicRegistry, definition: Definition) -> LiveTopic:
    if definition.name in registry.topics:
        raise ValueError("there is another one of this name")
    if not NAME.fullmatch(definition.name):
        raise ValueError("a name has letters, digits and the characters . / : _ -")
    _check(definition)
    kind = _message_type(definition)
    if isinstance(definition, Topic) and definition.keys not in ((), "publisher") and not kind.has_fields:
        raise ValueError(f'{kind.name} messages have no fields to make keys of; say keys = "publisher"')
    return LiveTopic(definition.name, definition, registry.door, _store(definition), kind)


def _message_type(definition: Definition) -> MessageType:
    """The message type of a definition; a queue, view or conflated topic gets that of its origins later."""
    if not isinstance(definition, Topic | Queue):
        return JSON
    found = message_type(definition.message_type, definition.separator)
    if isinstance(definition, Queue) and definition.of and found != JSON:
        raise ValueError("a queue of other topics has their message_type; leave it out")
    return found


def _become_of_type(topic: LiveTopic, origins: Sequence[LiveTopic]) -> None:
    """Give ``topic`` the message type of its ``origins``. Raises BadDefinitionError if they differ."""
    kinds = list(dict.fromkeys(one.message_type for one in origins))
    if len(kinds) > 1:
        names = " and ".join(repr(one.name) for one in origins)
        raise BadDefinitionError(f"{topic.name!r}: {names} are of different message types")
    topic.message_type = kinds[0] if kinds else JSON


def _check(definition: Definition) -> None:
    match definition:
        case Topic(logged=False, downstreams=(name, *_)):
            raise ValueError(f"logged = true is needed: {name!r} is brought up from the transaction log")
        case Topic(expiration=seconds) if seconds is not None and not 0 <= seconds < math.inf:
            raise ValueError(f"expiration {seconds} is no number of seconds from 0 on")
        case Queue(lease=seconds, max_backlog=most) if not 0 < seconds < math.inf or most < 1:
            raise ValueError("lease is above 0 and max_backlog at least 1")
        case View(keys=keys, columns=columns):
            for path in (*keys, *(column.path for column in columns)):
                read_path(path)
        case ConflatedTopic(interval=seconds) if not 0 < seconds < math.inf:
            raise ValueError(f"interval {seconds} is no number of seconds above 0")


def _store(definition: Definition) -> RecordStore | None:
    match definition:
        case Queue() | Topic(keys=()):
            return None
        case Topic(keys=tuple() as paths):
            return RecordStore(KeyFields(definition.name, paths))
        case _:
            return RecordStore(None)


def _attach_queue(registry: TopicRegistry, definition: Queue) -> None:
    topic = registry.topics[definition.name]
    queue = topic.queue = MessageQueue(registry, topic, definition)
    for origin in definition.of or (definition.name,):
        followed = registry.topics.get(origin)
        if followed is None or not followed.logged or (definition.of and followed.queue is not None):
            raise BadDefinitionError(
                f"queue {definition.name!r}: {origin!r} is no topic in the transaction log"
            )
        followed.followers.append(queue)
    _become_of_type(topic, [registry.topics[origin] for origin in definition.of or (definition.name,)])


def _attach_copy(registry: TopicRegistry, definition: View | ConflatedTopic) -> None:
    """Connect a view or a conflated topic to its origins, and build its records from theirs."""
    topic = registry.topics[definition.name]
    maker: ViewMaker | Conflator
    kinds: tuple[type[Definition], ...]
    if isinstance(definition, View):
        maker, origins, kinds = ViewMaker(registry, topic, definition), definition.of, (Topic,)
    else:
        maker, origins, kinds = (Conflator(registry, topic, definition), (definition.of,), (Topic, View))
    followed: list[LiveTopic] = []
    for name in origins:
        origin = registry.topics.get(name)
        if origin is None or origin.store is None or not isinstance(origin.definition, kinds):
            raise BadDefinitionError(
                f"{definition.kind} {definition.name!r}: {name!r} keeps no state of the world"
            )
        followed.append(origin)
    _become_of_type(topic, followed)
    if isinstance(definition, View):
        _check_columns(topic, definition)
    for origin in followed:
        origin.followers.append(maker)
        for record in origin.store or ():
            maker.handle_update(record.to_update(origin.name))
    if isinstance(maker, Conflator):
        # Without an interval: whoever asks after the start finds its records.
        maker.tell()


def _check_columns(topic: LiveTopic, definition: View) -> None:
    names = [str(read_path(path)[-1]) for path in definition.keys] + [one.name for one in definition.columns]
    try:
        topic.message_type.render(dict.fromkeys(names))
    except ValueError as error:
        raise BadDefinitionError(f"view {definition.name!r}: {error}") from None


def _recall_checkpoint(registry: TopicRegistry, checkpoint: Checkpoint) -> None:
    registry.sequences.update(checkpoint.sequences)
    registry.arrivals.update(checkpoint.arrivals)
    for entry in checkpoint.records:
        topic = registry.topics.get(entry.topic)
        if topic is not None and topic.store is not None:
            _recall_record(topic.store, _to_update(registry, entry, 0))
    for one in checkpoint.waiting:
        topic = registry.topics.get(one.queue)
        if topic is not None and isinstance(topic.queue, MessageQueue):
            topic.queue.recall(_to_update(registry, one.entry, one.number))


def _recall(registry: TopicRegistry, number: int, entry: LoggedChange) -> None:
    """Apply a log entry to the topics again."""
    if entry.seq is not None and entry.publisher:
        registry.sequences[entry.publisher] = entry.seq
    if entry.arrived is not None:
        registry.arrivals[entry.arrived.source] = entry.arrived.number
    topic = registry.topics.get(entry.topic)
    # Its definition is gone, and its sequence numbers count all the same.
    if topic is None:
        return
    if entry.kind == "taken":
        if isinstance(topic.queue, MessageQueue):
            topic.queue.recall_taken(entry.numbers)
    elif entry.kind != "published":
        if topic.store is not None:
            topic.store.drop(entry.key)
    elif topic.store is not None or topic.followers:
        _recall_published(registry, topic, number, entry)


def _recall_published(registry: TopicRegistry, topic: LiveTopic, number: int, entry: LoggedChange) -> None:
    update = _to_update(registry, entry, number)
    if topic.store is not None and entry.key:
        _recall_record(topic.store, update)
    for follower in topic.followers:
        if isinstance(follower, MessageQueue):
            follower.recall(update)


def _recall_record(store: RecordStore, update: Update) -> None:
    record = store.get(update.key) or WorldRecord(update.key)
    record.show(update)
    store.add(record)


def _to_update(registry: TopicRegistry, entry: LoggedChange, number: int) -> Update:
    """Convert a log entry to an update, unparsed."""
    update = Update(entry.topic, entry.data, None, entry.time, entry.key, entry.correlation_id)
    update.user_id = entry.user_id if registry.door.reveals_users else ""
    update.number, update.bookmark = number, bookmark_of(number)
    update.expires = entry.expires
    return update


def _finish_recall(registry: TopicRegistry) -> None:
    """Parse the restored records and messages, and schedule their expiry."""
    for topic in registry.topics.values():
        try:
            for record in topic.store or ():
                record.data = topic.message_type.parse(record.body)
                registry.watch(topic, record)
            if isinstance(topic.queue, MessageQueue):
                topic.queue.finish_recall()
        except CommandRefusedError as refused:
            raise BadDefinitionError(
                f"topic {topic.name!r} holds what is not {topic.message_type.name} ({refused.reason}); "
                "give it the message_type that it had, or another name"
            ) from None
