"""The control API of topics: list them, read their records and changes, set access and downstreams."""

from __future__ import annotations

from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

import msgspec

from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from emulator.topics.service import TopicService
from rdss_sandbox.shapes.topics import (
    OBJECTS,
    Access,
    DownstreamList,
    Topic,
    TopicChangePage,
    TopicLinkList,
    TopicList,
    TopicRecordPage,
)

if TYPE_CHECKING:
    from emulator.topics.watch import TopicWatch

_Offset = Annotated[int, msgspec.Meta(ge=0)]
_Limit = Annotated[int, msgspec.Meta(ge=0, le=1000)]


class RecordQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Query for the records of a topic; ``orderby`` is as in a ``sow`` command, ``offset`` skips records."""

    topic: str = OBJECTS
    filter: str = ""
    orderby: str = ""
    offset: _Offset = 0
    limit: _Limit = 100


class ChangeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Query for the changes with a number above ``after``, since the first query with this filter."""

    topic: str = OBJECTS
    filter: str = ""
    after: _Offset = 0
    limit: _Limit = 100


class TopicResources:
    """The resources under ``/topics``."""

    def __init__(self, service: TopicService) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        point = "Say which sandboxes are downstream"
        records, changes = "The records of a topic", "What changed in a topic since somebody asked"
        return [
            Route("GET", "/topics", "The topics", self._list, TopicList),
            Route("GET", "/topics/records", records, self._records, TopicRecordPage, RecordQuery),
            Route("GET", "/topics/changes", changes, self._changes, TopicChangePage, ChangeQuery),
            Route("GET", "/topics/access", "Who may do what with which topic", self._access, Access),
            Route("PUT", "/topics/access", "Say who may do what", self._entitle, Access, body=Access),
            Route("GET", "/topics/downstreams", "The sandboxes downstream", self._links, TopicLinkList),
            Route("PUT", "/topics/downstreams", point, self._point, TopicLinkList, body=DownstreamList),
        ]

    def _list(self, _: Asked[Nothing, None]) -> TopicList:
        self._service.catch_up()
        found = (msgspec.structs.asdict(topic) for topic in self._service.open().summaries())
        return TopicList(tuple(sorted((Topic(**topic) for topic in found), key=lambda topic: topic.name)))

    def _records(self, asked: Asked[RecordQuery, None]) -> TopicRecordPage:
        query = asked.query
        if query.topic == OBJECTS:
            self._service.catch_up()
        from emulator.topics.record_pages import found

        try:
            return found(
                self._service.open(),
                query.topic,
                query.filter,
                orderby=query.orderby,
                offset=query.offset,
                limit=query.limit,
            )
        except ValueError as error:
            raise _refused(error) from error

    def _changes(self, asked: Asked[ChangeQuery, None]) -> TopicChangePage:
        query = asked.query
        if query.topic == OBJECTS:
            self._service.catch_up()
        try:
            return self._watch.changes(query.topic, query.filter, query.after, query.limit)
        except ValueError as error:
            raise _refused(error) from error

    def _access(self, _: Asked[Nothing, None]) -> Access:
        return self._service.access

    def _entitle(self, asked: Asked[Nothing, Access]) -> Access:
        try:
            self._service.entitle(asked.body)
        except ValueError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_entitlement", str(error)) from error
        return self._service.access

    def _links(self, _: Asked[Nothing, None]) -> TopicLinkList:
        return TopicLinkList(tuple(self._service.open().replication.links()))

    def _point(self, asked: Asked[Nothing, DownstreamList]) -> TopicLinkList:
        try:
            self._service.point(asked.body.downstreams)
        except ValueError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_downstream", str(error)) from error
        return TopicLinkList(tuple(self._service.open().replication.links()))

    @cached_property
    def _watch(self) -> TopicWatch:
        from emulator.topics.watch import TopicWatch

        return TopicWatch(self._service)


def _refused(error: ValueError) -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, "bad_topic_query", str(error))
