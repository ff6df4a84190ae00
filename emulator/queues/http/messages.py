"""Messages in v1.1 and v2: post, list, get, delete, pop."""

from __future__ import annotations

from http import HTTPStatus

from emulator.queues.engine import Found, checks
from emulator.queues.engine.errors import (
    ClaimNotThereError,
    MessageClaimedError,
    MessageNotClaimedError,
    QueueNotThereError,
)
from emulator.queues.engine.metadata import counts_claims
from emulator.queues.http import rendering
from emulator.queues.http.answers import (
    NO_CONTENT,
    Answer,
    bad_request,
    cannot_delete,
    encode,
    located,
    not_found,
)
from emulator.queues.http.call import Call
from emulator.queues.http.posted import in_document
from emulator.queues.http.queues import metadata_of
from emulator.rng import new_uuid
from rdss_sandbox.shapes.queue_limits import DEFAULT_PAGE

LIST_PARAMETERS = ("limit", "echo", "include_claimed", "include_delayed")


def post_messages(call: Call) -> Answer:
    """201 with where each message is; the queue is made if it is not there."""
    return posted(call, call.engine.messages.post(call.at, in_document(call), call.client), {})


def posted(call: Call, ids: list[str], more: dict[str, bool]) -> Answer:
    """The answer to posting: where the messages are."""
    resources = [f"{call.path}/{id_}" for id_ in ids]
    body = encode({"resources": resources} | more)
    return located(HTTPStatus.CREATED, f"{call.path}?ids={','.join(ids)}", body)


def get_messages(call: Call) -> Answer:
    """Those with the given ids, or a page of them."""
    ids = call.several("ids")
    if ids is None:
        return _page(call)
    checks.page_limit(len(ids))
    found = call.engine.messages.find(call.at, ids)
    if not found:
        queue = f"queue {call.at.name} for project {call.project}"
        raise not_found(f"No messages with IDs: {ids} found in the {queue}.")
    return Answer(HTTPStatus.OK, b'{"messages":%b}' % _rendered(call, found))


def listed(call: Call) -> list[Found]:
    """The messages that the query asks for.

    Raises ``QueueNotThereError``, ``BadValueError`` and ``RequestRefusedError``.
    """
    marker = call.text("marker") or ""
    return call.engine.messages.page(
        call.at,
        after=int(marker) if marker.isdecimal() else 0,
        limit=call.integer("limit", DEFAULT_PAGE),
        not_from=None if call.flag("echo") else call.client,
        claimed=call.flag("include_claimed"),
        delayed=call.flag("include_delayed"),
    )


def next_page(call: Call, found: list[Found]) -> bytes:
    """The link to the messages after those."""
    return encode(call.next_page(str(found[-1].message.number), LIST_PARAMETERS))


def delete_messages(call: Call) -> Answer:
    """Delete by ``ids``, or take the oldest with ``pop``."""
    ids = call.several("ids")
    pop = call.integer("pop", 0) if call.text("pop") is not None else None
    if ids is not None and pop is not None:
        raise bad_request("pop and id params cannot be present together in the delete request.")
    if ids is not None:
        call.engine.messages.delete_many(call.at, ids)
        return NO_CONTENT
    if pop is None:
        raise bad_request(
            'The request should have either "ids" or "pop" parameter in the request, to be able to delete.'
        )
    counted = counts_claims(metadata_of(call))
    popped = call.engine.messages.pop(call.at, pop)
    shown = rendering.popped(popped, new_uuid(), call.engine.now(), counted=counted)
    return Answer(HTTPStatus.OK, b'{"messages":%b}' % shown)


def get_message(call: Call) -> Answer:
    """The message, or 404."""
    found = call.engine.messages.get(call.at, call.names[1])
    return Answer(HTTPStatus.OK, rendering.message(found, call.queue_path, call.engine.now()))


def delete_message(call: Call) -> Answer:
    """204 also for one that is gone; one that is held needs the ``claim_id`` that holds it."""
    try:
        call.engine.messages.delete(call.at, call.names[1], call.text("claim_id"))
    except (ClaimNotThereError, MessageClaimedError, MessageNotClaimedError) as error:
        raise cannot_delete(error) from error
    return NO_CONTENT


def _page(call: Call) -> Answer:
    try:
        found = listed(call)
    except QueueNotThereError:
        found = []
    links = next_page(call, found) if found else b"[]"
    return Answer(HTTPStatus.OK, b'{"messages":%b,"links":%b}' % (_rendered(call, found), links))


def _rendered(call: Call, found: list[Found]) -> bytes:
    return rendering.messages(found, call.queue_path, call.engine.now())
