"""Queues: each message to one subscriber, on lease until it is acknowledged."""

from __future__ import annotations

from typing import Any

import pytest

from extensions.topics.engine.commands import DeltaPublish, Publish, SowDelete, Subscribe
from extensions.topics.engine.outgoing_messages import Message
from extensions.topics.engine.topic_definitions import Queue, Topic
from extensions.topics.engine.topics_engine import TopicsEngine
from rdss_sandbox.shapes.topics import Access, Entitlement
from tests.extensions.topics.engine.topics_world import Client, World, raw, said

WORK = Queue(name="work", lease=30, max_backlog=2)


def publish(topics: TopicsEngine, count: int, topic: str = "work", **headers: Any) -> None:
    ann = Client(topics, "ann")
    for number in range(1, count + 1):
        ann.do(Publish(topic, raw(number=number), **headers))


def taker(topics: TopicsEngine, user: str = "bob", **headers: Any) -> Client:
    client = Client(topics, user)
    client.do(Subscribe("work", sub_id="s", **headers))
    return client


def numbers(client: Client) -> list[int]:
    return [said(message)["number"] for message in client.published]


def settle(client: Client, which: int, opts: str = "") -> str:
    """Settle the message that the client was sent as the ``which``-th; the reason if that was refused."""
    bookmark = client.published[which].bookmark
    return _reason(client, SowDelete("work", bookmark=bookmark, opts=opts, ack_type="processed"))


def _reason(client: Client, command: SowDelete) -> str:
    before = len(client.acks)
    client.do(command)
    return client.acks[before].reason


def test_each_message_goes_to_one_subscriber_as_far_as_its_backlog_allows(world: World) -> None:
    """Three who take one at a time share seven messages; what is acknowledged makes room for the next."""
    topics = world.topics(WORK)
    publish(topics, 7)
    takers = [taker(topics, user) for user in ("bob", "cat", "dan")]
    assert [numbers(one) for one in takers] == [[1], [2], [3]]
    settle(takers[1], 0)
    assert [numbers(one) for one in takers] == [[1], [2, 4], [3]]


def test_a_bigger_backlog_is_capped_by_the_queue(world: World) -> None:
    """A subscriber that would hold ten gets the two that the queue allows."""
    topics = world.topics(WORK)
    publish(topics, 7)
    assert numbers(taker(topics, opts="max_backlog=10")) == [1, 2]


def test_what_is_not_acknowledged_in_time_comes_back_before_what_came_later(world: World) -> None:
    """After thirty seconds the next subscriber gets the first message, not the second."""
    topics = world.topics(WORK)
    publish(topics, 2)
    slow = taker(topics)
    slow.do(SowDelete("work", bookmark="0000000000000002"))
    world.clock.advance(29)
    topics.tend()
    assert numbers(slow) == [1]
    other = taker(topics, "cat")
    assert numbers(other) == [2]
    world.clock.advance(1)
    topics.tend()
    assert numbers(slow)[1:] + numbers(other)[1:] == [1]


def test_what_a_session_held_comes_back_when_it_ends(world: World) -> None:
    """Closing and unsubscribing give the messages to somebody else at once."""
    topics = world.topics(WORK)
    publish(topics, 2)
    first = taker(topics, opts="max_backlog=2")
    first.session.close()
    assert numbers(taker(topics, "cat", opts="max_backlog=2")) == [1, 2]


def test_cancel_gives_back_and_expire_throws_away(world: World) -> None:
    """A cancelled message is delivered again; an expired one is gone."""
    topics = world.topics(WORK)
    publish(topics, 2)
    bob = taker(topics)
    settle(bob, 0, "cancel")
    assert numbers(bob) == [1, 1]
    settle(bob, 1, "expire")
    assert numbers(bob) == [1, 1, 2]
    settle(bob, 2)
    assert topics.summaries()[0].records == 0
    assert [event.fields["reason"] for event in discarded(world)] == ["forced_expire"]


def test_a_message_that_is_cancelled_too_often_is_thrown_away(world: World) -> None:
    """With ``max_cancels`` two the second return is the last."""
    topics = world.topics(Queue(name="work", max_cancels=2))
    publish(topics, 1)
    bob = taker(topics)
    settle(bob, 0, "cancel")
    settle(bob, 1, "cancel")
    assert numbers(bob) == [1, 1]
    assert [event.fields["reason"] for event in discarded(world)] == ["max_cancels"]


def test_a_message_whose_lifetime_is_over_leaves_the_queue(world: World) -> None:
    """What nobody took within its expiration is not delivered any more."""
    topics = world.topics(Topic(name="jobs", logged=True, expiration=0), Queue(name="work", of=("jobs",)))
    publish(topics, 1, "jobs", expiration=5)
    world.clock.advance(5)
    topics.tend()
    assert numbers(taker(topics)) == []
    assert [event.fields["reason"] for event in discarded(world)] == ["time_limit"]


def test_only_who_holds_a_message_settles_it(world: World) -> None:
    """Another's bookmark, one already settled, and nonsense are refused, and nothing is settled with them."""
    topics = world.topics(WORK)
    publish(topics, 2)
    bob, cat = taker(topics), taker(topics, "cat")
    for bookmark in (cat.published[0].bookmark, "nonsense", "0000000000000099", "1", "9" * 5000):
        both = f"{bob.published[0].bookmark},{bookmark}"
        reason = _reason(bob, SowDelete("work", bookmark=both, ack_type="processed"))
        assert reason == f"bad bookmark: this session has no message {bookmark[:80]!r} on lease"
    assert settle(bob, 0) == ""
    assert settle(bob, 0).startswith("bad bookmark")
    assert _reason(bob, SowDelete("work", filter="1=1", ack_type="processed")).startswith("bad command")


def test_at_most_once_is_never_delivered_again(world: World) -> None:
    """A message that was handed out is gone, also when its receiver dies; it has no lease."""
    topics = world.topics(Queue(name="work", semantics="at-most-once", max_backlog=1))
    publish(topics, 3)
    bob = taker(topics)
    assert numbers(bob) == [1, 2, 3]
    assert {message.lease_period for message in bob.published} == {""}
    bob.session.close()
    assert numbers(taker(topics, "cat")) == []


@pytest.mark.parametrize("how", ["closes", "raises"])
def test_nothing_is_handed_to_who_is_closed_by_a_message(world: World, how: str) -> None:
    """A client that breaks at its first message costs that one at most; the others are another's."""
    topics = world.topics(Queue(name="work", semantics="at-most-once"))
    publish(topics, 3)

    def breaks(_: Message) -> None:
        if how == "raises":
            raise ConnectionResetError
        broken.close()

    broken = topics.session("bad", breaks)
    broken.execute(Subscribe("work", sub_id="one"))
    broken.execute(Subscribe("work", sub_id="two"))
    topics.tend()
    assert numbers(taker(topics, "cat")) == [2, 3]


def test_a_lease_of_who_is_closed_by_its_message_goes_to_another(world: World) -> None:
    """The message that broke its receiver, and those that were to follow it, are handed out again at once."""
    topics = world.topics(WORK)
    broken = topics.session("bad", lambda _: broken.close())
    broken.execute(Subscribe("work", sub_id="s", opts="max_backlog=2"))
    cat = taker(topics, "cat", opts="max_backlog=2")
    publish(topics, 2)
    assert numbers(cat) == [1, 2]


def test_a_filter_takes_only_what_it_matches_and_blocks_nobody(world: World) -> None:
    """One who waits for the third message gets it; the others go to who takes everything."""
    topics = world.topics(WORK)
    third = taker(topics, filter="/number = 3")
    publish(topics, 3)
    assert numbers(third) == [3]
    assert numbers(taker(topics, "cat", opts="max_backlog=2")) == [1, 2]


def test_a_delta_puts_the_merged_message_into_the_queue(world: World) -> None:
    """The queue over a state of the world has what subscribers have."""
    topics = world.topics(Topic(name="jobs", keys=("/id",), logged=True), Queue(name="work", of=("jobs",)))
    bob, ann = taker(topics), Client(topics, "ann")
    ann.do(Publish("jobs", raw(id=1, size=1)))
    ann.do(DeltaPublish("jobs", raw(id=1, title="a")))
    settle(bob, 0)
    assert [said(message) for message in bob.published] == [
        {"id": 1, "size": 1},
        {"id": 1, "size": 1, "title": "a"},
    ]


def test_a_queue_is_as_it_was_after_a_restart(world: World) -> None:
    """What was acknowledged stays away; what was on lease or waiting is delivered."""
    topics = world.topics(WORK, durable=True)
    publish(topics, 4)
    bob = taker(topics, opts="max_backlog=2")
    settle(bob, 0)
    assert numbers(bob) == [1, 2, 3]
    topics.close()
    assert numbers(taker(world.topics(WORK, durable=True), opts="max_backlog=2")) == [2, 3]


def test_a_pattern_takes_nothing_from_a_queue(world: World) -> None:
    """Who looks at every topic leaves the messages of a queue to those who work on it."""
    topics = world.topics(WORK)
    watcher = Client(topics, "eve")
    watcher.do(Subscribe(".*", sub_id="s"))
    publish(topics, 1)
    assert numbers(taker(topics)) == [1]


def test_who_may_no_longer_read_a_queue_takes_nothing_more(world: World) -> None:
    """What such a session had on lease goes to the others; with the entitlement it takes part again."""
    topics = world.topics(WORK)
    bob = taker(topics)
    publish(topics, 1)
    topics.entitle(Access(entitlements=(Entitlement(user="cat", topic="*"),)))
    cat = taker(topics, "cat")
    assert numbers(cat) == [1]
    topics.entitle(Access())
    publish(topics, 1)
    assert numbers(bob) == [1, 1]


def discarded(world: World) -> list[Any]:
    return [event for event in world.events.since() if event.kind == "topic.queue_discarded"]


def test_an_entitlement_bounds_what_is_taken(world: World) -> None:
    """Its filter decides with that of the subscription, from when it is changed; what waits is for others."""
    everybody = Entitlement(user="*", topic="*")
    bounded = Access(entitlements=(Entitlement(user="bob", topic="work", filter="/number > 2"), everybody))
    topics = world.topics(Queue(name="work", max_backlog=9), access=bounded)
    bob = taker(topics, opts="max_backlog=9")
    publish(topics, 4)
    assert numbers(bob) == [3, 4]
    topics.entitle(
        Access(entitlements=(Entitlement(user="bob", topic="work", filter="/number = 1"), everybody))
    )
    assert numbers(bob) == [3, 4, 1]
    assert numbers(taker(topics, "cat")) == [2]
