"""Topics for those who look at them: which there are, their records, what changes in them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Final

import msgspec

from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from emulator.topic_configuration import OBJECTS, OURS
from emulator.topic_resources import Topic, TopicChangePage, TopicList, TopicRecord, TopicRecordPage
from emulator.topic_service import TopicService
from emulator.topic_watch import TopicWatch
from emulator.topics.commands import Sow
from emulator.topics.messages import Ack, Message, SowMessage

_BATCH: Final = 100
_Offset = Annotated[int, msgspec.Meta(ge=0)]
_Limit = Annotated[int, msgspec.Meta(ge=0, le=1000)]


class RecordQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Records of a topic that match a filter, from the ``offset``-th; ``orderby`` as in a ``sow`` command."""

    topic: str = OBJECTS
    filter: str = ""
    orderby: str = ""
    offset: _Offset = 0
    limit: _Limit = 100


class ChangeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Changes numbered above ``after`` that a subscription with this filter got since it was first asked."""

    topic: str = OBJECTS
    filter: str = ""
    after: _Offset = 0
    limit: _Limit = 100


class TopicResources:
    """``/topics``."""

    def __init__(self, service: TopicService) -> None:
        self._service = service
        self._watch = TopicWatch(lambda deliver: service.session(OURS, deliver), service.clock)

    def routes(self) -> list[Route]:
        records, changes = "The records of a topic", "What changed in a topic since somebody asked"
        return [
            Route("GET", "/topics", "The topics", self._list, TopicList),
            Route("GET", "/topics/records", records, self._records, TopicRecordPage, RecordQuery),
            Route("GET", "/topics/changes", changes, self._changes, TopicChangePage, ChangeQuery),
        ]

    def _list(self, _: Asked[Nothing, None]) -> TopicList:
        self._service.catch_up()
        found = (msgspec.structs.asdict(topic) for topic in self._service.open().summaries())
        return TopicList(tuple(sorted((Topic(**topic) for topic in found), key=lambda topic: topic.name)))

    def _records(self, asked: Asked[RecordQuery, None]) -> TopicRecordPage:
        query = asked.query
        if query.topic == OBJECTS:
            self._service.catch_up()
        found: list[Message] = []
        session = self._service.open().session(OURS, found.append)
        try:
            session.execute(_sow(query))
        finally:
            session.close()
        return _page(found)

    def _changes(self, asked: Asked[ChangeQuery, None]) -> TopicChangePage:
        query = asked.query
        if query.topic == OBJECTS:
            self._service.catch_up()
        try:
            return self._watch.changes(query.topic, query.filter, query.after, query.limit)
        except ValueError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_topic_query", str(error)) from error


def _sow(query: RecordQuery) -> Sow:
    return Sow(
        topic=query.topic,
        filter=query.filter,
        orderby=query.orderby,
        top_n=query.limit,
        batch_size=_BATCH,
        query_id="records",
        opts=f"skip_n={query.offset}" if query.offset else "",
        ack_type="processed,stats",
    )


def _page(messages: list[Message]) -> TopicRecordPage:
    """The records in the answer to a query, which says how many there are in all. Raises ApiError."""
    total, records = 0, []
    for message in messages:
        match message:
            case Ack(status="failure", reason=reason):
                raise ApiError(HTTPStatus.BAD_REQUEST, "bad_topic_query", reason)
            case Ack(ack_type="stats", matches=int(matches)):
                total = matches
            case SowMessage(data=found):
                records += [
                    TopicRecord(each.sow_key, each.data, each.correlation_id or None) for each in found
                ]
    return TopicRecordPage(tuple(records), total)
