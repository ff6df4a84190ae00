"""Topics, their records and changes, through the control API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdss_sandbox.shapes.topics import (
    Access,
    Downstream,
    DownstreamList,
    Topic,
    TopicChangePage,
    TopicLink,
    TopicLinkList,
    TopicList,
    TopicRecordPage,
)


class TopicViews:
    """The topics, their records and changes, and the entitlements; methods raise as those of ``Client``."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def list(self) -> tuple[Topic, ...]:
        found: TopicList = self._ask(TopicList, "GET", "/topics")
        return found.topics

    def records(
        self, topic: str, *, matching: str = "", orderby: str = "", offset: int = 0, limit: int = 100
    ) -> TopicRecordPage:
        """Up to ``limit`` records that match a topic filter, from ``offset`` on."""
        page: TopicRecordPage = self._ask(
            TopicRecordPage, "GET", "/topics/records", query=_records(topic, matching, orderby, offset, limit)
        )
        return page

    def changes(self, topic: str, *, matching: str = "", after: int = 0, limit: int = 100) -> TopicChangePage:
        """Up to ``limit`` changes with an id above ``after``. Changes are kept from the first call on."""
        page: TopicChangePage = self._ask(
            TopicChangePage, "GET", "/topics/changes", query=_changes(topic, matching, after, limit)
        )
        return page

    def access(self) -> Access:
        """The entitlements: who may read and write which topic."""
        found: Access = self._ask(Access, "GET", "/topics/access")
        return found

    def entitle(self, access: Access) -> Access:
        """Replace the entitlements. Records that a subscriber may no longer see leave its subscription."""
        settled: Access = self._ask(Access, "PUT", "/topics/access", body=access)
        return settled

    def downstreams(self) -> tuple[TopicLink, ...]:
        """The sandboxes that topics go on to, as they stand."""
        found: TopicLinkList = self._ask(TopicLinkList, "GET", "/topics/downstreams")
        return found.downstreams

    def point(self, *downstreams: Downstream) -> tuple[TopicLink, ...]:
        """Have these be the sandboxes that topics can name, until a reset."""
        found: TopicLinkList = self._ask(
            TopicLinkList, "PUT", "/topics/downstreams", body=DownstreamList(downstreams)
        )
        return found.downstreams


class AsyncTopicViews:
    """``TopicViews`` for asyncio."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    async def list(self) -> tuple[Topic, ...]:
        found: TopicList = await self._ask(TopicList, "GET", "/topics")
        return found.topics

    async def records(
        self, topic: str, *, matching: str = "", orderby: str = "", offset: int = 0, limit: int = 100
    ) -> TopicRecordPage:
        page: TopicRecordPage = await self._ask(
            TopicRecordPage, "GET", "/topics/records", query=_records(topic, matching, orderby, offset, limit)
        )
        return page

    async def changes(
        self, topic: str, *, matching: str = "", after: int = 0, limit: int = 100
    ) -> TopicChangePage:
        page: TopicChangePage = await self._ask(
            TopicChangePage, "GET", "/topics/changes", query=_changes(topic, matching, after, limit)
        )
        return page

    async def access(self) -> Access:
        found: Access = await self._ask(Access, "GET", "/topics/access")
        return found

    async def entitle(self, access: Access) -> Access:
        settled: Access = await self._ask(Access, "PUT", "/topics/access", body=access)
        return settled

    async def downstreams(self) -> tuple[TopicLink, ...]:
        found: TopicLinkList = await self._ask(TopicLinkList, "GET", "/topics/downstreams")
        return found.downstreams

    async def point(self, *downstreams: Downstream) -> tuple[TopicLink, ...]:
        found: TopicLinkList = await self._ask(
            TopicLinkList, "PUT", "/topics/downstreams", body=DownstreamList(downstreams)
        )
        return found.downstreams


def _records(topic: str, matching: str, orderby: str, offset: int, limit: int) -> dict[str, Any]:
    return {"topic": topic, "filter": matching, "orderby": orderby, "offset": offset, "limit": limit}


def _changes(topic: str, matching: str, after: int, limit: int) -> dict[str, Any]:
    return {"topic": topic, "filter": matching, "after": after, "limit": limit}
