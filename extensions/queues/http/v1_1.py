"""Version 1.1: as version 2, but without reserved metadata, patches, sharing and subscriptions."""

from __future__ import annotations

from extensions.queues.http import claim_requests as claims
from extensions.queues.http import message_requests as messages
from extensions.queues.http import queue_requests as queues
from extensions.queues.http.answers import NO_CONTENT, MessagingAnswer
from extensions.queues.http.call import MessagingCall
from extensions.queues.http.routes import QueueRoute


def ping(_call: MessagingCall) -> MessagingAnswer:
    """Answer 204, to show that the service runs."""
    return NO_CONTENT


MESSAGES_AND_CLAIMS = (
    QueueRoute("queue_stats", "queues/{queue_name}/stats", {"GET": queues.get_stats}),
    QueueRoute(
        "messages",
        "queues/{queue_name}/messages",
        {
            "GET": messages.get_messages,
            "POST": messages.post_messages,
            "DELETE": messages.delete_messages,
        },
        ("marker", *messages.LIST_PARAMETERS, "ids", "pop"),
        "messages_limit",
    ),
    QueueRoute(
        "message",
        "queues/{queue_name}/messages/{message_id}",
        {"GET": messages.get_message, "DELETE": messages.delete_message},
        ("claim_id",),
    ),
    QueueRoute("claim", "queues/{queue_name}/claims", {"POST": claims.post_claim}, ("limit",), "claim_limit"),
    QueueRoute(
        "claim-item",
        "queues/{queue_name}/claims/{claim_id}",
        {"GET": claims.get_claim, "PATCH": claims.patch_claim, "DELETE": claims.delete_claim},
    ),
    QueueRoute("ping", "ping", {"GET": ping, "HEAD": ping}),
)

ROUTES = (
    QueueRoute(
        "queues", "queues", {"GET": queues.list_queues}, ("marker", "limit", "detailed"), "queue_limit"
    ),
    QueueRoute(
        "queue",
        "queues/{queue_name}",
        {"GET": queues.get_queue, "PUT": queues.put_queue, "DELETE": queues.delete_queue},
    ),
    *MESSAGES_AND_CLAIMS,
)
