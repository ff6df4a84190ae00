"""Subscriptions beyond what the two texts say of messages: deltas, ids, options, patterns, bookmarks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from extensions.topics.engine.commands import (
    Command,
    DeltaPublish,
    DeltaSubscribe,
    Publish,
    SowAndDeltaSubscribe,
    SowAndSubscribe,
    SowDelete,
    Subscribe,
    Unsubscribe,
)
from extensions.topics.engine.outgoing_messages import GroupBegin, GroupEnd, PublishMessage, SowMessage
from extensions.topics.engine.replaying import SLICE
from extensions.topics.engine.topic_definitions import Queue, Topic, View
from rdss_sandbox.shapes.topics import Access, Entitlement
from tests.extensions.topics.engine.topics_world import NOON, Client, World, raw, said

SOW = Topic(name="objects", keys=("/id",))
LOGGED = Topic(name="objects", keys=("/id",), logged=True)


def test_a_delta_subscription_is_sent_the_key_and_what_changed(world: World) -> None:
    """A new record comes whole; then the fields that are new or different, whichever way it was published."""
    topics = world.topics(SOW)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(DeltaSubscribe("objects", sub_id="s"))
    ann.do(Publish("objects", raw(id=1, size=1, title="a")))
    ann.do(DeltaPublish("objects", raw(id=1, size=2, title="a")))
    ann.do(Publish("objects", raw(id=1, size=True, title="a", more=None)))
    ann.do(Publish("objects", raw(id=1, size=1, title="a", more=None)))
    assert [said(message) for message in bob.published] == [
        {"id": 1, "size": 1, "title": "a"},
        {"id": 1, "size": 2},
        {"id": 1, "size": True, "more": None},
        {"id": 1, "size": 1},
    ]


def test_a_delta_without_a_change_can_be_left_out(world: World) -> None:
    """With ``no_empties`` nothing is sent for a record that did not change; without it, its key."""
    topics = world.topics(SOW)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(DeltaSubscribe("objects", sub_id="every"))
    bob.do(DeltaSubscribe("objects", sub_id="some", opts="no_empties"))
    for size in (1, 1, 2):
        ann.do(Publish("objects", raw(id=1, size=size)))
    seen = {sub_id: [said(m) for m in bob.published if m.sids == sub_id] for sub_id in ("every", "some")}
    assert seen == {
        "every": [{"id": 1, "size": 1}, {"id": 1}, {"id": 1, "size": 2}],
        "some": [{"id": 1, "size": 1}, {"id": 1, "size": 2}],
    }


def test_a_record_that_comes_back_into_focus_is_sent_whole(world: World) -> None:
    """A subscription to deltas with oof knows nothing any more of what left it."""
    topics = world.topics(SOW)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    ann.do(Publish("objects", raw(id=1, size=1, title="a")))
    bob.do(SowAndDeltaSubscribe("objects", filter="/size < 5", sub_id="s", opts="oof"))
    for size in (2, 9, 3, 4):
        ann.do(DeltaPublish("objects", raw(id=1, size=size)))
    assert bob.records == [{"id": 1, "size": 1, "title": "a"}]
    assert [said(message) for message in bob.published] == [
        {"id": 1, "size": 2},
        {"id": 1, "size": 3, "title": "a"},
        {"id": 1, "size": 4},
    ]


def test_a_delta_subscription_without_a_state_of_the_world_is_a_plain_one(world: World) -> None:
    """There is nothing to differ from, so messages come as they are."""
    topics = world.topics()
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(DeltaSubscribe("news", sub_id="s"))
    ann.do(Publish("news", msgspec.Raw(b'"only text"')))
    assert [said(message) for message in bob.published] == ["only text"]


def test_result_then_changes_without_a_gap(world: World) -> None:
    """``processed``, the records between begin and end, ``completed``, and then what happens."""
    topics = world.topics(SOW)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    ann.do(Publish("objects", raw(id=1)))
    bob.do(SowAndSubscribe("objects", sub_id="s", cmd_id="c", ack_type="received,processed,completed,stats"))
    ann.do(Publish("objects", raw(id=2)))
    kinds = [getattr(message, "ack_type", type(message).__name__) for message in bob.inbox]
    assert kinds == [
        "received",
        "processed",
        GroupBegin.__name__,
        SowMessage.__name__,
        GroupEnd.__name__,
        "completed",
        "stats",
        PublishMessage.__name__,
    ]
    stats = bob.ack("stats")
    assert (stats.topic_matches, stats.matches, stats.records_returned) == (1, 1, 1)


def test_a_subscription_to_certain_records_gets_nothing_of_others(world: World) -> None:
    """``sow_keys`` bounds the result and what follows."""
    topics = world.topics(Topic(name="objects", keys="publisher"))
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(SowAndSubscribe("objects", sub_id="s", sow_keys="one,two", opts="oof"))
    bob.do(SowAndSubscribe("objects", sub_id="t", sow_keys="one", filter="/size = 2", opts="oof"))
    for key, size in (("one", 1), ("three", 2), ("one", 2)):
        ann.do(Publish("objects", raw(size=size), sow_key=key))
    ann.do(SowDelete("objects", filter="1=1"))
    assert [(m.sow_key, m.sids) for m in bob.published] == [("one", "s"), ("one", "s,t")]
    assert [(m.sow_key, m.sids) for m in bob.oofs] == [("one", "s,t")]
    bob.do(Unsubscribe("all"))
    ann.do(Publish("objects", raw(size=2), sow_key="one"))
    assert len(bob.published) == 2


def test_the_filters_of_a_session_have_so_many_conditions_at_most(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are evaluated for a message while others wait; required equalities are indexed, and not counted."""
    monkeypatch.setattr("extensions.topics.engine.subscribing.MOST_CONDITIONS", 3)
    ann, bob = Client(world.topics(), "ann"), Client(world.topics(), "bob")
    for number in range(9):
        bob.do(Subscribe("news", sub_id=f"is {number}", filter=f"/a = {number} AND /b = 1"))
    bob.do(Subscribe("news", sub_id="two", filter="/a LIKE 'x' OR /a LIKE 'y'"))
    bob.do(Subscribe("news", sub_id="third", filter="/b = 1 AND /a > 5"))

    (ack,) = bob.do(Subscribe("news", sub_id="fourth", filter="/a LIKE 'z'", ack_type="processed"))
    assert ack.reason == (
        "bad filter: the filters of this session have 3 conditions that are no required equality (/a = 1), "
        "and with this one more than 3; unsubscribe some, or ask on another connection"
    )
    (ack,) = bob.do(
        Subscribe("news", sub_id="third", filter="/a LIKE 'z'", opts="replace", ack_type="processed")
    )
    assert ack.status == "success"
    (ack,) = ann.do(Subscribe("news", sub_id="fourth", filter="/a LIKE 'z'", ack_type="processed"))
    assert ack.status == "success"
    bob.do(Unsubscribe("two"))
    (ack,) = bob.do(Subscribe("news", sub_id="fourth", filter="/a LIKE 'z'", ack_type="processed"))
    assert ack.status == "success"


def test_an_id_is_there_once_unless_it_is_replaced(world: World) -> None:
    """A second one is refused, with ``replace`` it takes the place; ``cmd_id`` is an id too."""
    topics = world.topics()
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(Subscribe("news", cmd_id="s", filter="/a = 1"))
    (ack,) = bob.do(Subscribe("news", sub_id="s", ack_type="processed"))
    assert ack.reason.startswith("subscription already exists: 's' is there")
    (ack,) = bob.do(Subscribe("news", sub_id="s", filter="/a =", opts="replace", ack_type="processed"))
    assert ack.reason.startswith("bad filter: ")
    ann.do(Publish("news", raw(a=1)))
    bob.do(Subscribe("news", sub_id="s", filter="/a = 2", opts="replace"))
    for number in (1, 2):
        ann.do(Publish("news", raw(a=number)))
    assert [said(message)["a"] for message in bob.published] == [1, 2]


def test_unsubscribe_ends_one_or_all(world: World) -> None:
    """After it nothing comes; an id that is not there is said to be none."""
    topics = world.topics(SOW)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    for sub_id in ("a", "b", "c"):
        bob.do(SowAndSubscribe("objects", sub_id=sub_id, opts="oof"))
    ann.do(Publish("objects", raw(id=1)))
    bob.do(Unsubscribe("a"))
    ann.do(Publish("objects", raw(id=2)))
    bob.do(Unsubscribe("all"))
    ann.do(SowDelete("objects", filter="1=1"))
    assert [message.sids for message in bob.published] == ["a,b,c", "b,c"]
    assert bob.oofs == []
    (ack,) = bob.do(Unsubscribe("a", ack_type="processed"))
    assert ack.reason == "invalid subscription: this session has none with the id 'a'"


def test_a_pattern_finds_topics_that_come_later(world: World) -> None:
    """A regular expression must fit the whole name, of topics that are there and of new ones."""
    topics = world.topics(Topic(name="news.uk", logged=True))
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(Subscribe(r"news\.(uk|fr)", sub_id="s"))
    for topic in ("news.uk", "news.fr", "news.de", "old.news.uk"):
        ann.do(Publish(topic, raw()))
    assert [message.topic for message in bob.published] == ["news.uk", "news.fr"]
    bob.do(Unsubscribe("s"))
    ann.do(Publish("news.fr", raw()))
    assert len(bob.published) == 2
    assert [summary.name for summary in topics.summaries()] == ["news.uk"]


def test_a_replay_begins_after_its_bookmark(world: World) -> None:
    """After a bookmark, after the earliest of a list without the others, from a time, from the beginning."""
    topics = world.topics(LOGGED)
    ann = Client(topics, "ann")
    watch = Client(topics, "watch")
    watch.do(Subscribe("objects", sub_id="s"))
    for number in range(5):
        ann.do(Publish("objects", raw(id=number), correlation_id=f"c{number}"))
        world.clock.advance(60)
    marks = [message.bookmark for message in watch.published]
    for bookmark, expected in {
        marks[1]: [2, 3, 4],
        f"{marks[3]},{marks[1]}": [2, 4],
        "0": [0, 1, 2, 3, 4],
        "2023-11-14T22:15:20Z": [2, 3, 4],
        "2023-11-14T22:15:20.500": [3, 4],
        marks[4]: [],
    }.items():
        late = Client(topics, "late")
        late.do(Subscribe("objects", sub_id="s", bookmark=bookmark, ack_type="completed"))
        assert [said(message)["id"] for message in late.published] == expected, bookmark
        assert late.ack("completed").status == "success"


def test_a_long_replay_lets_others_have_their_turn(world: World) -> None:
    """It comes in slices; what is published meanwhile comes in its place; ``completed`` at the end."""
    topics = world.topics(LOGGED)
    ann, late = Client(topics, "ann"), Client(topics, "late")
    for number in range(2 * SLICE + 10):
        ann.do(Publish("objects", raw(id=number)))
    late.do(Subscribe("objects", sub_id="s", bookmark="0", ack_type="processed,completed"))
    assert len(late.published) == SLICE
    ann.do(Publish("objects", raw(id=-1)))
    while (wait := topics.tend()) is not None:
        assert wait == 0
    ann.do(Publish("objects", raw(id=-2)))
    assert [said(message)["id"] for message in late.published] == [*range(2 * SLICE + 10), -1, -2]
    assert late.inbox[-2] is late.ack("completed")


def test_a_replay_ends_with_its_subscription(world: World) -> None:
    """Who unsubscribes while it is replayed is sent no more of it."""
    topics = world.topics(LOGGED)
    ann, late = Client(topics, "ann"), Client(topics, "late")
    for number in range(SLICE + 10):
        ann.do(Publish("objects", raw(id=number)))
    late.do(Subscribe("objects", sub_id="s", bookmark="0"))
    late.do(Unsubscribe("s"))
    topics.tend()
    assert len(late.published) <= SLICE + 10
    ann.do(Publish("objects", raw(id=-1)))
    assert said(late.published[-1])["id"] != -1


def test_a_replay_shows_only_what_the_user_may_read(world: World) -> None:
    """Entitlement bounds history as it bounds the present; a pattern leaves out what may not be read."""
    access = Access(
        entitlements=(
            Entitlement(user="ann", topic="*"),
            Entitlement(user="bob", topic="objects", filter="/size < 3"),
        )
    )
    topics = world.topics(LOGGED, Topic(name="secrets", logged=True), access=access)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    for size in (1, 5):
        ann.do(Publish("objects", raw(id=size, size=size)))
        ann.do(Publish("secrets", raw(id=size)))
    bob.do(Subscribe(".*", sub_id="s", bookmark="0"))
    ann.do(Publish("objects", raw(id=2, size=2)))
    ann.do(Publish("secrets", raw(id=2)))
    assert [said(message) for message in bob.published] == [{"id": 1, "size": 1}, {"id": 2, "size": 2}]


def test_a_message_that_is_nested_too_deep_is_refused_before_anything_happens(world: World) -> None:
    """Two hundred levels go through everything; one more is refused, and the service goes on."""
    topics = world.topics(LOGGED)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(DeltaSubscribe("objects", sub_id="s", filter="/deep IS NOT NULL"))
    for levels, status in ((199, "success"), (200, "failure"), (100_000, "failure"), (1, "success")):
        deep = b"[" * levels + b"1" + b"]" * levels
        for _ in range(2):
            body = msgspec.Raw(b'{"id": 1, "deep": ' + deep + b"}")
            (ack,) = ann.do(DeltaPublish("objects", body, ack_type="processed"))
            assert (levels, ack.status) == (levels, status)
    assert len(bob.published) == 4


REFUSED: dict[str, tuple[Any, str]] = {
    "a filter": (Subscribe("objects", sub_id="s", filter="/a = "), "bad filter: "),
    "a pattern": (Subscribe("ob(", sub_id="s"), "invalid topic: 'ob(' is neither a name nor a regular"),
    "no id": (Subscribe("objects"), "invalid subscription: '' cannot name one"),
    "a list of ids": (Subscribe("objects", sub_id="a,b"), "invalid subscription: 'a,b' cannot name one"),
    "an option": (
        Subscribe("objects", sub_id="s", opts="faster"),
        "bad options: 'faster' means nothing here",
    ),
    "oof without a query": (
        Subscribe("objects", sub_id="s", opts="oof"),
        "bad options: 'oof' means nothing here",
    ),
    "a number in an option": (
        Subscribe("objects", sub_id="s", opts="max_backlog=x"),
        "bad options: 'max_backlog=x' is not written as max_backlog=NUMBER",
    ),
    "a bookmark": (
        Subscribe("logged", sub_id="s", bookmark="yesterday"),
        "bad bookmark: 'yesterday' is none",
    ),
    "a list of no bookmarks": (Subscribe("logged", sub_id="s", bookmark=", "), "bad bookmark: ', ' is none"),
    "a bookmark that is to come": (
        Subscribe("logged", sub_id="s", bookmark="0000000000000001"),
        "bad bookmark: '0000000000000001' is none",
    ),
    "a bookmark without a log": (
        Subscribe("objects", sub_id="s", bookmark="0"),
        "invalid topic: 'objects' is not in the transaction log",
    ),
    "a bookmark of a queue": (Subscribe("work", sub_id="s", bookmark="0"), "invalid topic: 'work' is not in"),
    "a query of no records": (SowAndSubscribe("news", sub_id="s"), "invalid topic: 'news' keeps no state"),
    "a query of a queue": (SowAndSubscribe("work", sub_id="s"), "invalid topic: 'work' keeps no state"),
    "publishing to a view": (Publish("kinds", raw(kind=1)), "invalid topic: 'kinds' is made of other topics"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_with_its_reason(world: World, what: str) -> None:
    """The acknowledgement says what was wrong with which value, and nothing is left of the command."""
    topics = world.topics(
        SOW,
        Topic(name="logged", logged=True),
        Queue(name="work", of=("logged",)),
        View(name="kinds", of=("objects",), keys=("/kind",)),
    )
    bob = Client(topics, "bob")
    command, reason = REFUSED[what]
    command = msgspec.structs.replace(command, ack_type="processed,completed", cmd_id=command.cmd_id)
    processed, completed = bob.do(command)
    assert (processed.status, completed.status) == ("failure", "failure")
    assert processed.reason.startswith(reason)
    assert bob.session.subscriptions == {}
    assert isinstance(msgspec.json.decode(msgspec.json.encode(command), type=Command), type(command))
    assert world.clock.time() == NOON
