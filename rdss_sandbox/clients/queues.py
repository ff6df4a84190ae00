"""Queues, their messages and claims, through the control API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from rdss_sandbox.shapes.queues import (
    Claim,
    ClaimList,
    ClaimRenewal,
    MessageDeleted,
    NewClaim,
    QueueList,
    QueueMessagePage,
    Released,
)


class Queues:
    """The queues of every project; methods raise as those of ``Client``."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def list(self) -> QueueList:
        found: QueueList = self._ask(QueueList, "GET", "/queues")
        return found

    def messages(self, project: str, queue: str, *, after: int = 0, limit: int = 100) -> QueueMessagePage:
        """Up to ``limit`` messages with a number above ``after``, claimed or not, oldest first."""
        query = {"after": after, "limit": limit}
        page: QueueMessagePage = self._ask(
            QueueMessagePage, "GET", _path(project, queue, "messages"), query=query
        )
        return page

    def claims(self, project: str, queue: str) -> tuple[Claim, ...]:
        """The claims that hold at least one message."""
        found: ClaimList = self._ask(ClaimList, "GET", _path(project, queue, "claims"))
        return found.claims

    def claim(self, project: str, queue: str, new: NewClaim) -> Claim | None:
        """Claim messages. Returns None when no message is free."""
        made: ClaimList = self._ask(ClaimList, "POST", _path(project, queue, "claims"), body=new)
        return made.claims[0] if made.claims else None

    def renew(self, project: str, queue: str, claim: str, change: ClaimRenewal) -> Claim:
        """Restart the claim's time to live."""
        renewed: Claim = self._ask(Claim, "PATCH", _path(project, queue, "claims", claim), body=change)
        return renewed

    def release(self, project: str, queue: str, claim: str) -> bool:
        """Release the messages of a claim. Returns False when there is no such claim."""
        answer: Released = self._ask(Released, "DELETE", _path(project, queue, "claims", claim))
        return answer.released

    def delete(self, project: str, queue: str, message: str, claim: str | None = None) -> None:
        """Delete a message. A claimed one needs the id of its ``claim``."""
        path = _path(project, queue, "messages", message)
        self._ask(MessageDeleted, "DELETE", path, query={"claim": claim})


class AsyncQueues:
    """The methods of ``Queues`` that the TUI uses, for asyncio."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    async def list(self) -> QueueList:
        found: QueueList = await self._ask(QueueList, "GET", "/queues")
        return found

    async def messages(
        self, project: str, queue: str, *, after: int = 0, limit: int = 100
    ) -> QueueMessagePage:
        query = {"after": after, "limit": limit}
        page: QueueMessagePage = await self._ask(
            QueueMessagePage, "GET", _path(project, queue, "messages"), query=query
        )
        return page

    async def claims(self, project: str, queue: str) -> tuple[Claim, ...]:
        found: ClaimList = await self._ask(ClaimList, "GET", _path(project, queue, "claims"))
        return found.claims

    async def release(self, project: str, queue: str, claim: str) -> bool:
        answer: Released = await self._ask(Released, "DELETE", _path(project, queue, "claims", claim))
        return answer.released


def _path(*segments: str) -> str:
    return "/queues/" + "/".join(quote(segment, safe="") for segment in segments)
