"""The command ``sow_delete``: deletes records, and settles leased messages of a queue."""

from __future__ import annotations

from extensions.topics.engine.acknowledging import CommandReceipt
from extensions.topics.engine.client_session import ClientSession
from extensions.topics.engine.command_headers import read_options, split_list
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import SowDelete
from extensions.topics.engine.live_topic import LiveTopic, check_fields
from extensions.topics.engine.querying import read_filter
from extensions.topics.engine.state_of_world import RecordStore, WorldRecord
from extensions.topics.engine.topic_publishing import repeats
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.transaction_log import LoggedChange

_QUEUE_OPTIONS = frozenset({"cancel", "expire"})


def sow_delete(
    registry: TopicRegistry, session: ClientSession, command: SowDelete, receipt: CommandReceipt
) -> None:
    """Delete records or settle queue messages; a repeated command is only acknowledged."""
    repeat = command.seq is not None and repeats(session, command.seq)
    deleted = 0
    # The entry of a repeated command is somewhere in the log; waiting for its end is safe.
    number = registry.log.next - 1 if repeat else 0
    if not repeat:
        topic = registry.find_published(command.topic)
        if topic.queue is not None:
            deleted = _settle(registry, session, command, topic)
        else:
            deleted, number = _delete(registry, session, command, topic)
        if command.seq is not None:
            session.processed(command.seq)
    receipt.acknowledge_done("duplicate" if repeat else "", records_deleted=deleted)
    receipt.acknowledge_persisted(registry.place(command.topic, number))


def _settle(registry: TopicRegistry, session: ClientSession, command: SowDelete, topic: LiveTopic) -> int:
    options = read_options(command.opts, _QUEUE_OPTIONS)
    if not command.bookmark or command.filter or command.sow_keys or command.data:
        raise CommandRefusedError(
            "bad command", f"messages of the queue {topic.name!r} are settled by their bookmarks alone"
        )
    if not registry.door.rights(session.user, topic.name).read or topic.queue is None:
        raise CommandRefusedError(
            "not entitled", f"{session.user!r} may not take from the queue {topic.name!r}"
        )
    return topic.queue.settle(session, split_list(command.bookmark), options)


def _delete(
    registry: TopicRegistry, session: ClientSession, command: SowDelete, topic: LiveTopic
) -> tuple[int, int]:
    """Delete records; return their count, and the log number of the last."""
    read_options(command.opts, frozenset())
    store = topic.store
    if store is None or not topic.takes_publishes:
        why = "keeps no state of the world" if store is None else "is made of other topics; delete in those"
        raise CommandRefusedError("invalid topic", f"{topic.name!r} {why}")
    rights = registry.door.rights(session.user, topic.name)
    if not rights.write:
        raise CommandRefusedError("not entitled", f"{session.user!r} may not write to topic {topic.name!r}")
    records = [one for one in _choose(store, topic, command) if rights.covers(one.data)]
    now = registry.clock.time()
    entries = [LoggedChange("deleted", topic.name, now, one.key, user_id=session.user) for one in records]
    if entries and command.seq is not None:
        # Of the last alone: a downstream passes over what repeats a number that it knows.
        entries[-1].publisher, entries[-1].seq = session.publisher, command.seq
    first = registry.keep(topic, *entries)
    for record in records:
        topic.withdraw(record, "deleted")
    return len(records), first + len(records) - 1


def _choose(store: RecordStore, topic: LiveTopic, command: SowDelete) -> list[WorldRecord]:
    names = [name for name in ("filter", "sow_keys", "data", "bookmark") if getattr(command, name)]
    if names == ["bookmark"]:
        raise CommandRefusedError(
            "bad command", f"bookmarks settle what comes from a queue, and {topic.name!r} is none"
        )
    if len(names) != 1:
        found = " and ".join(names) or "nothing"
        raise CommandRefusedError(
            "bad command", f"it says {found}; say what to delete by one of filter, sow_keys and data"
        )
    if command.filter:
        filtered = read_filter(command.filter)
        if filtered is not None and filtered.by_content:
            check_fields(topic)
        return [one for one in store if filtered is not None and filtered.holds(one.data)]
    if command.sow_keys:
        keys = dict.fromkeys(split_list(command.sow_keys))
    elif store.key_fields is None:
        raise CommandRefusedError(
            "bad sow key", f"publishers give the keys of {topic.name!r}, so data has none; use sow_keys"
        )
    else:
        keys = {store.key_fields.key(topic.message_type.parse(command.data)): None}
    return [one for one in map(store.get, keys) if one is not None]
