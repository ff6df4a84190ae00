"""What RabbitMQ's management plugin tells of a broker: queues, exchanges and bindings, as it writes them."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote

from emulator.amqp.broker import USER, Broker
from emulator.amqp.exchange import EXCHANGE, QUEUE, TYPES, Binding, Destination, Exchange
from emulator.amqp.queue import Consumer, Queue
from emulator.amqp.server_properties import SERVER_PROPERTIES, VERSION
from emulator.amqp.virtual_host import NAME
from emulator.amqp.wire.field_tables import Table, encode_table, plain_table

NODE: Final = "rabbit@localhost"
_ERLANG: Final = "27.3.4"
"""The Erlang of the RabbitMQ whose behaviour this is. Clients read a version here."""
_NO_RATE: Final = {"rate": 0.0}

Document: TypeAlias = dict[str, Any]


def describe_broker(broker: Broker, host: str, port: int) -> Document:
    """Describe the broker that listens on ``host`` and ``port``, as ``GET /api/overview`` does."""
    vhost, open_connections = broker.vhost, tuple(broker.connections)
    queues = tuple(vhost.queues.values())
    cluster = SERVER_PROPERTIES["cluster_name"].value.decode()
    listener = {"node": NODE, "protocol": "amqp", "ip_address": host, "port": port, "socket_opts": {}}
    return {
        "management_version": VERSION,
        "rates_mode": "basic",
        "sample_retention_policies": {"global": [], "basic": [], "detailed": []},
        "exchange_types": [{"name": name, "description": name, "enabled": True} for name in TYPES],
        "product_version": VERSION,
        "product_name": "RabbitMQ",
        "rabbitmq_version": VERSION,
        "cluster_name": cluster,
        "erlang_version": _ERLANG,
        "erlang_full_version": f"Erlang/OTP {_ERLANG}",
        "default_queue_type": "classic",
        "disable_stats": False,
        "enable_queue_totals": False,
        "message_stats": {},
        "churn_rates": {},
        "queue_totals": _count_messages(
            sum(queue.ready for queue in queues), sum(queue.unacked for queue in queues)
        ),
        "object_totals": {
            "channels": sum(len(connection.channels) for connection in open_connections),
            "connections": len(open_connections),
            "consumers": sum(len(queue.consumers) for queue in queues),
            "exchanges": len(vhost.exchanges),
            "queues": len(queues),
        },
        "statistics_db_event_queue": 0,
        "node": NODE,
        "listeners": [listener],
        "contexts": [],
    }


def describe_queue(queue: Queue) -> Document:
    """Describe a queue with its counts of this moment."""
    return {
        "name": queue.name,
        "vhost": NAME,
        "type": queue.arguments.type,
        "durable": queue.durable,
        "auto_delete": queue.auto_delete,
        "exclusive": queue.owner is not None,
        "arguments": plain_table(queue.table),
        "node": NODE,
        "state": "running",
        "consumers": len(queue.consumers),
        **_count_messages(queue.ready, queue.unacked),
        "message_bytes_ready": queue.ready_bytes,
        "policy": None,
        "operator_policy": None,
        "effective_policy_definition": {},
        "exclusive_consumer_tag": None if queue.exclusive_consumer is None else queue.exclusive_consumer.tag,
        "single_active_consumer_tag": None if queue.active_consumer is None else queue.active_consumer.tag,
    }


def describe_queue_with_consumers(queue: Queue) -> Document:
    """Describe one queue, as ``GET /api/queues/VHOST/NAME`` does."""
    consumers = [describe_consumer(consumer) for consumer in queue.consumers]
    more: Document = {"consumer_details": consumers, "deliveries": [], "incoming": []}
    return describe_queue(queue) | more


def describe_consumer(consumer: Consumer) -> Document:
    """Describe a consumer, without its channel."""
    return {
        "consumer_tag": consumer.tag,
        "queue": {"name": consumer.queue.name, "vhost": NAME},
        "ack_required": not consumer.no_ack,
        "exclusive": consumer.exclusive,
        "prefetch_count": consumer.prefetch,
        "arguments": plain_table(consumer.arguments),
    }


def describe_exchange(exchange: Exchange) -> Document:
    """Describe an exchange."""
    return {
        "name": exchange.name,
        "vhost": NAME,
        "type": exchange.type,
        "durable": exchange.durable,
        "auto_delete": exchange.auto_delete,
        "internal": exchange.internal,
        "arguments": plain_table(exchange.arguments),
        "policy": None,
        "user_who_performed_action": USER,
    }


def list_bindings(broker: Broker) -> Iterator[Document]:
    """Describe every binding; each queue is bound to the default exchange by its name."""
    for name in tuple(broker.vhost.queues):
        yield describe_binding("", Binding(Destination(QUEUE, name), name, {}))
    for exchange in tuple(broker.vhost.exchanges.values()):
        for binding in tuple(exchange.bindings.values()):
            yield describe_binding(exchange.name, binding)


def describe_binding(source: str, binding: Binding) -> Document:
    """Describe a binding of the exchange ``source``."""
    kind, name = binding.destination
    return {
        "source": source,
        "vhost": NAME,
        "destination": name,
        "destination_type": EXCHANGE if kind == EXCHANGE else QUEUE,
        "routing_key": binding.routing_key,
        "arguments": plain_table(binding.arguments),
        "properties_key": name_binding(binding.routing_key, binding.arguments),
    }


def find_binding(broker: Broker, source: str, kind: str, end: str, name: str) -> Binding | None:
    """The binding between two that ``name_binding`` names so; None without one."""
    exchange = broker.vhost.exchanges.get(source)
    for binding in exchange.bindings.values() if exchange is not None else ():
        # Each client quotes other characters of a name.
        if binding.destination == (kind, end) and unquote(
            name_binding(binding.routing_key, binding.arguments)
        ) == unquote(name):
            return binding
    return None


def name_binding(routing_key: str, arguments: Table) -> str:
    """What tells a binding from others between the same two, quoted for a URL."""
    key = quote(routing_key, safe="")
    if not arguments:
        return key or "~"
    digest = blake2b(encode_table(dict(sorted(arguments.items()))), digest_size=16).digest()
    return f"{key}~{urlsafe_b64encode(digest).decode().rstrip('=')}"


def _count_messages(ready: int, unacked: int) -> Document:
    return {
        "messages": ready + unacked,
        "messages_details": _NO_RATE,
        "messages_ready": ready,
        "messages_ready_details": _NO_RATE,
        "messages_unacknowledged": unacked,
        "messages_unacknowledged_details": _NO_RATE,
    }
