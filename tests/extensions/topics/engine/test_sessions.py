"""Sessions, the clock's part, and definitions."""

from __future__ import annotations

import queue
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from emulator.clock import Clock
from emulator.events import Events
from emulator.scheduler import Scheduler
from extensions.topics.engine.commands import DeltaPublish, Publish, SowAndSubscribe, Subscribe
from extensions.topics.engine.outgoing_messages import Message
from extensions.topics.engine.topic_definitions import (
    BadDefinitionError,
    ConflatedTopic,
    Definition,
    Queue,
    Topic,
    View,
    ViewColumn,
)
from extensions.topics.engine.topics_engine import NameInUseError, TopicsEngine
from rdss_sandbox.shapes.topics import Access, Entitlement
from tests.extensions.topics.engine.topics_world import Client, World, raw, said

MORTAL = Topic(name="objects", keys=("/id",), expiration=0)


def test_a_client_that_connects_again_takes_the_place_of_itself(world: World) -> None:
    """The old session is closed and told; another user cannot have the name while it is in use."""
    topics = world.topics()
    told: list[str] = []
    old = topics.session("ann", lambda _: None, client_name="c", displaced=lambda: told.append("old"))
    with pytest.raises(NameInUseError, match="'c' is the name of another user's client"):
        topics.session("bob", lambda _: None, client_name="c")
    topics.session("ann", lambda _: None, client_name="c")
    assert (old.closed, told) == (True, ["old"])


def test_a_closed_name_is_free(world: World) -> None:
    """When its session has ended, anybody can have the name."""
    topics = world.topics()
    topics.session("ann", lambda _: None, client_name="c").close()
    assert topics.session("bob", lambda _: None, client_name="c").client_name == "c"


def test_a_client_that_cannot_take_a_message_harms_nobody_else(world: World) -> None:
    """It is closed, which is an event; the others are sent the message, the publisher sees nothing of it."""
    topics = world.topics()

    def broken(_: Message) -> None:
        raise ConnectionResetError

    bad = topics.session("bad", broken)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bad.execute(Subscribe("news", sub_id="s"))
    bob.do(Subscribe("news", sub_id="s"))
    (ack,) = ann.do(Publish("news", raw(id=1), ack_type="processed"))
    assert ack.status == "success"
    assert len(bob.published) == 1
    assert bad.closed
    topics.tend()
    assert [summary.subscriptions for summary in topics.summaries()] == [1]
    assert world.kinds() == ["topic.session_failed"]


def test_a_client_that_closes_while_it_is_answered_leaves_nothing_behind(world: World) -> None:
    """A session that ends at the first message of a result is not subscribed, and holds no record."""
    topics = world.topics(MORTAL)
    ann = Client(topics, "ann")
    ann.do(Publish("objects", raw(id=1)))
    hasty = topics.session("hasty", lambda _: hasty.close())
    hasty.execute(SowAndSubscribe("objects", sub_id="s", opts="oof"))
    hasty = topics.session("hasty", lambda _: hasty.close())
    hasty.execute(Subscribe("news", sub_id="s", ack_type="processed"))
    assert [(one.name, one.subscriptions) for one in topics.summaries()] == [("objects", 0)]
    (record,) = topics._registry.topics["objects"].store or ()
    assert record.holders == {}


def test_nothing_is_done_for_a_closed_session(world: World) -> None:
    """Commands after the end are not executed, and nothing is delivered."""
    topics = world.topics(MORTAL)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(SowAndSubscribe("objects", sub_id="s", opts="oof"))
    bob.session.close()
    before = len(bob.inbox)
    assert bob.do(Publish("objects", raw(id=1), ack_type="processed")) == []
    ann.do(Publish("objects", raw(id=2)))
    assert len(bob.inbox) == before
    assert topics.summaries()[0].records == 1


def test_topics_that_nobody_wants_are_not_kept(world: World) -> None:
    """Publishing to a million names costs no memory; a subscription makes a topic, and its end unmakes it."""
    topics = world.topics()
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    for number in range(100):
        ann.do(Publish(f"news.{number}", raw()))
    assert topics.summaries() == []
    bob.do(Subscribe("news.1", sub_id="s"))
    assert [summary.name for summary in topics.summaries()] == ["news.1"]
    bob.session.close()
    assert topics.summaries() == []


def test_publishers_on_many_threads_do_not_disturb_each_other(world: World) -> None:
    """Every message is delivered once, in the order of the log, and each publisher's in its own order."""
    topics = world.topics(Topic(name="objects", keys=("/id",), logged=True))
    bob = Client(topics, "bob")
    bob.do(Subscribe("objects", sub_id="s"))

    def publish(user: str) -> None:
        session = topics.session(user, lambda _: None)
        for number in range(200):
            session.execute(DeltaPublish("objects", raw(**{"id": number % 7, user: number})))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(publish, ("ann", "cat", "dan", "eve")))
    marks = [message.bookmark for message in bob.published]
    assert marks == sorted(set(marks))
    assert len(marks) == 800
    for user in ("ann", "cat", "dan", "eve"):
        assert [said(one)[user] for one in bob.published if one.user_id == user] == list(range(200))


def test_what_is_scheduled_is_done_when_it_is_due() -> None:
    """Records expire as the clock passes, also one that does so sooner than what was waited for."""
    clock = Clock(frozen_at=1000.0)
    topics = TopicsEngine(None, clock, Events(clock), [MORTAL])
    seen: queue.Queue[Message] = queue.Queue()
    topics.session("bob", seen.put).execute(SowAndSubscribe("objects", sub_id="s", opts="oof"))
    failures: list[Exception] = []
    with closing(topics), closing(Scheduler(clock, "topics", failures.append)) as scheduler:
        tending = scheduler.follow(topics.tend)
        topics.on_sooner(lambda: scheduler.wake(tending))
        ann = topics.session("ann", lambda _: None)
        ann.execute(Publish("objects", raw(id=1), expiration=100))
        ann.execute(Publish("objects", raw(id=2), expiration=5))
        left: list[Any] = []
        for seconds in (5, 95):
            clock.advance(seconds)
            while getattr(message := seen.get(timeout=60), "reason", "") != "expired":
                pass
            left.append((seconds, getattr(message, "reason", "")))
    assert left == [(5, "expired"), (95, "expired")]
    assert not failures


WRONG: dict[str, tuple[Definition, ...]] = {
    "'a b': a name has letters": (Topic(name="a b"),),
    "topic 'a': there is another one of this name": (Topic(name="a"), Topic(name="a")),
    "topic 'a': 'id' is no identifier": (Topic(name="a", keys=("id",)),),
    "topic 'a': expiration -1": (Topic(name="a", keys=("/id",), expiration=-1),),
    "queue 'q': lease is above 0": (Queue(name="q", lease=0),),
    "queue 'q': 'a' is no topic in the transaction log": (Topic(name="a"), Queue(name="q", of=("a",))),
    "view 'v': 'a' keeps no state of the world": (Topic(name="a"), View(name="v", of=("a",), keys=("/b",))),
    "view 'v': 'x' is no identifier": (MORTAL, View(name="v", of=("objects",), keys=("x",))),
    "view 'v': 'y' is no identifier": (
        MORTAL,
        View(name="v", of=("objects",), keys=("/x",), columns=(ViewColumn(name="c", path="y"),)),
    ),
    "conflated 'c': 'a' keeps no state": (ConflatedTopic(name="c", of="a"),),
    "conflated 'c': interval 0": (MORTAL, ConflatedTopic(name="c", of="objects", interval=0)),
}


@pytest.mark.parametrize("reason", WRONG)
def test_definitions_that_cannot_be_are_refused(world: World, reason: str) -> None:
    """The error says which definition and why, before anything has begun."""
    with pytest.raises(BadDefinitionError) as caught:
        world.topics(*WRONG[reason])
    assert reason in str(caught.value)


def test_a_retention_is_a_number_of_seconds(world: World) -> None:
    """Less than nothing is refused; for ever is for ever."""
    with pytest.raises(BadDefinitionError, match="retention -1 is no number of seconds"):
        world.topics(retention=-1)
    topics = world.topics(Topic(name="news", logged=True), retention=float("inf"))
    Client(topics, "ann").do(Publish("news", raw(id=1)))
    topics._checkpoints.write()
    assert len(topics.history("news")) == 1


def test_an_entitlement_whose_filter_is_none_is_refused(world: World) -> None:
    """The error names the entitlement."""
    access = Access(entitlements=(Entitlement(user="ann", topic="objects", filter="/a ="),))
    with pytest.raises(BadDefinitionError, match="the entitlement of 'ann' to 'objects': "):
        world.topics(access=access)
