"""The actions of the WebSocket transport. Each one stands for a request of version 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from extensions.queues.http.answers import bad_request

_PAGE: Final = ("marker", "limit")


@dataclass(frozen=True, slots=True)
class SocketAction:
    """A method on a path, and the fields of the action that go into the request.

    ``query`` and ``body`` name the fields of those parts. ``whole`` names a field that is the whole body.
    The variable parts of the path are fields as well.
    """

    method: str
    path: str
    query: tuple[str, ...] = ()
    body: tuple[str, ...] = ()
    whole: str | None = None


_QUEUE: Final = "queues/{queue_name}"
ACTIONS: Final[Mapping[str, SocketAction]] = {
    "queue_create": SocketAction("PUT", _QUEUE, whole="metadata"),
    "queue_list": SocketAction("GET", "queues", (*_PAGE, "detailed", "name", "with_count")),
    "queue_get": SocketAction("GET", _QUEUE),
    "queue_delete": SocketAction("DELETE", _QUEUE),
    "queue_get_stats": SocketAction("GET", f"{_QUEUE}/stats"),
    "queue_purge": SocketAction("POST", f"{_QUEUE}/purge", body=("resource_types",)),
    "message_post": SocketAction("POST", f"{_QUEUE}/messages", body=("messages",)),
    "message_list": SocketAction(
        "GET", f"{_QUEUE}/messages", (*_PAGE, "echo", "include_claimed", "include_delayed")
    ),
    "message_get": SocketAction("GET", f"{_QUEUE}/messages/{{message_id}}"),
    "message_get_many": SocketAction("GET", f"{_QUEUE}/messages", ("message_ids",)),
    "message_delete": SocketAction("DELETE", f"{_QUEUE}/messages/{{message_id}}", ("claim_id",)),
    "message_delete_many": SocketAction("DELETE", f"{_QUEUE}/messages", ("message_ids", "pop")),
    "claim_create": SocketAction("POST", f"{_QUEUE}/claims", ("limit",), ("ttl", "grace")),
    "claim_get": SocketAction("GET", f"{_QUEUE}/claims/{{claim_id}}"),
    "claim_update": SocketAction("PATCH", f"{_QUEUE}/claims/{{claim_id}}", body=("ttl", "grace")),
    "claim_delete": SocketAction("DELETE", f"{_QUEUE}/claims/{{claim_id}}"),
    "subscription_create": SocketAction(
        "POST", f"{_QUEUE}/subscriptions", body=("subscriber", "ttl", "options")
    ),
    "subscription_list": SocketAction("GET", f"{_QUEUE}/subscriptions", _PAGE),
    "subscription_get": SocketAction("GET", f"{_QUEUE}/subscriptions/{{subscription_id}}"),
    "subscription_delete": SocketAction("DELETE", f"{_QUEUE}/subscriptions/{{subscription_id}}"),
}
_IN_THE_QUERY: Final = {"message_ids": "ids"}


def find_names(action: SocketAction, fields: Mapping[str, Any]) -> dict[str, str]:
    """Find the variable parts of the path. Raises ``RequestRefusedError`` when one is missing."""
    names = {part[1:-1]: fields.get(part[1:-1]) for part in action.path.split("/") if part.startswith("{")}
    found = {name: value for name, value in names.items() if isinstance(value, str) and value}
    for name in names.keys() - found.keys():
        raise bad_request(f"The field {name!r} of the body is required, and is text.")
    return found


def build_query(action: SocketAction, fields: Mapping[str, Any]) -> str:
    given = {_IN_THE_QUERY.get(name, name): _text(fields[name]) for name in action.query if name in fields}
    return urlencode(given)


def build_document(action: SocketAction, fields: Mapping[str, Any]) -> Any:
    """Build the request's body; None when it has none."""
    if action.whole is not None:
        return fields.get(action.whole)
    return {name: fields[name] for name in action.body if name in fields} or None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
