"""Renders messages as JSON. Their bodies are copied byte for byte, as they were posted."""

from __future__ import annotations

from collections.abc import Iterable

from extensions.queues.engine import Found, QueuedMessage
from rdss_sandbox.text.timestamps import timestamp


def render_messages(found: Iterable[Found], queue_path: str, now: float) -> bytes:
    """``[{"id", "href", "ttl", "age", "body"}]``. The href of a claimed message names the claim."""
    return b"[" + b",".join([render_message(each, queue_path, now) for each in found]) + b"]"


def render_message(found: Found, queue_path: str, now: float) -> bytes:
    shown, claim = found
    return b'{"id":"%b","href":"%b","ttl":%d,"age":%d,"body":%b}' % (
        shown.id.encode(),
        render_href(shown, queue_path, claim),
        shown.ttl,
        shown.age(now),
        shown.body,
    )


def render_messages_v1(found: Iterable[Found], queue_path: str, now: float) -> bytes:
    """``[{"href", "ttl", "age", "body"}]``."""
    return b"[" + b",".join([render_message_v1(each, queue_path, now) for each in found]) + b"]"


def render_message_v1(found: Found, queue_path: str, now: float) -> bytes:
    shown, claim = found
    return b'{"href":"%b","ttl":%d,"age":%d,"body":%b}' % (
        render_href(shown, queue_path, claim),
        shown.ttl,
        shown.age(now),
        shown.body,
    )


def render_popped(found: Iterable[QueuedMessage], claim: str, now: float, *, counted: bool) -> bytes:
    """``[{"id", "age", "ttl", "body", "claim_id", "claim_count"}]`` of popped messages.

    ``claim`` is an id for ``claim_id``. ``claim_count`` is 0 unless the queue's claims are ``counted``.
    """
    shown = [
        b'{"id":"%b","age":%d,"ttl":%d,"body":%b,"claim_id":"%b","claim_count":%d}'
        % (
            each.id.encode(),
            each.age(now),
            each.ttl,
            each.body,
            claim.encode(),
            each.claims if counted else 0,
        )
        for each in found
    ]
    return b"[" + b",".join(shown) + b"]"


def render_milestone(found: Found, queue_path: str, now: float, *, counted: bool) -> bytes:
    """The oldest or newest message in a queue's statistics. ``counted`` is as in ``render_popped``."""
    shown, claim = found
    return b'{"age":%d,"ttl":%d,"body":%b,"claim_id":%b,"claim_count":%d,"created":"%b","href":"%b"}' % (
        shown.age(now),
        shown.ttl,
        shown.body,
        b'"%b"' % claim.encode() if claim else b"null",
        shown.claims if counted else 0,
        f"{timestamp(shown.created)[:19]}Z".encode(),
        render_href(shown, queue_path, None),
    )


def render_href(shown: QueuedMessage, queue_path: str, claim: str | None) -> bytes:
    held = f"?claim_id={claim}" if claim else ""
    return f"{queue_path}/messages/{shown.id}{held}".encode()
