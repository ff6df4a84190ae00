"""Messages in v1.1 and v2: post, list, get, delete, pop."""

from __future__ import annotations

from http import HTTPStatus

from emulator.rng import new_uuid
from extensions.queues.engine import Found
from extensions.queues.engine import bounds as checks
from extensions.queues.engine.queue_errors import (
    ClaimNotThereError,
    MessageClaimedError,
    MessageNotClaimedError,
    QueueNotThereError,
)
from extensions.queues.engine.queue_metadata import counts_claims
from extensions.queues.http import rendering
from extensions.queues.http.answers import (
    NO_CONTENT,
    MessagingAnswer,
    answer_location,
    bad_request,
    cannot_delete,
    encode,
    not_found,
)
from extensions.queues.http.call import MessagingCall
from extensions.queues.http.posted import read_document
from extensions.queues.http.queue_requests import find_metadata
from rdss_sandbox.shapes.queue_limits import DEFAULT_PAGE

LIST_PARAMETERS = ("limit", "echo", "include_claimed", "include_delayed")


def post_messages(call: MessagingCall) -> MessagingAnswer:
    """Answer 201 with the path of each message. A missing queue is created."""
    return answer_posted(call, call.engine.messages.post(call.at, read_document(call), call.client), {})


def answer_posted(call: MessagingCall, ids: list[str], more: dict[str, bool]) -> MessagingAnswer:
    """Answer a post with the paths of the messages."""
    resources = [f"{call.path}/{id_}" for id_ in ids]
    body = encode({"resources": resources} | more)
    return answer_location(HTTPStatus.CREATED, f"{call.path}?ids={','.join(ids)}", body)


def get_messages(call: MessagingCall) -> MessagingAnswer:
    """Answer with the messages of ``ids``, or with a page of messages."""
    ids = call.several("ids")
    if ids is None:
        return _get_page(call)
    checks.page_limit(len(ids))
    found = call.engine.messages.find(call.at, ids)
    if not found:
        queue = f"queue {call.at.name} for project {call.project}"
        raise not_found(f"No messages with IDs: {ids} found in the {queue}.")
    return MessagingAnswer(HTTPStatus.OK, b'{"messages":%b}' % _render(call, found))


def find_page(call: MessagingCall) -> list[Found]:
    """The messages that the query selects.

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


def link_next_page(call: MessagingCall, found: list[Found]) -> bytes:
    """The link to the messages after ``found``."""
    return encode(call.next_page(str(found[-1].message.number), LIST_PARAMETERS))


def delete_messages(call: MessagingCall) -> MessagingAnswer:
    """Delete the messages of ``ids``, or delete and answer with the ``pop`` oldest ones."""
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
    counted = counts_claims(find_metadata(call))
    popped = call.engine.messages.pop(call.at, pop)
    shown = rendering.render_popped(popped, new_uuid(), call.engine.now(), counted=counted)
    return MessagingAnswer(HTTPStatus.OK, b'{"messages":%b}' % shown)


def get_message(call: MessagingCall) -> MessagingAnswer:
    """Answer with the message, or 404."""
    found = call.engine.messages.get(call.at, call.names[1])
    return MessagingAnswer(HTTPStatus.OK, rendering.render_message(found, call.queue_path, call.engine.now()))


def delete_message(call: MessagingCall) -> MessagingAnswer:
    """Answer 204, also for a missing message. A claimed message needs its ``claim_id``."""
    try:
        call.engine.messages.delete(call.at, call.names[1], call.text("claim_id"))
    except (ClaimNotThereError, MessageClaimedError, MessageNotClaimedError) as error:
        raise cannot_delete(error) from error
    return NO_CONTENT


def _get_page(call: MessagingCall) -> MessagingAnswer:
    try:
        found = find_page(call)
    except QueueNotThereError:
        found = []
    links = link_next_page(call, found) if found else b"[]"
    return MessagingAnswer(HTTPStatus.OK, b'{"messages":%b,"links":%b}' % (_render(call, found), links))


def _render(call: MessagingCall, found: list[Found]) -> bytes:
    return rendering.render_messages(found, call.queue_path, call.engine.now())
