"""Answers of RabbitMQ's management API about what this broker has one of, or none: its user, policies."""

from __future__ import annotations

from typing import Any, Final

from emulator.amqp.broker import USER, Broker
from emulator.amqp.management import (
    NODE,
    Document,
    describe_exchange,
    describe_queue,
    list_bindings,
)
from emulator.amqp.server_properties import SERVER_PROPERTIES, VERSION
from emulator.amqp.virtual_host import NAME, PREDECLARED

VHOST: Final[Document] = {
    "name": NAME,
    "description": "Default virtual host",
    "tags": [],
    "default_queue_type": "classic",
    "tracing": False,
    "cluster_state": {NODE: "running"},
}
_USER: Final[Document] = {"name": USER, "tags": ["administrator"], "limits": {}}
_NODE: Final[Document] = {"name": NODE, "type": "disc", "running": True}
_PERMISSION: Final[Document] = {"user": USER, "vhost": NAME, "configure": ".*", "write": ".*", "read": ".*"}
ANSWERS: Final[dict[str, Any]] = {
    "/whoami": {"name": USER, "tags": ["administrator"], "is_internal_user": True},
    "/vhosts": [VHOST],
    "/vhosts/{vhost}": VHOST,
    "/vhosts/{vhost}/permissions": [_PERMISSION],
    "/nodes": [_NODE],
    "/nodes/{node}": _NODE,
    "/users": [_USER],
    "/users/{user}": _USER,
    "/users/{user}/permissions": [_PERMISSION],
    "/permissions": [_PERMISSION],
    "/permissions/{vhost}/{user}": _PERMISSION,
    "/topic-permissions": [],
    "/cluster-name": {"name": SERVER_PROPERTIES["cluster_name"].value.decode()},
    "/extensions": [],
    "/policies": [],
    "/policies/{vhost}": [],
    "/parameters": [],
    "/parameters/{component}": [],
    "/parameters/{component}/{vhost}": [],
    "/global-parameters": [],
    "/vhost-limits": [],
    "/aliveness-test/{vhost}": {"status": "ok"},
    "/healthchecks/node": {"status": "ok"},
    "/healthchecks/node/{node}": {"status": "ok"},
    **{
        f"/health/checks/{name}": {"status": "ok"}
        for name in ("alarms", "local-alarms", "virtual-hosts", "node-is-quorum-critical")
    },
}
"""What a path is answered, whatever happened."""
NEVER_THERE: Final = ("/policies/{vhost}/{policy}", "/parameters/{component}/{vhost}/{parameter}")
"""Paths of what this broker has none of."""
_OF_QUEUE: Final = ("name", "vhost", "durable", "auto_delete", "arguments")
_OF_EXCHANGE: Final = ("name", "vhost", "type", "durable", "auto_delete", "internal", "arguments")
_OF_BINDING: Final = ("source", "vhost", "destination", "destination_type", "routing_key", "arguments")


def describe_definitions(broker: Broker) -> Document:
    """What is declared, as ``GET /api/definitions`` has it: what comes with a broker is left out."""
    queues = [queue for queue in broker.vhost.queues.values() if queue.owner is None]
    exchanges = [each for name, each in broker.vhost.exchanges.items() if name not in PREDECLARED]
    bindings = [each for each in list_bindings(broker) if each["source"]]
    return {
        "rabbit_version": VERSION,
        "rabbitmq_version": VERSION,
        "product_name": "RabbitMQ",
        "product_version": VERSION,
        "users": [_USER],
        "vhosts": [{"name": NAME}],
        "permissions": [_PERMISSION],
        "topic_permissions": [],
        "parameters": [],
        "global_parameters": [],
        "policies": [],
        "queues": [_keep(describe_queue(queue), _OF_QUEUE) for queue in queues],
        "exchanges": [_keep(describe_exchange(each), _OF_EXCHANGE) for each in exchanges],
        "bindings": [_keep(each, _OF_BINDING) for each in bindings],
    }


def _keep(described: Document, names: tuple[str, ...]) -> Document:
    return {name: described[name] for name in names}
