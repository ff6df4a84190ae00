"""Pages of the records of a topic, for the control API."""

from __future__ import annotations

from typing import Final

from extensions.topics.engine.commands import Sow
from extensions.topics.engine.outgoing_messages import Ack, Message, SowMessage
from extensions.topics.engine.topics_engine import TopicsEngine
from rdss_sandbox.shapes.topics import OURS, TopicRecord, TopicRecordPage

_BATCH: Final = 100


def find_page(
    topics: TopicsEngine, topic: str, filter_: str, *, orderby: str, offset: int, limit: int
) -> TopicRecordPage:
    """Read up to ``limit`` matching records behind ``offset`` others. Raises ValueError for a bad query."""
    messages: list[Message] = []
    session = topics.session(OURS, messages.append)
    query = Sow(
        topic=topic,
        filter=filter_,
        orderby=orderby,
        top_n=limit,
        batch_size=_BATCH,
        query_id="records",
        opts=f"skip_n={offset}" if offset else "",
        ack_type="processed,stats",
    )
    try:
        session.execute(query)
    finally:
        session.close()
    return _build_page(messages)


def _build_page(messages: list[Message]) -> TopicRecordPage:
    """Build a page from the answer to a query; its ``stats`` ack has the total number."""
    total, records = 0, []
    for message in messages:
        match message:
            case Ack(status="failure", reason=reason):
                raise ValueError(reason)
            case Ack(ack_type="stats", matches=int(matches)):
                total = matches
            case SowMessage(data=batch):
                records += [
                    TopicRecord(each.sow_key, each.data, each.correlation_id or None) for each in batch
                ]
    return TopicRecordPage(tuple(records), total)
