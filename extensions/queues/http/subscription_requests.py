"""Subscriptions in v2: list, create, get, change, delete, confirm."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from extensions.queues.engine.subscription import Subscription
from extensions.queues.http.answers import (
    NO_CONTENT,
    MessagingAnswer,
    RequestRefusedError,
    answer_json,
    answer_location,
    bad_request,
    encode,
)
from extensions.queues.http.call import MessagingCall
from rdss_sandbox.shapes.queue_limits import DEFAULT_PAGE, DEFAULT_SUBSCRIPTION_TTL


def list_subscriptions(call: MessagingCall) -> MessagingAnswer:
    """Answer with a page of subscriptions, oldest first."""
    subscriptions = call.engine.subscriptions.page(
        call.at, after=call.text("marker") or "", limit=call.integer("limit", DEFAULT_PAGE)
    )
    links = call.next_page(subscriptions[-1].id, ("limit",)) if subscriptions else []
    return answer_json(
        {"subscriptions": [render_subscription(call, each) for each in subscriptions], "links": links}
    )


def post_subscription(call: MessagingCall) -> MessagingAnswer:
    """Answer 201 for a new subscription or one that is not confirmed yet, 409 for a confirmed one."""
    document = call.document_or_empty()
    if "subscriber" not in document:
        raise bad_request("Missing parameter subscriber in body.")
    made = call.engine.subscriptions.create(
        call.at,
        document["subscriber"],
        ttl=DEFAULT_SUBSCRIPTION_TTL if document.get("ttl") is None else document["ttl"],
        options=document.get("options"),
    )
    if not made.new and made.subscription.confirmed:
        raise RequestRefusedError(
            HTTPStatus.CONFLICT,
            "Resource conflict",
            "Such subscription already exists. Subscriptions are unique by project + queue + subscriber URI.",
            ((b"location", call.path.encode()),),
        )
    return answer_location(HTTPStatus.CREATED, call.path, encode({"subscription_id": made.subscription.id}))


def get_subscription(call: MessagingCall) -> MessagingAnswer:
    return answer_json(render_subscription(call, call.engine.subscriptions.get(call.at, call.names[1])))


def patch_subscription(call: MessagingCall) -> MessagingAnswer:
    """Change the subscriber, the ttl or the options."""
    document = call.document_or_empty()
    if not document:
        raise bad_request("No subscription to create.")
    changes = {name: document.get(name) for name in ("subscriber", "ttl", "options")}
    if all(value is None for value in changes.values()):
        raise RequestRefusedError(
            HTTPStatus.BAD_REQUEST,
            "Unable to update subscription",
            f"Subscription {call.names[1]} could not be updated.",
        )
    call.engine.subscriptions.update(call.at, call.names[1], **changes)
    return answer_location(HTTPStatus.NO_CONTENT, call.path)


def delete_subscription(call: MessagingCall) -> MessagingAnswer:
    """Answer 204, also for a missing subscription."""
    call.engine.subscriptions.delete(call.at, call.names[1])
    return NO_CONTENT


def confirm_subscription(call: MessagingCall) -> MessagingAnswer:
    """Store whether the subscriber agrees."""
    confirmed = call.document_or_empty().get("confirmed")
    if not isinstance(confirmed, bool):
        raise bad_request("The 'confirmed' should be boolean.")
    call.engine.subscriptions.confirm(call.at, call.names[1], confirmed=confirmed)
    return answer_location(HTTPStatus.NO_CONTENT, call.path)


def render_subscription(call: MessagingCall, subscription: Subscription) -> dict[str, Any]:
    return {
        "id": subscription.id,
        "source": call.at.name,
        "subscriber": subscription.subscriber,
        "ttl": subscription.ttl,
        "age": subscription.age(call.engine.now()),
        "options": subscription.options,
        "confirmed": subscription.confirmed,
    }
