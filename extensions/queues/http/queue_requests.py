"""Queues in v1.1 and v2: list, put, get, delete, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from extensions.queues.engine import Found, QueuedMessage
from extensions.queues.engine.operations.queues import ListedQueue, Stats
from extensions.queues.engine.queue_errors import QueueNotThereError
from extensions.queues.engine.queue_metadata import counts_claims
from extensions.queues.http import rendering
from extensions.queues.http.answers import (
    NO_CONTENT,
    MessagingAnswer,
    answer_json,
    answer_location,
    bad_request,
    encode,
)
from extensions.queues.http.call import MessagingCall
from rdss_sandbox.shapes.queue_limits import DEFAULT_PAGE, METADATA_BYTES, PAGE

NO_MESSAGES = b'{"messages":{"claimed":0,"free":0,"total":0}}'


def list_queues(call: MessagingCall) -> MessagingAnswer:
    """Answer with the project's queues by name, with ``detailed`` also with their own metadata."""
    queues = limit_page(call, call.engine.queues.page(call.project, call.text("marker") or ""))
    return answer_json(build_list(call, queues, [each.metadata for each in queues]))


def limit_page(call: MessagingCall, queues: list[ListedQueue]) -> list[ListedQueue]:
    """Cut ``queues`` to the query's limit. Raises ``RequestRefusedError``."""
    limit = call.integer("limit", DEFAULT_PAGE)
    if not PAGE.holds(limit):
        raise bad_request(f"Limit must be at least {PAGE.least} and no greater than {PAGE.most}.")
    return queues[:limit]


def build_list(call: MessagingCall, queues: list[ListedQueue], details: list[Any]) -> dict[str, Any]:
    """Build the document of a list of queues, with the link to the next page."""
    detailed = call.flag("detailed")
    rows = [
        {"name": queue.name}
        | ({"metadata": metadata} if detailed else {})
        | {"href": f"{call.path}/{queue.name}"}
        for queue, metadata in zip(queues, details, strict=True)
    ]
    kept = ("limit", "detailed", "name", "with_count")
    return {"queues": rows, "links": call.next_page(queues[-1].name, kept) if queues else []}


def put_queue(call: MessagingCall) -> MessagingAnswer:
    """Answer 201 for a new queue, 204 for an existing one, which is not changed."""
    if len(call.body) > METADATA_BYTES:
        raise bad_request(f"Queue metadata is too large. Max size: {METADATA_BYTES}")
    created = call.engine.queues.create(call.at, call.document_or_empty())
    return answer_location(HTTPStatus.CREATED if created else HTTPStatus.NO_CONTENT, call.path)


def get_queue(call: MessagingCall) -> MessagingAnswer:
    """Answer with the queue's own metadata. A missing queue, which its first use creates, has none."""
    return answer_json(find_metadata(call))


def find_metadata(call: MessagingCall) -> Mapping[str, Any]:
    try:
        return call.engine.queues.metadata(call.at)
    except QueueNotThereError:
        return {}


def delete_queue(call: MessagingCall) -> MessagingAnswer:
    """Answer 204, also for a missing queue."""
    call.engine.queues.delete(call.at)
    return NO_CONTENT


def get_stats(call: MessagingCall) -> MessagingAnswer:
    """Answer with the numbers of messages, the oldest and the newest; with zeros for a missing queue."""
    try:
        return MessagingAnswer(HTTPStatus.OK, render_stats(call, call.engine.queues.stats(call.at)))
    except QueueNotThereError:
        return MessagingAnswer(HTTPStatus.OK, NO_MESSAGES)


def render_stats(call: MessagingCall, numbers: Stats) -> bytes:
    """Render the statistics of a queue."""
    if not numbers.total:
        return NO_MESSAGES
    counts = encode({"claimed": numbers.claimed, "free": numbers.free, "total": numbers.total})
    ends = [(b"newest", numbers.newest), (b"oldest", numbers.oldest)]
    counted = counts_claims(find_metadata(call))
    shown = [
        b'"%b":%b' % (name, _render_milestone(call, message, counted=counted))
        for name, message in ends
        if message
    ]
    return b'{"messages":%b,%b}}' % (counts[:-1], b",".join(shown))


def _render_milestone(call: MessagingCall, message: QueuedMessage, *, counted: bool) -> bytes:
    there = call.engine.messages.find(call.at, [message.id])
    return rendering.render_milestone(
        there[0] if there else Found(message, None), call.queue_path, call.engine.now(), counted=counted
    )
