"""Parses posted messages: their fields are checked, and their bodies stay the bytes that came."""

from __future__ import annotations

from typing import Any

import msgspec

from extensions.queues.engine import MessageToPost
from extensions.queues.engine.queue_errors import BadValueError, QueueNotThereError
from extensions.queues.engine.queue_metadata import MOST_BYTES
from extensions.queues.http.answers import bad_body, bad_request
from extensions.queues.http.call import MessagingCall, checked_integer
from rdss_sandbox.shapes.queue_limits import POST_BYTES


class _Item(msgspec.Struct):
    body: msgspec.Raw = msgspec.Raw()
    ttl: Any = msgspec.UNSET
    delay: Any = msgspec.UNSET


class _Document(msgspec.Struct):
    messages: list[_Item]


_decode_document = msgspec.json.Decoder(_Document).decode
_decode_array = msgspec.json.Decoder(list[_Item]).decode


def read_document(call: MessagingCall) -> list[MessageToPost]:
    """Parse ``{"messages": [{"body", "ttl", "delay"}]}``. Messages may lack ttl and delay.

    Raises ``RequestRefusedError``.
    """
    _check_size(call)
    try:
        items = _decode_document(call.body).messages if _is_utf8(call.body) else []
    except (msgspec.DecodeError, RecursionError):
        items = []
    if not items:
        document = call.json()
        if isinstance(document, dict | list) and "messages" not in document:
            raise bad_request("No messages were found in the request body.")
        if not isinstance(document, dict):
            raise bad_body("Document type not supported.")
        _refuse_array(document["messages"])
    return [
        MessageToPost(
            _require_body(item),
            None if item.ttl is msgspec.UNSET else checked_integer(item.ttl, "ttl"),
            None if item.delay is msgspec.UNSET else checked_integer(item.delay, "delay"),
        )
        for item in items
    ]


def read_array(call: MessagingCall) -> list[MessageToPost]:
    """Parse ``[{"body", "ttl"}]``, as v1 has it, with both required. Raises ``RequestRefusedError``."""
    _check_size(call)
    try:
        items = _decode_array(call.body) if _is_utf8(call.body) else []
    except (msgspec.DecodeError, RecursionError):
        items = []
    if not items:
        _refuse_array(call.json())
    return [MessageToPost(_require_body(item), checked_integer(item.ttl, "ttl"), 0) for item in items]


def _refuse_array(messages: Any) -> None:
    if messages == []:
        raise BadValueError("No messages to enqueu.")
    raise bad_body("Document type not supported.")


def _check_size(call: MessagingCall) -> None:
    if len(call.body) > POST_BYTES:
        raise bad_request(f"Message collection size is too large. Max size {POST_BYTES}")
    try:
        own = call.engine.queues.metadata(call.at).get(MOST_BYTES)
    except QueueNotThereError:
        return
    if own and len(call.body) > own:
        raise bad_request(f"Message collection size is too large. The max size for current queue is {own}.")


def _require_body(item: _Item) -> bytes:
    body = bytes(item.body)
    if not body:
        raise bad_body('Missing "body" field.')
    return body


def _is_utf8(body: bytes) -> bool:
    """Whether all of it is UTF-8. The decoder does not look into the raw bodies."""
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
