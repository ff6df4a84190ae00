"""One relayed AMQP channel: dispatches its methods to the publishes and the deliveries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.relay.amqp.amqp_tap import Tap
from emulator.relay.amqp.channel_link import ChannelLink, RelayContext
from emulator.relay.amqp.delivering import Deliveries
from emulator.relay.amqp.frames import Command, Method
from emulator.relay.amqp.publishing import Publishes

CLOSING: Final = frozenset({Method.CHANNEL_CLOSE, Method.CHANNEL_CLOSE_OK})


class AmqpChannel:
    """A channel, from channel.open to the close-ok of both peers."""

    def __init__(
        self,
        context: RelayContext,
        number: int,
        idle: Callable[[], None],
        tap: Tap,
    ) -> None:
        self._context = context
        self.link = ChannelLink(context, number, self._ended)
        self._deliveries = Deliveries(self.link, tap)
        self._publishes = Publishes(self.link, self._handle, idle, tap)

    @property
    def busy(self) -> bool:
        """Whether commands of the client wait to be sent to the broker."""
        return self._publishes.busy

    @property
    def is_over(self) -> bool:
        """Whether the relay has no part any more in how the channel is closed."""
        return self.link.is_over

    def from_client(self, command: Command) -> None:
        if not self.link.closed:
            self._publishes.take(command)
        elif not self.link.discard_from_client(command) and command.method in CLOSING:
            self._context.peers.to_broker(command.frames)

    def from_broker(self, command: Command) -> None:
        if not self.link.closed:
            self._tell_client(command)
        elif not self.link.discard_from_broker(command) and command.method in CLOSING:
            self._context.peers.to_client(command.frames)

    def drop(self) -> None:
        """Close the channel, since its connection is lost."""
        self.link.end()

    def _handle(self, command: Command) -> None:
        if (deliver := Deliveries.FROM_CLIENT.get(command.method)) is not None:
            deliver(self._deliveries, command)
        elif (publish := Publishes.FROM_CLIENT.get(command.method)) is not None:
            publish(self._publishes, command)
        else:
            self.link.to_broker(command)
            if command.method == Method.CHANNEL_CLOSE:
                self.link.end()

    def _tell_client(self, command: Command) -> None:
        if (deliver := Deliveries.FROM_BROKER.get(command.method)) is not None:
            deliver(self._deliveries, command)
        elif (publish := Publishes.FROM_BROKER.get(command.method)) is not None:
            publish(self._publishes, command)
        else:
            self.link.to_client(command)
            if command.method == Method.CHANNEL_CLOSE:
                self.link.end()

    def _ended(self) -> None:
        self._publishes.close()
        self._deliveries.close()
