"""One AMQP channel passing the relay: which of its methods are looked at, and by whom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.relay.amqp.channel_link import ChannelLink, RelayContext
from emulator.relay.amqp.delivering import Deliveries
from emulator.relay.amqp.frames import Command, Method
from emulator.relay.amqp.publishing import Publishes
from emulator.relay.amqp.tap import Tap

_CLOSING: Final = frozenset({Method.CHANNEL_CLOSE, Method.CHANNEL_CLOSE_OK})


class AmqpChannel:
    """From channel.open to the close-ok of both ends."""

    def __init__(
        self,
        points: RelayContext,
        number: int,
        idle: Callable[[], None],
        tap: Tap,
    ) -> None:
        self._points = points
        self.line = ChannelLink(points, number, self._ended)
        self._deliveries = Deliveries(self.line, tap)
        self._publishes = Publishes(self.line, self._handle, idle, tap)
        self._for_broker: dict[int, Callable[[Command], None]] = {
            **self._deliveries.from_client,
            **self._publishes.from_client,
            Method.CHANNEL_CLOSE: self._closed_by_client,
        }
        self._for_client: dict[int, Callable[[Command], None]] = {
            **self._deliveries.from_broker,
            **self._publishes.from_broker,
            Method.CHANNEL_CLOSE: self._closed_by_broker,
        }

    @property
    def busy(self) -> bool:
        """Whether something of the client's waits to go to the broker."""
        return self._publishes.busy

    def from_client(self, unit: Command) -> None:
        if self.line.swallowed_from_client(unit):
            return
        if self.line.closed:
            if unit.method in _CLOSING:
                self._points.ends.to_broker(unit.frames)
            return
        self._publishes.take(unit)

    def from_broker(self, unit: Command) -> None:
        if self.line.swallowed_from_broker(unit):
            return
        if self.line.closed:
            if unit.method in _CLOSING:
                self._points.ends.to_client(unit.frames)
            return
        self._for_client.get(unit.method, self.line.to_client)(unit)

    def drop(self) -> None:
        """The connection is gone."""
        self.line.end()

    def _handle(self, unit: Command) -> None:
        self._for_broker.get(unit.method, self.line.to_broker)(unit)

    def _closed_by_client(self, unit: Command) -> None:
        self.line.to_broker(unit)
        self.line.end()

    def _closed_by_broker(self, unit: Command) -> None:
        self.line.to_client(unit)
        self.line.end()

    def _ended(self) -> None:
        self._publishes.close()
        self._deliveries.close()
