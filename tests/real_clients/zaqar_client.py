"""Every call of python-zaqarclient on version 2, without Keystone; run by its own Python with the port's URL.

Prints what each call gave, as one JSON object.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from zaqarclient.queues import client as zaqar
from zaqarclient.transport.errors import ResourceNotFound

HOOK = "http://127.0.0.1:9/hook"


def connect(url: str, backend: str = "noauth", **options: Any) -> Any:
    options = {"os_project_id": "demo", **options}
    return zaqar.Client(url, version=2, conf={"auth_opts": {"backend": backend, "options": options}})


def main(url: str) -> None:
    client = connect(url)
    client.ping()
    queue = client.queue("orders", force_create=True)
    ids = [
        href.rpartition("/")[2]
        for href in queue.post([{"body": {"n": n}, "ttl": 300} for n in range(6)])["resources"]
    ]
    said: dict[str, Any] = {
        "home": sorted(client.homedoc()["resources"]),
        "ids": ids,
        **metadata(queue),
        **messages(connect(url).queue("orders"), queue, ids),
        **claims(queue),
        **lists(client),
        **subscriptions(client, queue),
        **shared(url, queue),
    }
    queue.purge(resource_types=["messages"])
    said["after_purge"] = queue.stats
    queue.delete()
    said["after_delete"] = [each.name for each in client.queues()[0]]
    for name, admin in (("pool", client.pools), ("flavor", client.flavors), ("health", client.health)):
        try:
            admin()
        except ResourceNotFound:
            said[name] = "not found"
    json.dump(said, sys.stdout)


def metadata(queue: Any) -> dict[str, Any]:
    changed = dict(queue.metadata({"team": "red", "_default_message_ttl": 900}))
    return {"changed": changed, "metadata": dict(queue.metadata(force_reload=True)), "stats": queue.stats}


def messages(reader: Any, writer: Any, ids: list[str]) -> dict[str, Any]:
    pages = [message.body["n"] for message in reader.messages(limit=4).stream()]
    writer.message(ids[5]).delete()
    writer.delete_messages(ids[4])
    return {
        "echo": [message.body for message in writer.messages()],
        "listed": pages,
        "found": [message.body["n"] for message in reader.messages(ids[1], ids[0])],
        "one": reader.message(ids[0]).body,
        "popped": [message.body["n"] for message in writer.pop(1)],
        "left": [message.body["n"] for message in reader.messages(limit=20)],
    }


def claims(queue: Any) -> dict[str, Any]:
    claim = queue.claim(ttl=100, grace=60, limit=2)
    held = list(claim)
    claim.update(ttl=200, grace=60)
    again = queue.claim(id=claim.id)
    said = {
        "held": [message.body["n"] for message in held],
        "claim_ids": [message.claim_id == claim.id for message in held],
        "ttl": again.ttl,
        "age": again.age,
        "others": [message.body["n"] for message in queue.claim(ttl=100, grace=60, limit=20)],
    }
    held[0].delete()
    claim.delete()
    said["released"] = [message.body["n"] for message in queue.claim(ttl=100, grace=60)]
    return said


def lists(client: Any) -> dict[str, Any]:
    client.queue("archive", force_create=True)
    found, count = client.queues(with_count=True, detailed=True)
    names = [each.name for each in found]
    client.queue("archive").delete()
    return {"queues": names, "count": count, "exists": client.queue("orders").href}


def subscriptions(client: Any, queue: Any) -> dict[str, Any]:
    made = client.subscription("orders", subscriber=HOOK, ttl=600, options={"post_headers": {"a": "b"}})
    made.update({"ttl": 900})
    seen = client.subscription("orders", id=made.id)
    listed = [(each.subscriber, each.ttl) for each in queue.subscriptions()]
    made.delete()
    return {
        "subscription": [seen.subscriber, seen.ttl, seen.options, seen.confirmed],
        "subscriptions": listed,
        "unsubscribed": list(queue.subscriptions()),
    }


def shared(url: str, queue: Any) -> dict[str, Any]:
    signed = queue.signed_url(paths=["messages"], ttl_seconds=600, methods=["GET", "POST"])
    guest = connect(
        url,
        "signed-url",
        **{name: signed[name] for name in ("expires", "methods", "paths", "signature")},
        os_project_id=signed["project"],
    ).queue("orders")
    guest.post({"body": "from a guest", "ttl": 300})
    try:
        refused = guest.stats
    except ResourceNotFound:
        refused = "not found"
    return {
        "signed": [signed["paths"], signed["methods"], signed["project"]],
        "guest": [message.body for message in queue.messages()],
        "refused": refused,
    }


if __name__ == "__main__":
    main(sys.argv[1])
