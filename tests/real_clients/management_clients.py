"""pyrabbit2 or rabbitmq-admin at the management API given: what came of it, as a line of JSON.

Arguments: which of the two, and the API's ``host:port``. One client is connected to the broker.
"""

from __future__ import annotations

import json
import sys
from typing import Any

QUEUE, EXCHANGE, KEY = "deposits", "events", "thesis"


def use_pyrabbit2(address: str) -> dict[str, Any]:
    from pyrabbit2.api import Client  # type: ignore[import-not-found]

    client = Client(address, "guest", "guest")
    found: dict[str, Any] = {"alive": client.is_alive(), "user": client.get_whoami()["name"]}
    client.create_exchange("/", EXCHANGE, "direct")
    client.create_queue("/", QUEUE, durable=True)
    client.create_binding("/", EXCHANGE, QUEUE, KEY)
    found["routed"] = client.publish("/", EXCHANGE, KEY, "a message")
    found["bound"] = [each["routing_key"] for each in client.get_queue_bindings("/", QUEUE) if each["source"]]
    found["taken"] = [each["payload"] for each in client.get_messages("/", QUEUE, count=5, requeue=True)]
    found["purged"] = client.purge_queue("/", QUEUE)
    found["left"] = client.get_messages("/", QUEUE)
    (connected,) = client.get_connections()
    client.delete_connection(connected["name"])
    client.delete_queue("/", QUEUE)
    client.delete_exchange("/", EXCHANGE)
    found["queues"] = [queue["name"] for queue in client.get_queues()]
    return found


def use_rabbitmq_admin(address: str) -> dict[str, Any]:
    from rabbitmq_admin import AdminAPI  # type: ignore[import-not-found]

    client = AdminAPI(url=f"http://{address}", auth=("guest", "guest"))
    found: dict[str, Any] = {"alive": client.is_vhost_alive("/")["status"] == "ok"}
    found["user"] = client.whoami()["name"]
    client.create_exchange_for_vhost(EXCHANGE, "/", {"type": "direct"})
    found["exchange"] = client.get_exchange_for_vhost(EXCHANGE, "/")["type"]
    client.delete_exchange_for_vhost(EXCHANGE, "/")
    found["consumers"] = client.list_consumers_for_vhost("/")
    found["connected"] = [each["state"] for each in client.list_connections()]
    found["exchanges"] = [each["name"] for each in client.list_exchanges() if each["name"] == EXCHANGE]
    return found


USES = {"pyrabbit2": use_pyrabbit2, "rabbitmq-admin": use_rabbitmq_admin}

if __name__ == "__main__":
    sys.stdout.write(json.dumps(USES[sys.argv[1]](sys.argv[2])))
