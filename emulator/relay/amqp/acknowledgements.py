"""Acknowledgements of consumers whose deliveries differ from those of the broker, because of faults.

A fault can repeat, delay or drop a delivery. So the client's delivery tags are not the broker's, and several
deliveries to the client may stand for one of the broker.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, NamedTuple

from rdss_sandbox.shapes.trace import Disposition

_ACK: Final = Disposition.ACK
_REQUEUE: Final = Disposition.REQUEUE


class UnknownTagError(LookupError):
    """The client settles a delivery tag that is unknown or settled already."""


class BrokerSettlement(NamedTuple):
    """A settlement for the broker, with the broker's tag."""

    tag: int
    multiple: bool
    disposition: Disposition


@dataclass(slots=True, eq=False)
class PrefetchWindow:
    """A prefetch limit on unsettled deliveries, 0 for none; the limit of ``outer`` applies as well."""

    limit: int = 0
    outer: PrefetchWindow | None = None
    taken: int = 0

    @property
    def room(self) -> bool:
        return self.has_room_for(1)

    def has_room_for(self, number: int) -> bool:
        within = not self.limit or self.taken + number <= self.limit
        return within and (self.outer is None or self.outer.has_room_for(number))

    def add(self, number: int) -> None:
        self.taken += number
        if self.outer is not None:
            self.outer.add(number)


@dataclass(slots=True, eq=False)
class BrokerDelivery:
    """A delivery of the broker. ``left`` counts the deliveries to the client that are not settled yet.

    ``made`` counts those that were sent to the client.
    """

    tag: int
    window: PrefetchWindow
    left: int = 1
    made: int = 0
    disposition: Disposition = Disposition.ACK


class _Undo(NamedTuple):
    tag: int
    delivery: BrokerDelivery
    disposition: Disposition


class Acknowledgements:
    """The unsettled deliveries of one channel, by the client's tags and by the broker's.

    A message is settled at the broker when the last of its deliveries to the client is settled.
    """

    def __init__(self) -> None:
        self._last = 0
        self._by_client_tag: OrderedDict[int, BrokerDelivery] = OrderedDict()
        self._by_broker_tag: OrderedDict[int, BrokerDelivery] = OrderedDict()
        self._undo: list[_Undo] | None = None

    def add_broker_delivery(self, tag: int, window: PrefetchWindow) -> BrokerDelivery:
        """Add a delivery of the broker that must be settled."""
        delivery = self._by_broker_tag[tag] = BrokerDelivery(tag, window)
        return delivery

    def pass_on(self, first: int, times: int, window: PrefetchWindow | None) -> bool:
        """Add deliveries of the broker, with consecutive tags, that the client gets as they are.

        Without a ``window`` none is to be settled. Returns False, and adds none, where the client's tags are
        not the broker's.
        """
        if first != self._last + 1:
            return False
        self._last += times
        if window is None:
            return True
        window.add(times)
        for tag in range(first, first + times):
            self._by_broker_tag[tag] = self._by_client_tag[tag] = BrokerDelivery(tag, window, made=1)
        return True

    def assign_tag(self, delivery: BrokerDelivery | None) -> int:
        """Assign the client's tag to a delivery that is sent now; None stands for one without settling."""
        self._last += 1
        if delivery is not None:
            delivery.made += 1
            delivery.window.add(1)
            self._by_client_tag[self._last] = delivery
        return self._last

    def settle(self, tag: int, *, multiple: bool, disposition: Disposition) -> list[BrokerSettlement]:
        """Settle a delivery, or all up to it (all for 0); return the settlements for the broker.

        Raises UnknownTagError.
        """
        if not (multiple and tag == 0) and tag not in self._by_client_tag:
            raise UnknownTagError(tag)
        tags, deliveries = self._take_up_to(tag) if multiple else ([tag], [self._by_client_tag.pop(tag)])
        return self._settle(tags, deliveries, disposition)

    def acknowledge(self, tags: Sequence[int]) -> list[BrokerSettlement]:
        """Settle single deliveries; return the settlements for the broker.

        Raises UnknownTagError, and settles none then.
        """
        unknown = next((tag for tag in tags if tag not in self._by_client_tag), None)
        if unknown is not None or len({*tags}) < len(tags):
            raise UnknownTagError(unknown)
        return self._settle(tags, [self._by_client_tag.pop(tag) for tag in tags], _ACK)

    def _settle(
        self, tags: Sequence[int], deliveries: list[BrokerDelivery], disposition: Disposition
    ) -> list[BrokerSettlement]:
        if self._undo is not None:
            self._undo += (_Undo(*each, each[1].disposition) for each in zip(tags, deliveries, strict=True))
        # One acknowledgement may be for a hundred thousand: what can be done for all of them is done once.
        for delivery in deliveries:
            delivery.left -= 1
            # Of several for one message a requeue counts, or else a discard, so that none gets lost.
            if disposition is not _ACK and delivery.disposition is not _REQUEUE:
                delivery.disposition = disposition
        for window, number in Counter(delivery.window for delivery in deliveries).items():
            window.add(-number)
        return self._settlements(deliveries)

    def withdraw(self, delivery: BrokerDelivery) -> list[BrokerSettlement]:
        """Give up a delivery that was not sent yet; a message that was never sent is requeued."""
        if not delivery.made:
            delivery.disposition = _REQUEUE
        delivery.left -= 1
        return self._settlements([delivery])

    def forget_all(self) -> None:
        """Forget all unsettled deliveries, which the broker has requeued."""
        for delivery in self._by_client_tag.values():
            delivery.window.add(-1)
        self._by_client_tag.clear()
        self._by_broker_tag.clear()

    def begin(self) -> None:
        """Begin a transaction: later settlements can be rolled back to here."""
        self._undo = []

    def roll_back(self) -> None:
        """Undo the settlements since ``begin``."""
        for tag, delivery, disposition in reversed(self._undo or ()):
            delivery.left += 1
            delivery.disposition = disposition
            delivery.window.add(1)
            self._by_client_tag[tag] = delivery
            self._by_broker_tag[delivery.tag] = delivery
        self._by_client_tag = OrderedDict(sorted(self._by_client_tag.items()))
        self._by_broker_tag = OrderedDict(sorted(self._by_broker_tag.items()))
        self._undo = []

    def _take_up_to(self, tag: int) -> tuple[list[int], list[BrokerDelivery]]:
        """Take the deliveries up to a tag, or all for 0, with their tags."""
        taken = self._by_client_tag
        if tag and tag != next(reversed(taken)):
            tags = list(takewhile(lambda each: each <= tag, taken))
            return tags, [taken.pop(each) for each in tags]
        self._by_client_tag = OrderedDict()
        return list(taken), list(taken.values())

    def _settlements(self, changed: Iterable[BrokerDelivery]) -> list[BrokerSettlement]:
        done = {delivery.tag: delivery for delivery in changed if not delivery.left}
        if len(done) == len(self._by_broker_tag):
            self._by_broker_tag.clear()
        else:
            for tag in done:
                del self._by_broker_tag[tag]
        dispositions = {delivery.disposition for delivery in done.values()}
        if len(done) > 1 and len(dispositions) == 1:
            last = max(done)
            if next(iter(self._by_broker_tag), last + 1) > last:
                return [BrokerSettlement(last, True, dispositions.pop())]
        return [BrokerSettlement(tag, False, done[tag].disposition) for tag in sorted(done)]
