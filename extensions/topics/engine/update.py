"""An update of a topic, and sending it to the matching subscriptions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from extensions.topics.engine.message_types import JSON, MessageType
from extensions.topics.engine.outgoing_messages import PublishMessage
from extensions.topics.engine.topic_subscription import TopicSubscription
from rdss_sandbox.text.timestamps import timestamp

_encode = msgspec.json.Encoder().encode


def find_changes(before: dict[str, Any], after: dict[str, Any], kept: tuple[str, ...]) -> dict[str, Any]:
    """The delta: the top-level fields of ``after`` that are new or different, and those in ``kept``.

    It replaces the whole value of a field, also of an array or a subdocument, and cannot remove a field.
    """
    return {
        name: value
        for name, value in after.items()
        if name in kept or name not in before or not _is_same(before[name], value)
    }


def _is_same(one: Any, other: Any) -> bool:
    # 1 == True in Python, but 1 and true differ in JSON.
    return one == other and (one is other or _encode(one) == _encode(other))


class Update(msgspec.Struct, gc=False):
    """A message in ``topic``: ``body`` as it is sent, ``data`` the same parsed, or None if not needed.

    ``before`` is the previous record, None if it is new or the topic has no state of the world. ``kept`` are
    the fields that a delta always has. ``time`` and ``expires`` are in seconds since the epoch. ``number`` is
    its entry in the transaction log, ``bookmark`` the same for subscribers. ``made`` caches the delta.
    """

    topic: str
    body: msgspec.Raw
    data: Any
    time: float
    key: str = ""
    correlation_id: str = ""
    user_id: str = ""
    bookmark: str = ""
    number: int = 0
    expires: float | None = None
    before: dict[str, Any] | None = None
    kept: tuple[str, ...] = ()
    made: dict[str, Any] | None = None
    message_type: MessageType = JSON

    def delta(self) -> dict[str, Any]:
        """Compute the delta once: the changed fields, and those in ``kept``."""
        if self.made is None:
            self.made = find_changes(self.before or {}, self.data, self.kept)
        return self.made

    def message(self, sids: str, subscription: TopicSubscription, *, whole: bool) -> PublishMessage:
        """Build the message for the subscriptions ``sids``, in the form of ``subscription``, one of them."""
        return PublishMessage(
            self.topic,
            self.body if whole else self.message_type.render(self.delta()),
            sids,
            self.correlation_id,
            self.user_id,
            self.bookmark,
            timestamp(self.time) if subscription.timestamp else "",
            "",
            self.key,
        )


def send(
    update: Update, matching: list[TopicSubscription], entering: Iterable[TopicSubscription] = ()
) -> None:
    """Send ``update`` to the subscriptions in ``matching``; those of one session share one message.

    For subscriptions in ``entering`` the record is new or back in focus, so they get it whole, not as a
    delta.
    """
    if len(matching) == 1:
        _send(update, matching, whole=not matching[0].delta or matching[0] in entering)
        return
    groups: dict[tuple[Any, int, bool], list[TopicSubscription]] = {}
    for one in matching:
        whole = not one.delta or one in entering
        groups.setdefault((one.session, one.shape, whole), []).append(one)
    for (_, _, whole), together in groups.items():
        _send(update, together, whole=whole)


def _send(update: Update, together: list[TopicSubscription], *, whole: bool) -> None:
    one = together[0]
    whole = whole or update.before is None
    # The key fields are in every delta, so that they alone are no change.
    if one.no_empties and not whole and len(update.delta()) <= len(update.kept):
        return
    sids = one.sub_id if len(together) == 1 else ",".join(each.sub_id for each in together)
    one.session.deliver(update.message(sids, one, whole=whole))
