"""A channel over a RabbitMQ queue, through pika: publisher confirms, acknowledgements."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from emulator.amqp.message_headers import KEY_HEADER, read_text, write_text
from emulator.channels.amqp_parameters import read_parameters
from emulator.channels.channel import (
    ChannelUnavailableError,
    Delivery,
    Outcome,
    PublishRefusedError,
    PublishUnknownError,
    Receipt,
)
from emulator.channels.channel_faults import ChannelFaults
from emulator.channels.faulted_reads import FaultedReads
from emulator.channels.shard_calls import Fetched
from emulator.clock import Clock, stopwatch
from emulator.faults.fault_engine import FaultEngine
from emulator.rng import new_uuid
from schemas.bound import CONTRACT
from schemas.contract import Contract

if TYPE_CHECKING:
    from pika import BasicProperties, BlockingConnection
    from pika.adapters.blocking_connection import BlockingChannel

PREFETCH: Final = 1000
"""How many unacknowledged messages the broker delivers ahead."""
_PERSISTENT: Final = 2


class RabbitMQChannel:
    """One durable queue of a broker. It is declared when it is missing.

    The queue is the one shard. AMQP has no sequence numbers, so this publisher gives
    each message one as its ``message_id`` property, which a redelivery keeps. A message
    of another publisher without a ``message_id`` is known by its delivery tag. The next
    call replaces a lost connection, and unacknowledged messages come again. Headers that the contract asks
    for come and go in the text of a message.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        clock: Clock,
        fault_engine: FaultEngine | None = None,
        timeout: float = 10.0,
        contract: Contract = CONTRACT,
    ) -> None:
        self.name = name
        self._contract = contract
        self._url = url
        self._clock = clock
        self._timeout = timeout
        self._connection: BlockingConnection | None = None
        self._amqp: BlockingChannel | None = None
        self._consuming = False
        self._arrived: deque[Delivery] = deque()
        self._tags: dict[str, int] = {}
        self._publisher = new_uuid()
        self._published = 0
        self._faults = ChannelFaults(fault_engine, clock, name, "rabbitmq", self._drop)
        self._faulted = FaultedReads(self._faults, self._fetch)

    def publish(self, data: bytes, key: str) -> Receipt:
        outcome = self.publish_many([(data, key)])[0]
        if isinstance(outcome, Receipt):
            return outcome
        raise outcome

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        return self._faults.publish(entries, self._put)

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        """Read as ``Channel.read``, with ``wait`` in real seconds, because a broker takes real time."""
        deadline = stopwatch() + wait
        most = 0 if self.name in in_hand else limit
        while not (found := self._faulted.take(self.name, None, most).deliveries):
            left = deadline - stopwatch()
            if left <= 0:
                break
            # Faults may hold something that is due before the broker sends more.
            self._listen(min(left, 0.1))
        return found

    def commit(self, delivery: Delivery) -> None:
        """Acknowledge ``delivery`` and the deliveries before it.

        A delivery of a lost connection cannot be acknowledged, and comes again.
        """
        tag = self._tags.get(delivery.sequence_number)
        if tag is None or self._amqp is None:
            return
        try:
            self._amqp.basic_ack(tag, multiple=True)
        except _amqp_errors():
            self._drop()
            return
        self._tags = {number: later for number, later in self._tags.items() if later > tag}

    def connect(self) -> None:
        """Connect now instead of with the first message. Raises ``ChannelUnavailableError``."""
        self._open()

    def close(self) -> None:
        self._drop()

    def _put(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        return [self._put_one(data, key) for data, key in entries]

    def _put_one(self, data: bytes, key: str) -> Outcome:
        from pika import exceptions

        try:
            amqp = self._open()
        except ChannelUnavailableError as error:
            return PublishRefusedError("ConnectionRefused", str(error))
        self._published += 1
        number = f"{self._publisher}-{self._published:09d}"
        body, properties = unpack(self._contract, data)
        properties.delivery_mode = _PERSISTENT
        properties.message_id = number
        properties.timestamp = int(self._clock.time())
        properties.headers = {**properties.headers, KEY_HEADER: key}
        try:
            amqp.basic_publish("", self.name, body, properties, mandatory=True)
        except exceptions.NackError as error:
            return PublishRefusedError("Nack", f"the broker did not take the message: {error!r}")
        # The next connection declares the queue again.
        except exceptions.UnroutableError:
            self._drop()
            return PublishRefusedError("Unroutable", f"no queue {self.name} is there to take the message")
        except _amqp_errors() as error:
            self._drop()
            return PublishUnknownError(
                type(error).__name__, "the connection was lost before the broker answered"
            )
        return Receipt(self.name, number)

    def _fetch(self, _shard: str, _after: str | None, limit: int) -> Fetched:
        if not self._arrived:
            self._listen(0.0)
        arrived = [self._arrived.popleft() for _ in range(min(limit, len(self._arrived)))]
        return Fetched(arrived, drained=False)

    def _listen(self, seconds: float) -> None:
        try:
            amqp = self._open()
            if not self._consuming:
                amqp.basic_qos(prefetch_count=PREFETCH)
                amqp.basic_consume(self.name, self._receive)
                self._consuming = True
            amqp.connection.process_data_events(time_limit=seconds)
        except _amqp_errors() as error:
            self._drop()
            raise ChannelUnavailableError(f"{self.name}: connection to the broker lost: {error!r}") from error

    def _receive(self, _amqp: Any, method: Any, properties: Any, body: bytes) -> None:
        number = properties.message_id or f"tag-{method.delivery_tag}"
        self._tags[number] = method.delivery_tag
        key = (properties.headers or {}).get(KEY_HEADER, "")
        arrived = float(properties.timestamp or self._clock.time())
        data = pack(self._contract, body, properties)
        self._arrived.append(
            Delivery(data, str(key), self.name, number, arrived, redelivered=bool(method.redelivered))
        )

    def _open(self) -> BlockingChannel:
        import pika

        if self._amqp is not None and self._amqp.is_open:
            return self._amqp
        self._drop()
        parameters = read_parameters(self._url)
        # A synchronous client that is busy elsewhere sends no heartbeats, and the broker would close it.
        parameters.heartbeat = 0
        parameters.socket_timeout = self._timeout
        parameters.stack_timeout = self._timeout
        parameters.blocked_connection_timeout = self._timeout
        try:
            self._connection = pika.BlockingConnection(parameters)
            self._ensure_queue(self._connection)
            amqp = self._connection.channel()
            amqp.confirm_delivery()
        except _amqp_errors() as error:
            self._drop()
            scheme, _, rest = self._url.partition("://")
            url = f"{scheme}://{rest.rpartition('@')[2]}"
            raise ChannelUnavailableError(
                f"{self.name}: no broker answers at {url} within {self._timeout:g} s: {error!r}"
            ) from error
        self._amqp = amqp
        return amqp

    def _ensure_queue(self, connection: BlockingConnection) -> None:
        """Declare the queue, unless it exists. An existing queue keeps its own arguments."""
        from pika.exceptions import ChannelClosedByBroker

        try:
            # On a channel of its own, which the broker closes where there is no such queue.
            connection.channel().queue_declare(self.name, passive=True)
        except ChannelClosedByBroker:
            connection.channel().queue_declare(self.name, durable=True)

    def _drop(self) -> None:
        connection, self._connection, self._amqp = self._connection, None, None
        self._consuming = False
        self._arrived.clear()
        self._tags.clear()
        self._faulted.clear()
        if connection is not None and connection.is_open:
            with contextlib.suppress(*_amqp_errors()):
                connection.close()


def pack(contract: Contract, body: bytes, properties: BasicProperties) -> bytes:
    """A message that came, as the contract judges it."""
    return body if contract.headers is None else write_text(contract, body, b"".join(properties.encode()))


def unpack(contract: Contract, data: bytes) -> tuple[bytes, BasicProperties]:
    """The body and the properties of a message that is to be sent."""
    from pika import BasicProperties

    body, properties, headers = read_text(contract, data)
    return body, BasicProperties(headers=dict(headers), **properties)


def _amqp_errors() -> tuple[type[Exception], ...]:
    from pika.adapters.utils.connection_workflow import AMQPConnectorException
    from pika.exceptions import AMQPError

    return (AMQPError, AMQPConnectorException, OSError)
