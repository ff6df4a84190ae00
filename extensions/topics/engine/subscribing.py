"""The commands ``subscribe``, ``delta_subscribe``, their ``sow_and`` forms, and ``unsubscribe``."""

from __future__ import annotations

from typing import Final, TypeAlias

from extensions.topics.engine.acknowledging import CommandReceipt
from extensions.topics.engine.client_session import ClientSession
from extensions.topics.engine.command_headers import CommandOptions, read_options, split_list
from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import (
    DeltaSubscribe,
    SowAndDeltaSubscribe,
    SowAndSubscribe,
    Subscribe,
    Unsubscribe,
)
from extensions.topics.engine.querying import QueryResult, read_filter
from extensions.topics.engine.replaying import Replay
from extensions.topics.engine.topic_name_patterns import pattern_of
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.topic_subscription import TopicSubscription

MOST_CONDITIONS: Final = 2_000
"""Conditions in the filters of one session, without equalities, which are indexed. All of them may have to be
evaluated for one message, and meanwhile others wait."""

Subscribing: TypeAlias = Subscribe | SowAndSubscribe

_OPTIONS: Final = frozenset({"timestamp", "replace", "no_empties", "max_backlog"})
_OPTIONS_WITH_QUERY: Final = frozenset({"oof", "timestamp", "replace", "no_empties", "skip_n"})


def subscribe(
    registry: TopicRegistry, session: ClientSession, command: Subscribe, receipt: CommandReceipt
) -> None:
    """Start a subscription, with a replay of the log if the command has a bookmark."""
    options = read_options(command.opts, _OPTIONS)
    subscription = _subscription(session, command, options, delta=isinstance(command, DeltaSubscribe))
    subscription.max_backlog = options.max_backlog
    registry.find_readable(subscription)
    # Before it enters: a bookmark that is refused must not end the one that it would replace.
    replay = Replay(registry, subscription, receipt, command.bookmark) if command.bookmark else None
    _enter(session, subscription, options)
    receipt.acknowledge("processed", sub_id=subscription.sub_id)
    if replay is not None:
        replay.resume()
        return
    registry.attach(subscription)
    receipt.acknowledge("completed", sub_id=subscription.sub_id)


def sow_and_subscribe(
    registry: TopicRegistry, session: ClientSession, command: SowAndSubscribe, receipt: CommandReceipt
) -> None:
    """Send the records that match, and start a subscription to their changes."""
    options = read_options(command.opts, _OPTIONS_WITH_QUERY)
    subscription = _subscription(session, command, options, delta=isinstance(command, SowAndDeltaSubscribe))
    subscription.oof = options.oof
    keys = split_list(command.sow_keys)
    subscription.keys = frozenset(keys) if keys else None
    result = QueryResult(registry, subscription, command, read_filter(command.filter), skip=options.skip_n)
    _enter(session, subscription, options)
    receipt.acknowledge("processed", sub_id=subscription.sub_id, query_id=result.query_id)
    result.send(session, subscription)
    registry.attach(subscription)
    receipt.acknowledge("completed", sub_id=subscription.sub_id, query_id=result.query_id)
    receipt.acknowledge("stats", **result.counts())


def unsubscribe(
    _registry: TopicRegistry, session: ClientSession, command: Unsubscribe, receipt: CommandReceipt
) -> None:
    """End one subscription, or all subscriptions of the session."""
    if command.sub_id == "all":
        leaving = list(session.subscriptions.values())
    elif command.sub_id in session.subscriptions:
        leaving = [session.subscriptions[command.sub_id]]
    else:
        raise CommandRefusedError(
            "invalid subscription", f"this session has none with the id {command.sub_id[:80]!r}"
        )
    for subscription in leaving:
        session.drop(subscription)
    receipt.acknowledge_done()


def _subscription(
    session: ClientSession, command: Subscribing, options: CommandOptions, *, delta: bool
) -> TopicSubscription:
    sub_id = command.sub_id or command.cmd_id
    if not sub_id or "," in sub_id or sub_id == "all":
        why = f"{sub_id[:80]!r} cannot name one; give sub_id or cmd_id without a comma, and not 'all'"
        raise CommandRefusedError("invalid subscription", why)
    if sub_id in session.subscriptions and not options.replace:
        why = f"{sub_id!r} is there; unsubscribe it, or take its place with the option replace"
        raise CommandRefusedError("subscription already exists", why)
    subscription = TopicSubscription(session, sub_id, command.topic)
    subscription.pattern = pattern_of(command.topic)
    filtered = read_filter(command.filter)
    if filtered is not None:
        subscription.holds, subscription.equalities = filtered.holds, filtered.equalities
        subscription.by_content, subscription.conditions = filtered.by_content, filtered.conditions
    _check_conditions(session, subscription)
    subscription.set_form(timestamp=options.timestamp, delta=delta, no_empties=options.no_empties)
    return subscription


def _check_conditions(session: ClientSession, subscription: TopicSubscription) -> None:
    """Raise CommandRefusedError if the filters of the session would have too many conditions with it."""
    replaced = session.subscriptions.get(subscription.sub_id)
    others = session.conditions - (replaced.conditions if replaced is not None else 0)
    if subscription.conditions and others + subscription.conditions > MOST_CONDITIONS:
        why = (
            f"the filters of this session have {others} conditions that are no required equality (/a = 1), "
            f"and with this one more than {MOST_CONDITIONS}; unsubscribe some, or ask on another connection"
        )
        raise CommandRefusedError("bad filter", why)


def _enter(session: ClientSession, subscription: TopicSubscription, options: CommandOptions) -> None:
    replaced = session.subscriptions.get(subscription.sub_id)
    if replaced is not None and options.replace:
        session.drop(replaced)
    session.subscriptions[subscription.sub_id] = subscription
    session.conditions += subscription.conditions
