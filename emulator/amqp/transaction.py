"""A transaction of one channel: publishes and acknowledgements that wait for its commit."""

from __future__ import annotations

from collections.abc import Callable

from emulator.amqp.queue import Delivery
from emulator.amqp.turn import Steps


class Transaction:
    """What a channel did since tx.select or the last commit."""

    def __init__(self) -> None:
        self._publishes: list[Steps] = []
        self._settlements: list[tuple[dict[int, Delivery], Callable[[dict[int, Delivery]], Steps]]] = []

    def add_publish(self, put: Steps) -> None:
        self._publishes.append(put)

    def add_settlement(
        self, deliveries: dict[int, Delivery], settle: Callable[[dict[int, Delivery]], Steps]
    ) -> None:
        self._settlements.append((deliveries, settle))

    def commit(self) -> Steps:
        """Do all of it, the publishes first."""
        publishes, self._publishes = self._publishes, []
        settlements, self._settlements = self._settlements, []
        for put in publishes:
            yield from put
            yield
        # Last: should this end half way, a message comes twice, and none is lost.
        for deliveries, settle in settlements:
            yield from settle(deliveries)
            yield

    def roll_back(self, unacked: dict[int, Delivery]) -> dict[int, Delivery]:
        """Forget the publishes. Return ``unacked`` with what was acknowledged, by delivery tags."""
        self._publishes.clear()
        for deliveries, _ in self._settlements:
            unacked.update(deliveries)
        self._settlements.clear()
        return dict(sorted(unacked.items()))
