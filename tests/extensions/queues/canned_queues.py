"""A canned sandbox with queues."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.queues import Claim, Queue, QueueList, QueueMessage, QueueMessagePage
from tests.tui.canned import Canned


def message(number: int, claim: str | None = None) -> QueueMessage:
    id_ = f"{number:08x}-7f2a-4c1e-9b3d-2f6a8c0d1e4f"
    body = {"messageHeader": {"messageId": id_, "errorCode": "GENERR005"}, "messageBody": {"n": number}}
    return QueueMessage(
        id=f"q{number}",
        number=number,
        age=60.0 * number,
        left=86_400 - 60.0 * number,
        size=900 + 311 * number,
        claim=claim,
        claims=1 if claim else 0,
        message_id=id_,
        message_type="MetadataCreate",
        code="GENERR005",
        body=msgspec.Raw(json.dumps(body).encode()),
    )


class CannedQueues:
    """Answers as ``AsyncQueues`` does."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[str, float, list[int]]] = {
            "claim-of-anna": ("anna", 290.0, [1, 2, 3]),
            "claim-of-ben": ("ben", 20.0, [4]),
        }
        self.trouble: tuple[str, ...] = ()

    def _holder(self, number: int) -> str | None:
        return next((claim for claim, (_, _, held) in self.held.items() if number in held), None)

    async def list(self) -> QueueList:
        claimed = sum(len(held) for _, _, held in self.held.values())
        error = Queue("rdss", "error", True, 12, claimed, 12 - claimed, len(self.held), 1, 1.0)
        orders = Queue("shop", "orders", False, 2, 0, 2, 0, 0, 1.0)
        return QueueList((error, orders), self.trouble)

    async def messages(
        self, project: str, queue: str, *, after: int = 0, limit: int = 100
    ) -> QueueMessagePage:
        count = 12 if (project, queue) == ("rdss", "error") else 2
        holder: Any = self._holder if count == 12 else lambda _: None
        found = [message(n, holder(n)) for n in range(1, count + 1) if n > after]
        return QueueMessagePage(tuple(found[:limit]))

    async def claims(self, project: str, queue: str) -> tuple[Claim, ...]:
        if (project, queue) != ("rdss", "error"):
            return ()
        return tuple(
            Claim(id_, who, 300, 60, 300 - left, left, tuple(message(n, id_) for n in numbers))
            for id_, (who, left, numbers) in self.held.items()
        )

    async def release(self, project: str, queue: str, claim: str) -> bool:
        if claim == "refused":
            raise RefusedError(404, "not_found", "no such queue")
        return self.held.pop(claim, None) is not None


class CannedWithQueues(Canned):
    """A canned sandbox in front of ``queues``."""

    def __init__(self) -> None:
        super().__init__()
        self.queues = CannedQueues()
