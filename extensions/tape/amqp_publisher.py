"""Publishes messages of a tape to the exchanges and queues of a broker, as they were published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from emulator.channels.amqp_parameters import read_parameters
from emulator.channels.channel import Outcome, PublishRefusedError, PublishUnknownError, Receipt
from emulator.channels.rabbitmq import unpack
from rdss_sandbox.shapes.tape import TapedMessage
from schemas.contract import Contract

if TYPE_CHECKING:
    from pika import BlockingConnection
    from pika.adapters.blocking_connection import BlockingChannel

_PERSISTENT: Final = 2


class NoSuchExchangeError(Exception):
    """The broker has no exchange of that name; what type it would be the tape does not say."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the sandbox has no exchange {name!r}, and a tape does not say of which type it was: declare it "
            "in the topology or in the contract, or put the messages elsewhere with --into"
        )


class AmqpPublisher:
    """A connection with confirms to the broker at a URL, which is made with the first message."""

    def __init__(self, url: str, contract: Contract) -> None:
        self._url = url
        self._contract = contract
        self._connection: BlockingConnection | None = None
        self._amqp: BlockingChannel | None = None
        self._known: set[str] = set()

    def publish(self, channel: str, messages: Sequence[TapedMessage]) -> list[Outcome]:
        """Publish to a queue what came to it by its name, and all else to an exchange of that name.

        A queue that is missing is made. Raises ``NoSuchExchangeError``.
        """
        return [self._publish_one(channel, each) for each in messages]

    def close(self) -> None:
        if self._connection is not None and self._connection.is_open:
            self._connection.close()

    def _publish_one(self, channel: str, message: TapedMessage) -> Outcome:
        from pika.exceptions import AMQPError, NackError

        exchange = "" if message.key in ("", channel) else channel
        body, properties = unpack(self._contract, message.body or b"")
        properties.delivery_mode = _PERSISTENT
        try:
            amqp = self._open(exchange, channel)
            amqp.basic_publish(exchange, message.key or channel, body, properties)
        except NackError as error:
            return PublishRefusedError("Nack", f"the broker did not take the message: {error!r}")
        except (AMQPError, OSError) as error:
            self._amqp = None
            return PublishUnknownError(type(error).__name__, str(error))
        return Receipt(channel, message.number)

    def _open(self, exchange: str, name: str) -> BlockingChannel:
        import pika

        if self._connection is None or not self._connection.is_open:
            self._connection = pika.BlockingConnection(read_parameters(self._url))
            self._amqp = None
        if name not in self._known:
            self._find(self._connection, exchange, name)
            self._known.add(name)
        if self._amqp is None or not self._amqp.is_open:
            self._amqp = self._connection.channel()
            self._amqp.confirm_delivery()
        return self._amqp

    @staticmethod
    def _find(connection: BlockingConnection, exchange: str, name: str) -> None:
        from pika.exceptions import ChannelClosedByBroker

        # On a channel of its own, which the broker closes where there is none.
        try:
            if exchange:
                connection.channel().exchange_declare(exchange, passive=True)
            else:
                connection.channel().queue_declare(name, passive=True)
        except ChannelClosedByBroker:
            if exchange:
                raise NoSuchExchangeError(exchange) from None
            connection.channel().queue_declare(name, durable=True)
