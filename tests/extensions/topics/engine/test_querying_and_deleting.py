"""Queries and deletions beyond what the two texts say of messages."""

from __future__ import annotations

from typing import Any

import pytest

from extensions.topics.engine.commands import Command, Publish, Sow, SowAndSubscribe, SowDelete, Subscribe
from extensions.topics.engine.outgoing_messages import Ack, GroupBegin, GroupEnd, SowMessage
from extensions.topics.engine.topic_definitions import ConflatedTopic, Topic, View
from extensions.topics.engine.topics_engine import TopicsEngine
from rdss_sandbox.shapes.topics import Access, Entitlement
from tests.extensions.topics.engine.topics_world import Client, World, raw

SOW = Topic(name="objects", keys=("/id",), logged=True)
GIVEN = Topic(name="given", keys="publisher")


def filled(world: World, *more: Any, access: Access | None = None) -> TopicsEngine:
    """Five objects whose size is ten times their id."""
    topics = world.topics(SOW, GIVEN, *more, **({} if access is None else {"access": access}))
    ann = Client(topics, "ann")
    for number in range(1, 6):
        ann.do(Publish("objects", raw(id=number, size=10 * number)))
    return topics


def ids(client: Client) -> list[int]:
    return [record["id"] for record in client.records]


def test_top_n_and_skip_n_cut_the_ordered_result(world: World) -> None:
    """The two biggest; the next two; none at all, but the counts of ``stats``."""
    topics = filled(world)
    for query, expected in (
        ({"top_n": 2}, [5, 4]),
        ({"top_n": 2, "opts": "skip_n=2"}, [3, 2]),
        ({"opts": "skip_n=4"}, [1]),
        ({"top_n": 0}, []),
    ):
        bob = Client(topics, "bob")
        bob.do(Sow("objects", filter="/size > 5", orderby="/size DESC", ack_type="stats", **query))
        assert ids(bob) == expected
        stats = bob.ack("stats")
        assert (stats.topic_matches, stats.matches, stats.records_returned) == (5, 5, len(expected))


def test_a_query_is_bracketed_even_when_it_finds_nothing(world: World) -> None:
    """Begin and end come with the query's id, and no batch between them."""
    bob = Client(filled(world), "bob")
    got = bob.do(Sow("objects", filter="/id = 99", query_id="q"))
    assert got == [GroupBegin("q"), GroupEnd("q")]


def test_a_query_of_a_pattern_answers_topic_by_topic(world: World) -> None:
    """Each message has the records of one topic, whatever the size of the batches."""
    topics = filled(world)
    Client(topics, "ann").do(Publish("given", raw(id=9), sow_key="nine"))
    bob = Client(topics, "bob")
    bob.do(Sow("objects|given", batch_size=10, orderby="/id DESC"))
    assert [(m.topic, m.batch_size) for m in bob.all(SowMessage)] == [("objects", 5), ("given", 1)]
    assert ids(bob) == [5, 4, 3, 2, 1, 9]


def test_a_query_shows_what_the_user_may_read(world: World) -> None:
    """Records and counts are those of the entitlement; a topic that may not be read is refused."""
    access = Access(
        entitlements=(
            Entitlement(user="ann", topic="*"),
            Entitlement(user="b*", topic="objects", filter="/size < 30", write=False),
        )
    )
    topics = filled(world, access=access)
    bob = Client(topics, "bob")
    bob.do(Sow("objects", ack_type="stats"))
    assert ids(bob) == [1, 2]
    assert bob.ack("stats").topic_matches == 2
    for command in (
        Sow("given", ack_type="processed"),
        Subscribe("given", sub_id="s", ack_type="processed"),
        SowDelete("objects", filter="1=1", ack_type="processed"),
        Publish("objects", raw(id=1, size=1), ack_type="processed"),
    ):
        assert bob.do(command)[-1].reason.startswith("not entitled: 'bob' may not ")


def test_deleting_by_filter_keys_and_data(world: World) -> None:
    """Each way deletes what it names, says how many, and tells subscribers; what is not there is none."""
    topics = filled(world)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(SowAndSubscribe("objects", sub_id="s", opts="oof", orderby="/id"))
    keys = {record.sow_key for message in bob.all(SowMessage)[:2] for record in message.data}
    for command, count in (
        (SowDelete("objects", sow_keys=",".join([*keys, "unknown"])), 2),
        (SowDelete("objects", data=raw(id=3, anything=True)), 1),
        (SowDelete("objects", data=raw(id=3)), 0),
        (SowDelete("objects", filter="/size >= 40"), 2),
    ):
        command.ack_type = "processed,stats"
        before = len(bob.oofs)
        ann.inbox.clear()
        ann.do(command)
        assert ann.ack("stats").records_deleted == count
        assert len(bob.oofs) - before == count
    ann.do(Sow("objects"))
    assert ann.records == []
    assert {oof.reason for oof in bob.oofs} == {"deleted"}


def test_deletes_are_acknowledged_as_persisted_with_the_publishes(world: World) -> None:
    """One acknowledgement covers the sequence numbers of both; a repeat of a delete is known."""
    topics = filled(world)
    ann = Client(topics, "ann", "client")
    ann.do(Publish("objects", raw(id=7), seq=1, ack_type="persisted"))
    ann.do(SowDelete("objects", filter="/id = 7", seq=2, ack_type="persisted"))
    world.clock.advance(1)
    topics.tend()
    assert ann.acks == [Ack("persisted", "success", seq=2)]
    ann.do(SowDelete("objects", filter="1=1", seq=2, ack_type="processed"))
    assert ann.acks[-1].reason == "duplicate"
    assert topics.summaries()[1].records == 5


REFUSED: dict[str, tuple[Command, str]] = {
    "no records to delete": (
        SowDelete("objects"),
        "bad command: it says nothing; say what to delete by one of",
    ),
    "two ways at once": (
        SowDelete("objects", filter="1=1", sow_keys="a"),
        "bad command: it says filter and sow_keys",
    ),
    "bookmarks of no queue": (
        SowDelete("objects", bookmark="1"),
        "bad command: bookmarks settle what comes from",
    ),
    "data of given keys": (
        SowDelete("given", data=raw(id=1)),
        "bad sow key: publishers give the keys of 'given'",
    ),
    "data without a key": (
        SowDelete("objects", data=raw(size=1)),
        "bad sow key: the key field /id holds nothing",
    ),
    "a view": (SowDelete("kinds", filter="1=1"), "invalid topic: 'kinds' is made of other topics"),
    "a conflated topic": (SowDelete("slow", filter="1=1"), "invalid topic: 'slow' is made of other topics"),
    "no state of the world": (
        SowDelete("news", filter="1=1"),
        "invalid topic: 'news' keeps no state of the world",
    ),
    "a filter": (SowDelete("objects", filter="/a ="), "bad filter: "),
    "an order": (Sow("objects", orderby="size"), "bad order: 'size' is no identifier"),
    "a direction": (Sow("objects", orderby="/size UP"), "bad order: '/size UP' is not written as"),
    "a batch": (Sow("objects", batch_size=0), "bad batch size: 0 is below 1"),
    "a limit": (Sow("objects", top_n=-1), "bad command: top_n is -1"),
    "a sequence number": (SowDelete("objects", filter="1=1", seq=-1), "bad sequence number: -1 is below 0"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_with_its_reason(world: World, what: str) -> None:
    """The acknowledgement says what was wrong with which value, and no record is touched."""
    view = View(name="kinds", of=("objects",), keys=("/kind",))
    topics = filled(world, view, ConflatedTopic(name="slow", of="objects"))
    bob = Client(topics, "bob")
    command, reason = REFUSED[what]
    command.ack_type = "processed"
    (ack,) = bob.do(command)
    assert isinstance(ack, Ack)
    assert (ack.status, ack.reason[: len(reason)]) == ("failure", reason)
    bob.do(Sow("objects"))
    assert len(bob.records) == 5
