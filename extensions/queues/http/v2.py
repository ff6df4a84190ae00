"""Version 2: its additions to version 1.1."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from extensions.queues.engine import bounds as checks
from extensions.queues.engine.queue_errors import BadValueError
from extensions.queues.engine.queue_metadata import with_defaults
from extensions.queues.http import queue_requests as queues
from extensions.queues.http import subscription_requests as subscriptions
from extensions.queues.http import v1_1
from extensions.queues.http.answers import (
    NO_CONTENT,
    MessagingAnswer,
    RequestRefusedError,
    answer_json,
    bad_body,
    bad_request,
)
from extensions.queues.http.call import MessagingCall
from extensions.queues.http.routes import QueueRoute
from rdss_sandbox.shapes.queue_limits import METADATA_BYTES

_JSON_PATCH: Final = "application/openstack-messaging-v2.0-json-patch"
_SHAREABLE: Final = frozenset(("messages", "subscriptions", "claims"))
_SHARE_FIELDS: Final = frozenset(("paths", "methods", "expires"))
_LIST_PARAMETERS: Final = frozenset(("marker", "limit", "detailed", "name", "with_count"))


def list_queues(call: MessagingCall) -> MessagingAnswer:
    """List queues, filtered by a part of ``name`` and by metadata: other parameters are keys and values."""
    after, name = call.text("marker") or "", call.text("name") or ""
    metadata = {key: values[-1] for key, values in call.params.items() if key not in _LIST_PARAMETERS}
    there = [
        queue
        for queue in call.engine.queues.page(call.project, after, name)
        if all(_matches(queue.metadata.get(key), value) for key, value in metadata.items())
    ]
    page = queues.limit_page(call, there)
    document = queues.build_list(call, page, [with_defaults(queue.metadata) for queue in page])
    if call.flag("with_count") and (count := len(call.engine.queues.page(call.project))):
        document["count"] = count
    return answer_json(document)


def get_queue(call: MessagingCall) -> MessagingAnswer:
    """Answer with the metadata and the defaults of reserved keys, also for a missing queue."""
    return answer_json(with_defaults(queues.find_metadata(call)))


def patch_queue(call: MessagingCall) -> MessagingAnswer:
    """Change the metadata with a JSON patch."""
    if len(call.body) > METADATA_BYTES:
        raise bad_body(f"Queue metadata is too large. Max size: {METADATA_BYTES}")
    if (call.header(b"content-type") or "").partition(";")[0].strip() != _JSON_PATCH:
        accepted = {"Accept-Patch": _JSON_PATCH}
        description = f"Accepted media type for PATCH: {accepted}."
        raise RequestRefusedError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "415 Unsupported Media Type", description
        )
    if not call.body:
        raise bad_body("PATCH body could not be empty for update.")
    operations = call.json()
    if not isinstance(operations, list):
        raise bad_body("Document type not supported.")
    try:
        return answer_json(with_defaults(call.engine.queues.patch(call.at, operations)))
    except BadValueError as error:
        raise bad_body(str(error)) from error


def purge_queue(call: MessagingCall) -> MessagingAnswer:
    """Remove messages, subscriptions, or, without a body, both."""
    types: Any = sorted(checks.RESOURCE_TYPES)
    if call.body:
        document = call.document()
        if "resource_types" not in document:
            raise bad_request('Post body must contain key "resource_types".')
        types = document["resource_types"]
    checks.resource_types(types)
    call.engine.queues.purge(call.at, messages="messages" in types, subscriptions="subscriptions" in types)
    return NO_CONTENT


def share_queue(call: MessagingCall) -> MessagingAnswer:
    """Answer with a signature that permits some methods on some paths of the queue until it expires."""
    document = call.document()
    if unknown := document.keys() - _SHARE_FIELDS:
        raise bad_request(f"Unknown keys: {checks.render_set(unknown)}")
    paths = document.get("paths") or ["messages"]
    if not isinstance(paths, list):
        raise bad_request(f"Invalid paths: {paths}")
    if unknown := set(map(str, paths)) - _SHAREABLE:
        raise bad_request(f"Invalid paths: {checks.render_set(unknown)}")
    full = [f"{call.queue_path}/{path}" for path in paths]
    return answer_json(call.engine.sign(call.at, full, document.get("methods"), document.get("expires")))


ROUTES = (
    QueueRoute("queues", "queues", {"GET": list_queues}, tuple(sorted(_LIST_PARAMETERS)), "queue_limit"),
    QueueRoute(
        "queue",
        "queues/{queue_name}",
        {
            "GET": get_queue,
            "PUT": queues.put_queue,
            "PATCH": patch_queue,
            "DELETE": queues.delete_queue,
        },
    ),
    QueueRoute("queue_share", "queues/{queue_name}/share", {"POST": share_queue}),
    QueueRoute("queue_purge", "queues/{queue_name}/purge", {"POST": purge_queue}),
    *v1_1.MESSAGES_AND_CLAIMS,
    QueueRoute(
        "subscriptions",
        "queues/{queue_name}/subscriptions",
        {"GET": subscriptions.list_subscriptions, "POST": subscriptions.post_subscription},
        ("marker", "limit"),
        "subscription_limit",
    ),
    QueueRoute(
        "subscription",
        "queues/{queue_name}/subscriptions/{subscription_id}",
        {
            "GET": subscriptions.get_subscription,
            "PATCH": subscriptions.patch_subscription,
            "DELETE": subscriptions.delete_subscription,
        },
    ),
    QueueRoute(
        "subscription_confirm",
        "queues/{queue_name}/subscriptions/{subscription_id}/confirm",
        {"PUT": subscriptions.confirm_subscription},
    ),
)


def _matches(value: Any, text: str) -> bool:
    """Whether a metadata value equals a query's text, which has no types."""
    return str(value) == text if isinstance(value, str | int) and not isinstance(value, bool) else False
