"""What RabbitMQ's management plugin tells of open connections, their channels and their consumers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from emulator.amqp.broker import Broker
from emulator.amqp.channel import Channel
from emulator.amqp.connection import Connection
from emulator.amqp.management import NODE, Document, describe_consumer
from emulator.amqp.queue import Consumer
from emulator.amqp.virtual_host import NAME
from emulator.amqp.wire.field_tables import plain_table


class OpenConnection(NamedTuple):
    """A connection whose client has logged in. ``since`` is when it began, by the wall clock."""

    connection: Connection
    since: float

    @property
    def name(self) -> str:
        """What RabbitMQ calls it: the client's address, and the one that it connected to."""
        return " -> ".join(f"{host}:{port}" for host, port in self.connection.wire.ends)


class OpenChannel(NamedTuple):
    """A channel, and the connection that it belongs to."""

    owner: OpenConnection
    channel: Channel

    @property
    def name(self) -> str:
        return f"{self.owner.name} ({self.channel.number})"


def list_connections(broker: Broker) -> list[OpenConnection]:
    """The connections whose clients have logged in."""
    return [
        OpenConnection(each, since) for each, since in broker.connections.items() if each.state == "running"
    ]


def list_channels(connections: list[OpenConnection]) -> list[OpenChannel]:
    return [
        OpenChannel(each, channel) for each in connections for channel in each.connection.channels.values()
    ]


def list_consumers(broker: Broker) -> Iterator[Document]:
    """Describe the consumers of all queues, each with its channel."""
    for open_channel in list_channels(list_connections(broker)):
        for consumer in tuple(open_channel.channel.consumers.values()):
            # Direct reply-to is no queue to RabbitMQ, which lists the consumers of queues.
            if consumer.queue is not open_channel.channel.replies:
                yield describe_consumer(consumer) | _describe_place(consumer, open_channel)


def describe_connection(open_connection: OpenConnection) -> Document:
    """Describe a connection. ``connected_at`` is in milliseconds, ``timeout`` the heartbeat in seconds."""
    connection = open_connection.connection
    client, own = connection.wire.ends
    login = connection.login
    properties = {} if login is None else plain_table(login.client_properties)
    return {
        **_describe_owner(connection),
        "name": open_connection.name,
        "user_provided_name": properties.get("connection_name", ""),
        "state": connection.state,
        "type": "network",
        "protocol": "AMQP 0-9-1",
        "auth_mechanism": "" if login is None else login.mechanism,
        "channels": len(connection.channels),
        "channel_max": connection.channel_max,
        "frame_max": connection.frame_max,
        "timeout": connection.heartbeat,
        "connected_at": round(open_connection.since * 1000),
        "client_properties": properties,
        "host": own[0],
        "port": own[1],
        "peer_host": client[0],
        "peer_port": client[1],
        "ssl": connection.wire.secured,
    }


def describe_channel(open_channel: OpenChannel) -> Document:
    """Describe a channel with its counts of this moment."""
    owner, channel = open_channel
    host, port = owner.connection.wire.ends[0]
    return {
        **_describe_owner(owner.connection),
        "name": open_channel.name,
        "number": channel.number,
        "state": "running",
        "connection_details": {"name": owner.name, "peer_host": host, "peer_port": port},
        "consumer_count": len(channel.consumers),
        "messages_unacknowledged": len(channel.unacked),
        "messages_unconfirmed": 0,
        "confirm": channel.confirms is not None,
        "transactional": channel.transaction is not None,
        "prefetch_count": channel.prefetch,
        "global_prefetch_count": channel.prefetch_of_channel,
    }


def describe_channel_with_consumers(open_channel: OpenChannel) -> Document:
    """Describe one channel, as ``GET /api/channels/NAME`` does."""
    consumers = [
        describe_consumer(each) | _describe_place(each, open_channel)
        for each in open_channel.channel.consumers.values()
    ]
    more: Document = {"consumer_details": consumers, "publishes": [], "deliveries": []}
    return describe_channel(open_channel) | more


def _describe_owner(connection: Connection) -> Document:
    user = connection.user
    return {"node": NODE, "vhost": NAME, "user": user, "user_who_performed_action": user}


def _describe_place(consumer: Consumer, open_channel: OpenChannel) -> Document:
    """Where a consumer is, and whether it is one that gets messages of its queue."""
    owner, channel = open_channel
    host, port = owner.connection.wire.ends[0]
    is_active = not consumer.queue.arguments.single_active or consumer.queue.active_consumer is consumer
    return {
        "active": is_active,
        "activity_status": "up" if is_active else "waiting",
        "channel_details": {
            "connection_name": owner.name,
            "name": open_channel.name,
            "node": NODE,
            "number": channel.number,
            "peer_host": host,
            "peer_port": port,
            "user": owner.connection.user,
        },
    }
