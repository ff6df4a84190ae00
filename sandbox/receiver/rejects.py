"""Moving a message that cannot be processed to the queue of its error code, with nothing of it lost.

Specification, Error Queues: decorated with errorCode and errorDescription
before it is dispatched. What the decorated message cannot hold within the size
limit is kept whole in the queue's bucket, and the message says where.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TypeAlias

from emulator.clock import Clock
from sandbox.gateway import Gateway, Machine
from sandbox.receiver.originals import Originals
from schemas.decoration import decorate
from schemas.envelope import oversize, serialise
from schemas.error_codes import ErrorCode, Queue
from schemas.peek import peek

LONGEST_DESCRIPTION = 4_000
"""Characters of an errorDescription: enough to say why, and never what makes a message too large."""

Rejected: TypeAlias = Callable[[bytes, ErrorCode, str], None]
"""Is told of every message that goes to a queue, and why, in the transaction that writes it down."""

_LOG = logging.getLogger(__name__)


class Rejects:
    """The way to the error and invalid queues, and to the bucket of each."""

    def __init__(
        self,
        gateways: Mapping[Queue, Gateway],
        buckets: Mapping[Queue, str],
        originals: Originals,
        clock: Clock,
        machine: Machine,
        *,
        rejected: Rejected = lambda _data, _code, _why: None,
    ) -> None:
        self._gateways = gateways
        self._buckets = buckets
        self._originals = originals
        self._clock = clock
        self._machine = machine
        self._rejected = rejected

    def keep(self, data: bytes, code: ErrorCode, description: str) -> None:
        """Write the decorated message down, within the open transaction, for ``flush`` to dispatch."""
        _LOG.warning("%s: %s", code, description)
        self._gateways[code.queue].keep([self._decorated(data, code, description)])
        self._rejected(data, code, description)

    def flush(self) -> None:
        """Dispatch what was kept, also by an earlier process. Raises ``SendFailedError``."""
        for gateway in self._gateways.values():
            gateway.flush()

    def _decorated(self, data: bytes, code: ErrorCode, description: str) -> bytes:
        description = description[:LONGEST_DESCRIPTION]
        if not oversize(data) and not oversize(whole := self._decorate(data, code, description)):
            return whole
        digest = sha256(data).hexdigest()
        original = self._originals.keep(self._buckets[code.queue], f"originals/{digest}", data)
        decorated = self._decorate(data, code, description, original)
        if oversize(decorated):
            decorated = self._decorate(_outline(data, original, digest), code, description)
        return decorated

    def _decorate(self, data: bytes, code: ErrorCode, description: str, original: str | None = None) -> bytes:
        return decorate(
            data,
            code,
            description,
            now=self._clock.time(),
            machine_id=self._machine.id,
            machine_address=self._machine.address,
            original=original,
        )


def _outline(data: bytes, original: str, digest: str) -> bytes:
    """A message whose very header is too large: what identifies it, and where it is."""
    seen = peek(data)
    header = {
        "messageId": seen.message_id,
        "messageClass": seen.message_class,
        "messageType": seen.message_type,
    }
    known = {name: text[:200] for name, text in header.items() if text}
    reference = {"original": original, "bytes": len(data), "sha256": digest}
    return serialise({"messageHeader": known, "messageBody": reference})
