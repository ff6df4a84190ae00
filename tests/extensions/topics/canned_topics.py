"""A canned sandbox with topics."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from emulator.filters import FilterSyntaxError, compile_filter
from rdss_sandbox.client import RefusedError
from rdss_sandbox.shapes.topics import Topic, TopicChange, TopicChangePage, TopicRecord, TopicRecordPage
from tests.tui.canned import NOON, Canned

TITLES = ("Fish of the Clyde", "Glacier retreat in the Cairngorms", "Ethics of \\ in regular expressions")


def record(number: int) -> dict[str, Any]:
    return {
        "objectUUID": f"{number:08x}-7f2a-4c1e-9b3d-2f6a8c0d1e4f",
        "objectTitle": f"{TITLES[number % 3]}, {number}",
        "objectVersion": number % 4,
        "objectKeywordArray": ["fish"],
    }


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


class CannedTopics:
    """Answers as ``AsyncClient.topics`` does; ``tell`` adds a change."""

    def __init__(self) -> None:
        self.held = [record(number) for number in range(12)]
        self.told: list[TopicChange] = []
        self.asked: list[tuple[str, str]] = []

    def tell(self, number: int, reason: Any = None) -> None:
        self.told.append(
            TopicChange(
                id=len(self.told) + 1,
                time=NOON + len(self.told),
                cmd="oof" if reason else "publish",
                topic="objects",
                sow_key=f"k{number}",
                data=raw(record(number)),
                reason=reason,
                user_id=None if reason else "sandbox",
            )
        )

    async def list(self) -> tuple[Topic, ...]:
        return (
            Topic("alerts", "", None, 2, logged=False),
            Topic("objects", "topic", len(self.held), 3, logged=True),
            Topic("orders", "queue", 4, 1, logged=True),
        )

    async def records(
        self, topic: str, *, matching: str = "", orderby: str = "", offset: int = 0, limit: int = 100
    ) -> TopicRecordPage:
        self.asked.append((topic, matching))
        try:
            holds = compile_filter(matching or "1=1")
        except FilterSyntaxError as error:
            raise RefusedError(400, "bad_topic_query", str(error)) from error
        of = self.held if topic == "objects" else []
        found = tuple(TopicRecord(f"k{at}", raw(each)) for at, each in enumerate(of) if holds(each))
        return TopicRecordPage(found[offset : offset + limit], len(found))

    async def changes(
        self, topic: str, *, matching: str = "", after: int = 0, limit: int = 100
    ) -> TopicChangePage:
        told = self.told if topic == "objects" else []
        return TopicChangePage(tuple(each for each in told if each.id > after)[:limit], len(told))


class CannedWithTopics(Canned):
    """A canned sandbox in front of ``topics``."""

    def __init__(self) -> None:
        super().__init__()
        self.topics = CannedTopics()
