"""Entries of the audit log, in its stream or in its bucket, through the control API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from rdss_sandbox.shapes.messages import MessageDetail, MessagePage


class AuditMessages:
    """The entries in one place; its methods are those of ``Client`` for messages."""

    def __init__(
        self, ask: Callable[..., Any], export: Callable[[str, str], Iterator[bytes]], at: str
    ) -> None:
        self._ask = ask
        self._export = export
        self._at = at

    def messages(
        self, *, offset: int | None = None, after: int | None = None, limit: int = 100, matching: str = ""
    ) -> MessagePage:
        query = {"offset": offset, "after": after, "limit": limit, "filter": matching or None}
        page: MessagePage = self._ask(MessagePage, "GET", self._at, query=query)
        return page

    def message(self, row_id: int) -> MessageDetail:
        found: MessageDetail = self._ask(MessageDetail, "GET", f"{self._at}/{row_id}")
        return found

    def export(self, matching: str = "") -> Iterator[bytes]:
        return self._export(self._at, matching)


class AsyncAuditMessages:
    """``AuditMessages`` for asyncio."""

    def __init__(
        self, ask: Callable[..., Any], export: Callable[[str, str], AsyncIterator[bytes]], at: str
    ) -> None:
        self._ask = ask
        self._export = export
        self._at = at

    async def messages(
        self, *, offset: int | None = None, after: int | None = None, limit: int = 100, matching: str = ""
    ) -> MessagePage:
        query = {"offset": offset, "after": after, "limit": limit, "filter": matching or None}
        page: MessagePage = await self._ask(MessagePage, "GET", self._at, query=query)
        return page

    async def message(self, row_id: int) -> MessageDetail:
        found: MessageDetail = await self._ask(MessageDetail, "GET", f"{self._at}/{row_id}")
        return found

    def export(self, matching: str = "") -> AsyncIterator[bytes]:
        return self._export(self._at, matching)
