"""How many messages a client's request or bytes bring, for the limit of messages a second."""

from __future__ import annotations

from typing import Final

from emulator.amqp.wire.frames import HEAD, METHOD, OVERHEAD, PAYLOAD_AT
from emulator.amqp.wire.methods import IDS, BasicPublish

_SEVERAL: Final = {
    b"PutRecords": b'"PartitionKey"',
    b"SendMessageBatch": b'"MessageBody"',
    b"PublishBatch": b'"Message"',
    b"BatchWriteItem": b'Request"',
    b"TransactWriteItems": b'"TableName"',
}
"""What each message of a call has once in the JSON of a body."""
_ONE: Final = frozenset(
    {b"PutRecord", b"SendMessage", b"Publish", b"PutItem", b"UpdateItem", b"DeleteItem", b"PutEvents"}
)
_ACTION: Final = b"Action="
_PUBLISH: Final = IDS[BasicPublish].to_bytes(4, "big")
_METHOD_BYTES: Final = PAYLOAD_AT + len(_PUBLISH)
"""Of a frame, until it is known which method it has."""


def count_messages(operation: bytes, body: bytes) -> int:
    """How many messages a call of AWS writes; 0 for one that writes none."""
    if operation in _ONE:
        return 1
    mark = _SEVERAL.get(operation)
    return 0 if mark is None else body.count(mark) or 1


def read_operation(target: bytes, body: bytes) -> bytes:
    """The operation of a call, by its header ``X-Amz-Target`` or the form in its body; empty for neither."""
    if target:
        return target.rpartition(b".")[2]
    at = body.find(_ACTION, 0, 2000)
    return body[at + len(_ACTION) :].partition(b"&")[0] if at >= 0 else b""


class PublishCount:
    """Counts the publishes in a stream of frames, without looking into them.

    ``boundary`` is where in the last bytes a frame ended last: between them something else may be said; None
    where none did.
    """

    def __init__(self) -> None:
        self._unread = b""
        self._skipped = 0
        self.boundary: int | None = None

    @property
    def is_between_frames(self) -> bool:
        """Whether no frame has begun and not ended."""
        return not self._unread and not self._skipped

    def count(self, data: bytes) -> int:
        """How many begin in what comes next."""
        first, before = self._skipped, len(self._unread)
        if first > len(data):
            self._skipped -= len(data)
            self.boundary = None
            return 0
        data = self._unread + data[first:]
        at, ended, end, found = 0, 0, len(data), 0
        while end - at >= HEAD.size:
            kind, _, size = HEAD.unpack_from(data, at)
            if kind == METHOD:
                if end - at < _METHOD_BYTES:
                    break
                found += data.startswith(_PUBLISH, at + PAYLOAD_AT)
            at += size + OVERHEAD
            ended = at if at <= end else ended
        self._unread, self._skipped = data[at:], max(0, at - end)
        boundary = ended - before + first
        self.boundary = boundary if boundary >= 0 else None
        return found
