"""Claims in v1.1 and v2: create, get, renew, release."""

from __future__ import annotations

from http import HTTPStatus

from extensions.queues.engine import Found, Held
from extensions.queues.http import rendering
from extensions.queues.http.answers import NO_CONTENT, MessagingAnswer, answer_location
from extensions.queues.http.call import MessagingCall, field
from rdss_sandbox.shapes.queue_limits import DEFAULT_CLAIM_GRACE, DEFAULT_CLAIM_TTL, DEFAULT_CLAIMED


def post_claim(call: MessagingCall) -> MessagingAnswer:
    """Answer 201 with the claimed messages, or 204 when there were none."""
    document = call.document_or_empty()
    held = create_claim(
        call,
        ttl=field(document, "ttl", DEFAULT_CLAIM_TTL),
        grace=field(document, "grace", DEFAULT_CLAIM_GRACE),
    )
    if held is None:
        return NO_CONTENT
    messages = rendering.render_messages(_list_found(held), call.queue_path, call.engine.now())
    return answer_location(HTTPStatus.CREATED, f"{call.path}/{held.claim.id}", b'{"messages":%b}' % messages)


def create_claim(call: MessagingCall, *, ttl: int, grace: int) -> Held | None:
    """Create the requested claim. Raises ``BadValueError`` and ``RequestRefusedError``."""
    limit = call.integer("limit", DEFAULT_CLAIMED)
    return call.engine.claims.create(call.at, ttl=ttl, grace=grace, limit=limit, client=call.client)


def get_claim(call: MessagingCall) -> MessagingAnswer:
    """Answer with the claim's age and ttl, and the messages that it still holds."""
    held = call.engine.claims.get(call.at, call.names[1])
    now = call.engine.now()
    return MessagingAnswer(
        HTTPStatus.OK,
        render_claim(call, held, rendering.render_messages(_list_found(held), call.queue_path, now)),
    )


def render_claim(call: MessagingCall, held: Held, messages: bytes) -> bytes:
    age = held.claim.age(call.engine.now())
    return b'{"age":%d,"ttl":%d,"messages":%b,"href":"%b"}' % (
        age,
        held.claim.ttl,
        messages,
        call.path.encode(),
    )


def patch_claim(call: MessagingCall) -> MessagingAnswer:
    """Renew the claim, so that its age starts at 0."""
    document = call.document()
    ttl = field(document, "ttl", DEFAULT_CLAIM_TTL)
    grace = field(document, "grace", DEFAULT_CLAIM_GRACE)
    call.engine.claims.renew(call.at, call.names[1], ttl=ttl, grace=grace)
    return NO_CONTENT


def delete_claim(call: MessagingCall) -> MessagingAnswer:
    """Release the claim. Answer 204, also for a missing one."""
    call.engine.claims.release(call.at, call.names[1])
    return NO_CONTENT


def _list_found(held: Held) -> list[Found]:
    return [Found(message, held.claim.id) for message in held.messages]
