"""Version 1, which jclouds uses: messages are bare arrays, and an empty result is 204."""

from __future__ import annotations

from http import HTTPStatus

from extensions.queues.engine import Found, Held
from extensions.queues.engine import bounds as checks
from extensions.queues.http import claim_requests as claims
from extensions.queues.http import message_requests as messages
from extensions.queues.http import queue_requests as queues
from extensions.queues.http import rendering
from extensions.queues.http.answers import (
    NO_CONTENT,
    MessagingAnswer,
    RequestRefusedError,
    answer_json,
    answer_location,
    bad_request,
)
from extensions.queues.http.call import MessagingCall, field, missing_header
from extensions.queues.http.posted import read_array
from extensions.queues.http.routes import QueueRoute
from rdss_sandbox.shapes.queue_limits import METADATA_BYTES


def list_queues(call: MessagingCall) -> MessagingAnswer:
    page = queues.limit_page(call, call.engine.queues.page(call.project, call.text("marker") or ""))
    document = queues.build_list(call, page, [each.metadata for each in page])
    return _with_location(call, answer_json(document)) if page else NO_CONTENT


def put_queue(call: MessagingCall) -> MessagingAnswer:
    created = call.engine.queues.create(call.at)
    return answer_location(HTTPStatus.CREATED if created else HTTPStatus.NO_CONTENT, call.path)


def get_queue(call: MessagingCall) -> MessagingAnswer:
    """Answer 204 when the queue exists, else 404."""
    there = call.engine.queues.exists(call.at)
    return _with_location(call, NO_CONTENT if there else MessagingAnswer(HTTPStatus.NOT_FOUND))


def get_metadata(call: MessagingCall) -> MessagingAnswer:
    return _with_location(call, answer_json(call.engine.queues.metadata(call.at)))


def put_metadata(call: MessagingCall) -> MessagingAnswer:
    """Replace the metadata. Reserved keys belong to later versions, so they are refused."""
    if len(call.body) > METADATA_BYTES:
        raise bad_request(f"Queue metadata is too large. Max size: {METADATA_BYTES}")
    metadata = call.document()
    if any(key.startswith("_") for key in metadata):
        raise bad_request(
            'Reserved queue attributes in metadata (which names start with "_") can not be set in API v1.'
        )
    call.engine.queues.set_metadata(call.at, metadata)
    return answer_location(HTTPStatus.NO_CONTENT, call.path)


def get_stats(call: MessagingCall) -> MessagingAnswer:
    return _with_location(
        call, MessagingAnswer(HTTPStatus.OK, queues.render_stats(call, call.engine.queues.stats(call.at)))
    )


def post_messages(call: MessagingCall) -> MessagingAnswer:
    _require_client(call)
    ids = call.engine.messages.post(call.at, read_array(call), call.client)
    return messages.answer_posted(call, ids, {"partial": False})


def get_messages(call: MessagingCall) -> MessagingAnswer:
    """Answer with a bare array for ids, else with a page and its link; 204 when there are no messages."""
    ids = call.several("ids")
    if ids is not None:
        checks.page_limit(len(ids))
        there = call.engine.messages.find(call.at, ids)
        return _with_location(
            call, MessagingAnswer(HTTPStatus.OK, _render(call, there)) if there else NO_CONTENT
        )
    _require_client(call)
    page = messages.find_page(call)
    if not page:
        return _with_location(call, NO_CONTENT)
    body = b'{"messages":%b,"links":%b}' % (_render(call, page), messages.link_next_page(call, page))
    return _with_location(call, MessagingAnswer(HTTPStatus.OK, body))


def delete_messages(call: MessagingCall) -> MessagingAnswer:
    ids = call.several("ids")
    if ids is None:
        raise RequestRefusedError(
            HTTPStatus.BAD_REQUEST, "Missing parameter", 'The "ids" parameter is required.'
        )
    checks.page_limit(len(ids))
    call.engine.messages.delete_many(call.at, ids)
    return NO_CONTENT


def get_message(call: MessagingCall) -> MessagingAnswer:
    there = call.engine.messages.get(call.at, call.names[1])
    shown = rendering.render_message_v1(Found(there.message, None), call.queue_path, call.engine.now())
    return _with_location(call, MessagingAnswer(HTTPStatus.OK, shown))


def post_claim(call: MessagingCall) -> MessagingAnswer:
    """Answer with a bare array of the claimed messages. The request must have ttl and grace."""
    document = call.document()
    held = claims.create_claim(call, ttl=field(document, "ttl", None), grace=field(document, "grace", None))
    if held is None:
        return NO_CONTENT
    return answer_location(HTTPStatus.CREATED, f"{call.path}/{held.claim.id}", _render_held(call, held))


def get_claim(call: MessagingCall) -> MessagingAnswer:
    held = call.engine.claims.get(call.at, call.names[1])
    return _with_location(
        call, MessagingAnswer(HTTPStatus.OK, claims.render_claim(call, held, _render_held(call, held)))
    )


def patch_claim(call: MessagingCall) -> MessagingAnswer:
    document = call.document()
    ttl, grace = field(document, "ttl", None), field(document, "grace", 0)
    call.engine.claims.renew(call.at, call.names[1], ttl=ttl, grace=grace)
    return NO_CONTENT


def health(_call: MessagingCall) -> MessagingAnswer:
    return NO_CONTENT


ROUTES = (
    QueueRoute("queues", "queues", {"GET": list_queues}, ("marker", "limit", "detailed"), "queue_limit"),
    QueueRoute(
        "queue",
        "queues/{queue_name}",
        {"GET": get_queue, "HEAD": get_queue, "PUT": put_queue, "DELETE": queues.delete_queue},
    ),
    QueueRoute("queue-metadata", "queues/{queue_name}/metadata", {"GET": get_metadata, "PUT": put_metadata}),
    QueueRoute("queue-stats", "queues/{queue_name}/stats", {"GET": get_stats}),
    QueueRoute(
        "messages",
        "queues/{queue_name}/messages",
        {"GET": get_messages, "POST": post_messages, "DELETE": delete_messages},
        ("marker", "limit", "echo", "include_claimed"),
        "messages_limit",
    ),
    QueueRoute(
        "message",
        "queues/{queue_name}/messages/{message_id}",
        {"GET": get_message, "DELETE": messages.delete_message},
    ),
    QueueRoute("claim", "queues/{queue_name}/claims", {"POST": post_claim}, ("limit",), "claim_limit"),
    QueueRoute(
        "claim-item",
        "queues/{queue_name}/claims/{claim_id}",
        {"GET": get_claim, "PATCH": patch_claim, "DELETE": claims.delete_claim},
    ),
    QueueRoute("health", "health", {"GET": health, "HEAD": health}),
)


def _require_client(call: MessagingCall) -> None:
    if not call.client:
        raise missing_header("Client-Id")


def _render(call: MessagingCall, there: list[Found]) -> bytes:
    free = [Found(each.message, None) for each in there]
    return rendering.render_messages_v1(free, call.queue_path, call.engine.now())


def _render_held(call: MessagingCall, held: Held) -> bytes:
    there = [Found(message, held.claim.id) for message in held.messages]
    return rendering.render_messages_v1(there, call.queue_path, call.engine.now())


def _with_location(call: MessagingCall, answer: MessagingAnswer) -> MessagingAnswer:
    """Add the request's URI to the answer, as Content-Location."""
    uri = call.path + (f"?{call.query}" if call.query else "")
    return answer._replace(headers=(*answer.headers, (b"content-location", uri.encode())))
