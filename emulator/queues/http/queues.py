"""Queues in v1.1 and v2: list, put, get, delete, statistics."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from emulator.queues.engine import Found, Message
from emulator.queues.engine.errors import QueueNotThereError
from emulator.queues.engine.metadata import counts_claims
from emulator.queues.engine.operations.queues import Listed, Stats
from emulator.queues.http import rendering
from emulator.queues.http.answers import NO_CONTENT, Answer, bad_request, encode, found, located
from emulator.queues.http.call import Call
from rdss_sandbox.shapes.queue_limits import DEFAULT_PAGE, METADATA_BYTES, PAGE

NO_MESSAGES = b'{"messages":{"claimed":0,"free":0,"total":0}}'


def list_queues(call: Call) -> Answer:
    """The project's queues by name; ``detailed`` with what was set of their metadata."""
    queues = page(call, call.engine.queues.page(call.project, call.text("marker") or ""))
    return found(listed(call, queues, [each.metadata for each in queues]))


def page(call: Call, queues: list[Listed]) -> list[Listed]:
    """As many as the query's limit allows. Raises ``RequestRefusedError``."""
    limit = call.integer("limit", DEFAULT_PAGE)
    if not PAGE.holds(limit):
        raise bad_request(f"Limit must be at least {PAGE.least} and no greater than {PAGE.most}.")
    return queues[:limit]


def listed(call: Call, queues: list[Listed], details: list[Any]) -> dict[str, Any]:
    """The document of a list of queues, with the link to the next page."""
    detailed = call.flag("detailed")
    rows = [
        {"name": queue.name}
        | ({"metadata": metadata} if detailed else {})
        | {"href": f"{call.path}/{queue.name}"}
        for queue, metadata in zip(queues, details, strict=True)
    ]
    kept = ("limit", "detailed", "name", "with_count")
    return {"queues": rows, "links": call.next_page(queues[-1].name, kept) if queues else []}


def put_queue(call: Call) -> Answer:
    """201 for a new queue, 204 for one that is there, which stays as it is."""
    if len(call.body) > METADATA_BYTES:
        raise bad_request(f"Queue metadata is too large. Max size: {METADATA_BYTES}")
    created = call.engine.queues.create(call.at, call.document_or_empty())
    return located(HTTPStatus.CREATED if created else HTTPStatus.NO_CONTENT, call.path)


def get_queue(call: Call) -> Answer:
    """What was set of the queue's metadata; nothing of a queue that is not there, which is made when used."""
    return found(metadata_of(call))


def metadata_of(call: Call) -> Mapping[str, Any]:
    try:
        return call.engine.queues.metadata(call.at)
    except QueueNotThereError:
        return {}


def delete_queue(call: Call) -> Answer:
    """204, whether it was there or not."""
    call.engine.queues.delete(call.at)
    return NO_CONTENT


def get_stats(call: Call) -> Answer:
    """The numbers of messages, with the oldest and newest; zeros for a queue that is not there."""
    try:
        return Answer(HTTPStatus.OK, stats(call, call.engine.queues.stats(call.at)))
    except QueueNotThereError:
        return Answer(HTTPStatus.OK, NO_MESSAGES)


def stats(call: Call, numbers: Stats) -> bytes:
    """The document of a queue's numbers."""
    if not numbers.total:
        return NO_MESSAGES
    counts = encode({"claimed": numbers.claimed, "free": numbers.free, "total": numbers.total})
    ends = [(b"newest", numbers.newest), (b"oldest", numbers.oldest)]
    counted = counts_claims(metadata_of(call))
    shown = [
        b'"%b":%b' % (name, _milestone(call, message, counted=counted)) for name, message in ends if message
    ]
    return b'{"messages":%b,%b}}' % (counts[:-1], b",".join(shown))


def _milestone(call: Call, message: Message, *, counted: bool) -> bytes:
    there = call.engine.messages.find(call.at, [message.id])
    return rendering.milestone(
        there[0] if there else Found(message, None), call.queue_path, call.engine.now(), counted=counted
    )
