"""How many messages a client's request or bytes bring, for the limit of messages a second."""

from __future__ import annotations

from struct import Struct
from typing import Final

from emulator.amqp.wire.frames import METHOD, OVERHEAD
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
_METHOD_HEAD: Final = Struct(">BHII")
"""The type, the channel and the bytes of a frame, and the method that it begins with if it has one."""
_PUBLISH: Final = IDS[BasicPublish]


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
    """Counts the publishes in a stream of frames, without looking into them."""

    def __init__(self) -> None:
        self._unread = b""
        self._skipped = 0

    def count(self, data: bytes) -> int:
        """How many begin in what comes next."""
        if self._skipped >= len(data):
            self._skipped -= len(data)
            return 0
        data = self._unread + data[self._skipped :]
        at, end, found = 0, len(data), 0
        while end - at >= _METHOD_HEAD.size:
            kind, _, size, method = _METHOD_HEAD.unpack_from(data, at)
            found += kind == METHOD and method == _PUBLISH
            at += size + OVERHEAD
        self._unread, self._skipped = data[at:], max(0, at - end)
        return found
