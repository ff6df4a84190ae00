"""Moving a message that cannot be processed to the queue of its error code, without loss.

The message is decorated with its code and the reason. When the decorated message would
be oversize, the original is stored in the queue's bucket and the message names its address.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from typing import TypeAlias

from emulator.clock import Clock
from sandbox.gateway import Gateway, Machine
from sandbox.receiver.originals import Originals
from schemas.bound import CONTRACT
from schemas.contract import LONGEST_WHY, Code, Contract

Rejected: TypeAlias = Callable[[bytes, Code, str], None]
"""Is told of every message that goes to a queue, and why, in the transaction that writes it down."""

_LOG = logging.getLogger(__name__)


class Rejects:
    """Dispatches rejected messages to the error and invalid queues and stores originals in their buckets.

    What goes to an ``absent`` queue is only recorded: a later process that finds the queue dispatches it.
    """

    def __init__(
        self,
        gateways: Mapping[str, Gateway],
        buckets: Mapping[str, str],
        originals: Originals,
        clock: Clock,
        machine: Machine,
        *,
        contract: Contract = CONTRACT,
        rejected: Rejected = lambda _data, _code, _why: None,
        absent: Collection[str] = (),
    ) -> None:
        self._gateways = gateways
        self._present = [gateway for queue, gateway in gateways.items() if queue not in absent]
        self._buckets = buckets
        self._originals = originals
        self._clock = clock
        self._machine = machine
        self._contract = contract
        self._rejected = rejected
        # An earlier process may have kept some that it did not dispatch.
        self._kept = True

    def keep(self, data: bytes, code: Code, description: str, *, key: str = "") -> None:
        """Record the decorated message in the open transaction; ``flush`` dispatches it.

        ``key`` is what its transport knows it by.
        """
        name = self._contract.peek(data, key).message_id or "a message without an id"
        _LOG.warning("%s: %s goes to the %s queue: %s", code, name, code.queue, description)
        self._kept = True
        self._gateways[code.queue].keep([self._decorate_within_limit(data, code, description)], key)
        self._rejected(data, code, description)

    def flush(self) -> None:
        """Dispatch the recorded messages, also of earlier processes. Raises as ``Gateway.flush``."""
        if not self._kept:
            return
        self._kept = False  # before the queues are asked: another thread may keep one meanwhile
        try:
            for gateway in self._present:
                gateway.flush()
        except BaseException:
            self._kept = True
            raise

    def _decorate_within_limit(self, data: bytes, code: Code, description: str) -> bytes:
        description = description[:LONGEST_WHY]
        most = self._contract.max_bytes
        if len(data) <= most and len(whole := self._decorate(data, code, description)) <= most:
            return whole
        key = f"originals/{sha256(data).hexdigest()}"
        return self._decorate(
            data, code, description, self._originals.keep(self._buckets[code.queue], key, data)
        )

    def _decorate(self, data: bytes, code: Code, description: str, original: str | None = None) -> bytes:
        return self._contract.decorate(
            data,
            code,
            description,
            now=self._clock.time(),
            machine_id=self._machine.id,
            machine_address=self._machine.address,
            original=original,
        )
