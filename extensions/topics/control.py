"""The control API of topics: list them, read their records and changes, set access and downstreams."""

from __future__ import annotations

from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING

from emulator.listeners.control.endpoint_routing import handles, translate_errors
from extensions.topics.topics_service import TopicService
from rdss_sandbox.api.topics import Topics
from rdss_sandbox.shapes.topics import (
    OBJECTS,
    Access,
    DownstreamList,
    TopicChangePage,
    TopicLinkList,
    TopicList,
    TopicRecordPage,
)

if TYPE_CHECKING:
    from extensions.topics.watch import TopicWatch


class TopicResources:
    """The resources under ``/topics``."""

    def __init__(self, service: TopicService) -> None:
        self._service = service

    @handles(Topics.list)
    def list(self) -> TopicList:
        self._service.catch_up()
        return TopicList(tuple(self._service.open().summaries()))

    @handles(Topics.records)
    def records(self, topic: str, *, matching: str, orderby: str, offset: int, limit: int) -> TopicRecordPage:
        if topic == OBJECTS:
            self._service.catch_up()
        from extensions.topics.record_pages import find_page

        with translate_errors((ValueError, HTTPStatus.BAD_REQUEST, "bad_topic_query")):
            return find_page(
                self._service.open(), topic, matching, orderby=orderby, offset=offset, limit=limit
            )

    @handles(Topics.changes)
    def changes(self, topic: str, *, matching: str, after: int, limit: int) -> TopicChangePage:
        if topic == OBJECTS:
            self._service.catch_up()
        with translate_errors((ValueError, HTTPStatus.BAD_REQUEST, "bad_topic_query")):
            return self._watch.changes(topic, matching, after, limit)

    @handles(Topics.access)
    def access(self) -> Access:
        return self._service.access

    @handles(Topics.entitle)
    def entitle(self, access: Access) -> Access:
        with translate_errors((ValueError, HTTPStatus.BAD_REQUEST, "bad_entitlement")):
            self._service.entitle(access)
        return self._service.access

    @handles(Topics.downstreams)
    def downstreams(self) -> TopicLinkList:
        return TopicLinkList(tuple(self._service.open().replication.links()))

    @handles(Topics.point)
    def point(self, downstreams: DownstreamList) -> TopicLinkList:
        with translate_errors((ValueError, HTTPStatus.BAD_REQUEST, "bad_downstream")):
            self._service.point(downstreams.downstreams)
        return TopicLinkList(tuple(self._service.open().replication.links()))

    @cached_property
    def _watch(self) -> TopicWatch:
        from extensions.topics.watch import TopicWatch

        return TopicWatch(self._service)
