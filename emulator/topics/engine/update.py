"""One thing that is said in a topic, and saying it to those it is for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from emulator.topics.engine.merging import changed
from emulator.topics.engine.message_types import JSON, MessageType
from emulator.topics.engine.messages import PublishMessage
from emulator.topics.engine.subscription import Subscription
from rdss_sandbox.timestamps import timestamp


class Update(msgspec.Struct, gc=False):
    """A message in ``topic``: ``body`` as it is sent; ``data`` the same parsed, None where nobody needs it.

    ``before`` is what the record was, None when it is new or the topic keeps none; ``kept`` are the fields
    that a delta always has. ``time`` and ``expires`` are in seconds since the epoch. ``number`` is its place
    in the transaction log and ``bookmark`` what subscribers are told of it. ``made`` is the delta
    once it has been made, as ``message_type`` writes it.
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
        """The fields that changed, and those that a delta always has."""
        if self.made is None:
            self.made = changed(self.before or {}, self.data, self.kept)
        return self.made

    def message(self, sids: str, subscription: Subscription, *, whole: bool) -> PublishMessage:
        """The message for the subscriptions ``sids``, in the form of this one of them."""
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


def send(update: Update, matching: list[Subscription], entering: Iterable[Subscription] = ()) -> None:
    """Send ``update`` to those in ``matching``, folding the ids of one session into one message.

    For ``entering`` the record is new or back in focus: a subscription to deltas gets it whole.
    """
    if len(matching) == 1:
        _send(update, matching, whole=not matching[0].delta or matching[0] in entering)
        return
    groups: dict[tuple[Any, int, bool], list[Subscription]] = {}
    for one in matching:
        whole = not one.delta or one in entering
        groups.setdefault((one.session, one.shape, whole), []).append(one)
    for (_, _, whole), together in groups.items():
        _send(update, together, whole=whole)


def _send(update: Update, together: list[Subscription], *, whole: bool) -> None:
    one = together[0]
    whole = whole or update.before is None
    if one.no_empties and not whole and len(update.delta()) <= len(update.kept):
        return
    sids = one.sub_id if len(together) == 1 else ",".join(each.sub_id for each in together)
    one.session.deliver(update.message(sids, one, whole=whole))
