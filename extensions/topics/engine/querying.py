"""The command ``sow``: queries the state of the world."""

from __future__ import annotations

from itertools import islice
from typing import Final, TypeAlias

from emulator.filters import Filter as CompiledFilter
from emulator.filters import FilterSyntaxError, compile_filter
from extensions.topics.engine.acknowledging import CommandReceipt
from extensions.topics.engine.client_session import ClientSession
from extensions.topics.engine.command_headers import read_options, split_list
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import Sow, SowAndSubscribe
from extensions.topics.engine.live_topic import LiveTopic
from extensions.topics.engine.outgoing_messages import GroupBegin, GroupEnd, SowMessage, SowRecord
from extensions.topics.engine.result_order import read_order, sort_records
from extensions.topics.engine.state_of_world import WorldRecord
from extensions.topics.engine.topic_name_patterns import pattern_of
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.topic_subscription import TopicSubscription
from rdss_sandbox.text.timestamps import timestamp

Query: TypeAlias = Sow | SowAndSubscribe

_OPTIONS: Final = frozenset({"skip_n"})


def sow(registry: TopicRegistry, session: ClientSession, command: Sow, receipt: CommandReceipt) -> None:
    """Send the records that match."""
    options = read_options(command.opts, _OPTIONS)
    asking = TopicSubscription(session, "", command.topic)
    asking.pattern = pattern_of(command.topic)
    filtered = read_filter(command.filter)
    asking.by_content = filtered is not None and filtered.by_content
    result = QueryResult(registry, asking, command, filtered, skip=options.skip_n)
    receipt.acknowledge("processed", query_id=result.query_id)
    result.send(session)
    receipt.acknowledge("completed", query_id=result.query_id)
    receipt.acknowledge("stats", **result.counts())


def read_filter(text: str) -> CompiledFilter | None:
    """Compile a filter; None for an empty text. Raises CommandRefusedError."""
    if not text:
        return None
    try:
        return compile_filter(text)
    except FilterSyntaxError as error:
        raise CommandRefusedError("bad filter", str(error)) from None


class QueryResult:
    """The records that a query of ``asking`` finds now. Raises CommandRefusedError.

    They are grouped by topic, in the requested order or else in the order in which they came.
    """

    def __init__(
        self,
        registry: TopicRegistry,
        asking: TopicSubscription,
        command: Query,
        filtered: CompiledFilter | None,
        *,
        skip: int = 0,
    ) -> None:
        self.query_id = command.query_id or command.cmd_id or asking.sub_id
        self._registry = registry
        self._batch_size = command.batch_size
        _check(command)
        terms = read_order(command.orderby)
        keys = split_list(command.sow_keys)
        found: list[tuple[LiveTopic, WorldRecord]] = []
        self._in_topic = 0
        for topic in registry.find_readable(asking):
            if terms:
                _check_order(topic)
            visible = _find_visible(registry, asking, topic, keys)
            self._in_topic += len(visible)
            matching = [one for one in visible if filtered is None or filtered.holds(one.data)]
            found += [(topic, one) for one in (sort_records(matching, terms) if terms else matching)]
        self._matches = len(found)
        end = None if command.top_n is None else skip + command.top_n
        self._found = found[skip:end]

    def send(self, session: ClientSession, subscription: TopicSubscription | None = None) -> None:
        """Send the records in batches of one topic; ``subscription`` remembers them for its oof messages."""
        now = timestamp(self._registry.clock.time())
        session.deliver(GroupBegin(self.query_id))
        waiting = iter(self._found)
        batch = list(islice(waiting, self._batch_size))
        while batch:
            topic = batch[0][0]
            together = [record for of, record in batch if of is topic]
            rest = batch[len(together) :]
            session.deliver(_message(topic, self.query_id, together, now))
            if subscription is not None and subscription.oof:
                for record in together:
                    subscription.hold(record)
            batch = rest + list(islice(waiting, self._batch_size - len(rest)))
        session.deliver(GroupEnd(self.query_id))

    def counts(self) -> dict[str, int]:
        """The numbers of records in the topics, of matching ones, and of those sent."""
        return {
            "topic_matches": self._in_topic,
            "matches": self._matches,
            "records_returned": len(self._found),
        }


def _check(command: Query) -> None:
    if command.batch_size < 1:
        raise CommandRefusedError("bad batch size", f"{command.batch_size} is below 1")
    if command.top_n is not None and command.top_n < 0:
        raise CommandRefusedError("bad command", f"top_n is {command.top_n}; leave it out for all records")


def _check_order(topic: LiveTopic) -> None:
    if not topic.message_type.has_fields:
        why = f"the messages of {topic.name!r} are {topic.message_type.name}, which has no fields to sort by"
        raise CommandRefusedError("bad order", why)


def _find_visible(
    registry: TopicRegistry, asking: TopicSubscription, topic: LiveTopic, keys: list[str]
) -> list[WorldRecord]:
    """The records of ``topic`` that the user may read; ``keys`` restricts them unless it is empty."""
    store = topic.store
    if store is None:
        raise CommandRefusedError("invalid topic", f"{topic.name!r} keeps no state of the world to ask for")
    records = list(store) if not keys else [one for one in map(store.get, dict.fromkeys(keys)) if one]
    rights = registry.door.rights(asking.session.user, topic.name)
    return records if rights.holds is None else [one for one in records if rights.covers(one.data)]


def _message(topic: LiveTopic, query_id: str, records: list[WorldRecord], now: str) -> SowMessage:
    lengths: list[int | None] = [topic.message_type.size(record.body) for record in records]
    data = tuple(
        SowRecord(record.key, record.body, record.correlation_id, after)
        for record, after in zip(records, [*lengths[1:], None], strict=True)
    )
    return SowMessage(topic.name, query_id, data, len(data), now, data[0].sow_key, lengths[0] or 0)
