"""The exchanges and queues of the topology, declared to whatever broker answers on the AMQP port."""

from __future__ import annotations

from pathlib import Path

from emulator.channels.amqp_parameters import read_parameters
from rdss_sandbox.shapes.topology import Topology


class QueuesNotDeclaredError(Exception):
    """The broker did not answer, or has an exchange or a queue of that name that is another."""


def declare_queues(url: str, topology: Topology, trust: Path | None = None) -> None:
    """Declare what is missing, as a client does, once the broker answers.

    ``trust`` is the authority of the port's certificate. Raises ``QueuesNotDeclaredError``.
    """
    # A sandbox without declared queues needs no client.
    from pika import BlockingConnection
    from pika.exceptions import AMQPError

    try:
        connection = BlockingConnection(read_parameters(url, trust))
        channel = connection.channel()
        for name, exchange in topology.exchanges.items():
            channel.exchange_declare(
                name, exchange.type, durable=exchange.durable, auto_delete=exchange.auto_delete
            )
        for name, queue in topology.queues.items():
            channel.queue_declare(name, durable=queue.durable, auto_delete=queue.auto_delete)
            for binding in queue.bindings:
                channel.queue_bind(name, binding.exchange, binding.routing_key)
        connection.close()
    except (AMQPError, OSError) as error:
        raise QueuesNotDeclaredError(str(error) or type(error).__name__) from error
