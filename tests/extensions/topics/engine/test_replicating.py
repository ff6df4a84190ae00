"""Two logs, one downstream of the other: what ``persisted`` waits for, and what arrives, once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from extensions.topics.engine.commands import DeltaPublish, Publish, Sow, SowDelete, Subscribe
from extensions.topics.engine.topic_definitions import BadDefinitionError, Topic
from extensions.topics.engine.topics_engine import TopicsEngine
from rdss_sandbox.shapes.topics import Access, Downstream, Entitlement
from tests.extensions.topics.engine.topics_world import Client, World, raw, said

HERE = "http://127.0.0.1:1"
SYNC = Downstream(name="b", url=HERE)
ASYNC = Downstream(name="b", url=HERE, mode="async")
SENT_ON = Topic(name="objects", keys=("/id",), logged=True, expiration=0, downstreams=("b",))
SOW = Topic(name="objects", keys=("/id",), logged=True, expiration=0)


class Way:
    """The way from ``up`` to its downstream ``name``, gone by hand."""

    def __init__(self, up: TopicsEngine, down: TopicsEngine, name: str = "b", user: str = "upstream") -> None:
        self.up, self.name, self.user = up.replication, name, user
        self.connect(down)

    def connect(self, down: TopicsEngine) -> None:
        self.down = down.replication
        position = self.down.receive(self.user, self.up.shipment(self.name, -1, 1 << 40))
        self.up.begin(self.name, position)
        self.at = position.number

    def send(self) -> Any:
        """A shipment that is on its way."""
        shipment = self.up.shipment(self.name, self.at, self.at)
        self.up.sent(self.name, shipment.upto)
        return shipment

    def take(self, shipment: Any) -> None:
        """It arrives, and is acknowledged."""
        position = self.down.receive(self.user, shipment)
        self.at = position.number
        self.up.acknowledge(self.name, self.at)
        if position.refused:
            self.up.refuse(self.name, position.refused)

    def go(self) -> None:
        while (shipment := self.send()).upto > self.at:
            before = self.at
            self.take(shipment)
            if self.at == before:
                return

    def break_(self) -> None:
        self.up.lose(self.name, "gone")


def records(topics: TopicsEngine) -> dict[str, Any]:
    asked = Client(topics, "asking")
    asked.do(Sow("objects"))
    return {record["id"]: record for record in asked.records}


def log(topics: TopicsEngine) -> list[Any]:
    return [said(one) for one in topics.history("objects") if one.kind == "published"]


def persisted(client: Client) -> list[int | None]:
    return [ack.seq for ack in client.acks if ack.ack_type == "persisted"]


def publish(client: Client, seq: int, **headers: Any) -> None:
    client.do(Publish("objects", raw(id=seq), seq=seq, ack_type="persisted", **headers))


def tick(world: World, *topics: TopicsEngine) -> None:
    world.clock.advance(1)
    for each in topics:
        each.tend()


def test_persisted_waits_for_a_synchronous_downstream(world: World) -> None:
    """However long that takes; it comes when the downstream has acknowledged, and not when it was sent it."""
    up, down = world.topics(SENT_ON, downstreams=(SYNC,)), world.topics(SOW)
    ann = Client(up, "ann", "writer")
    publish(ann, 1)
    for _ in range(100):
        tick(world, up)
    assert persisted(ann) == []
    way = Way(up, down)
    shipment = way.send()
    tick(world, up)
    assert persisted(ann) == []
    way.take(shipment)
    assert persisted(ann) == [1]
    assert records(down) == {1: {"id": 1}}


def test_what_the_downstream_has_is_persisted_in_its_time(world: World) -> None:
    """An acknowledgement that came before the second is up changes nothing of the folding."""
    up, down = world.topics(SENT_ON, downstreams=(SYNC,)), world.topics(SOW)
    ann, way = Client(up, "ann", "writer"), Way(up, down)
    for seq in (1, 2, 3):
        publish(ann, seq)
    way.go()
    assert persisted(ann) == []
    tick(world, up)
    assert persisted(ann) == [3]


def test_a_busy_publisher_is_told_of_what_is_persisted_meanwhile(world: World) -> None:
    """Messages that go on coming do not put off the acknowledgement of those before them."""
    up, down = world.topics(SENT_ON, downstreams=(SYNC,)), world.topics(SOW)
    ann, way = Client(up, "ann", "writer"), Way(up, down)
    for seq in range(1, 10):
        shipment = way.send()
        publish(ann, seq)
        tick(world, up)
        way.take(shipment)
        assert max(persisted(ann), default=0) == seq - 1


def test_commands_of_their_own_keep_their_order(world: World) -> None:
    """A deletion, a failure and a message of a topic that stays here wait behind what waits."""
    local = Topic(name="local", logged=True)
    up, down = world.topics(SENT_ON, local, downstreams=(SYNC,)), world.topics(SOW)
    ann = Client(up, "ann", "writer")
    ann.do(Publish("objects", raw(id=1), cmd_id="a", ack_type="persisted"))
    ann.do(SowDelete("objects", filter="/id = 1", cmd_id="b", ack_type="persisted"))
    ann.do(Publish("objects", raw(n=1), cmd_id="c", ack_type="persisted"))
    ann.do(Publish("local", raw(n=1), cmd_id="d", ack_type="persisted"))
    tick(world, up)
    assert ann.acks == []
    Way(up, down).go()
    assert [(ack.cmd_id, ack.status) for ack in ann.acks] == [
        ("a", "success"),
        ("b", "success"),
        ("c", "failure"),
        ("d", "success"),
    ]
    assert records(down) == {}


def test_a_repeat_is_persisted_no_earlier_than_what_it_repeats(world: World) -> None:
    """A publisher that asks again is not told yes while the downstream lacks the message."""
    up, down = world.topics(SENT_ON, downstreams=(SYNC,)), world.topics(SOW)
    ann = Client(up, "ann", "writer")
    publish(ann, 1)
    again = Client(up, "ann", "writer")
    publish(again, 1)
    tick(world, up)
    assert persisted(again) == []
    Way(up, down).go()
    assert persisted(again) == [1]


def test_an_asynchronous_downstream_that_is_away_holds_nothing(world: World) -> None:
    """One that is there must have been sent the message, and need not have acknowledged it."""
    up, down = world.topics(SENT_ON, downstreams=(ASYNC,)), world.topics(SOW)
    ann = Client(up, "ann", "writer")
    publish(ann, 1)
    tick(world, up)
    assert persisted(ann) == [1]
    way = Way(up, down)
    way.go()
    publish(ann, 2)
    tick(world, up)
    assert persisted(ann) == [1]
    way.send()
    assert persisted(ann) == [1, 2]
    publish(ann, 3)
    tick(world, up)
    assert persisted(ann) == [1, 2]
    way.break_()
    assert persisted(ann) == [1, 2, 3]


def test_both_kinds_together_wait_for_the_synchronous_one(world: World) -> None:
    """Of two downstreams the one that is away and asynchronous does not matter, the other does."""
    both = Topic(name="objects", keys=("/id",), logged=True, downstreams=("b", "c"))
    slow = Downstream(name="c", url=HERE, mode="async")
    up, down = world.topics(both, downstreams=(SYNC, slow)), world.topics(SOW)
    ann, way = Client(up, "ann", "writer"), Way(up, down)
    publish(ann, 1)
    tick(world, up)
    assert persisted(ann) == []
    way.go()
    assert persisted(ann) == [1]


def test_one_that_acknowledges_nothing_is_waited_for_as_long_as_said(world: World) -> None:
    """Then it is treated as asynchronous, until it has caught up; both are events."""
    patient = Downstream(name="b", url=HERE, downgrade_after=30)
    up, down = world.topics(SENT_ON, downstreams=(patient,)), world.topics(SOW)
    ann = Client(up, "ann", "writer")
    publish(ann, 1)
    for _ in range(29):
        tick(world, up)
    assert persisted(ann) == []
    tick(world, up)
    tick(world, up)
    assert persisted(ann) == [1]
    assert up.replication.links()[0].downgraded
    publish(ann, 2)
    tick(world, up)
    assert persisted(ann) == [1, 2]
    way = Way(up, down)
    way.go()
    assert not up.replication.links()[0].downgraded
    publish(ann, 3)
    tick(world, up)
    assert persisted(ann) == [1, 2]
    way.go()
    assert persisted(ann) == [1, 2, 3]
    told = [kind for kind in world.kinds() if kind.startswith("topic.link")]
    assert told == ["topic.link_downgraded", "topic.link_up", "topic.link_caught_up", "topic.link_upgraded"]


def test_a_downstream_that_refuses_is_not_taken_for_one_that_goes_on(world: World) -> None:
    """It acknowledges nothing, however often it answers; so its time runs."""
    patient = Downstream(name="b", url=HERE, downgrade_after=5)
    up, down = (
        world.topics(SENT_ON, downstreams=(patient,)),
        world.topics(Topic(name="objects", keys=("/no",))),
    )
    ann, way = Client(up, "ann", "writer"), Way(up, down)
    publish(ann, 1)
    for _ in range(7):
        way.go()
        tick(world, up)
    assert persisted(ann) == [1]
    (link,) = up.replication.links()
    assert (link.state, link.behind, link.downgraded) == ("refusing", 1, True)
    assert "/no" in link.why


def test_everything_arrives_as_it_is(world: World) -> None:
    """Merged deltas, deletions, what expires, correlation ids and whose it was; the keys are the same."""
    up, down = world.topics(SENT_ON, downstreams=(SYNC,)), world.topics(SOW)
    ann, way = Client(up, "ann", "writer"), Way(up, down)
    seen = Client(down, "bob")
    seen.do(Subscribe("objects", sub_id="s"))
    publish(ann, 1, correlation_id="abc")
    ann.do(DeltaPublish("objects", raw(id=1, n=2)))
    publish(ann, 2, expiration=5)
    publish(ann, 3)
    ann.do(SowDelete("objects", filter="/id = 3"))
    way.go()
    assert records(down) == records(up) == {1: {"id": 1, "n": 2}, 2: {"id": 2}}
    assert [(one.correlation_id, one.user_id) for one in seen.published[:2]] == [
        ("abc", "ann"),
        ("abc", "ann"),
    ]
    ours, theirs = ({one.sow_key for one in topics.history("objects")} for topics in (up, down))
    assert ours == theirs
    world.clock.advance(6)
    up.tend()
    way.go()
    assert records(down) == records(up) == {1: {"id": 1, "n": 2}}


def test_keys_that_publishers_give_are_kept(world: World) -> None:
    """The record has the same key downstream."""
    given = Topic(name="objects", keys="publisher", logged=True, message_type="binary")
    there = Topic(name="objects", keys="publisher", logged=True, message_type="binary", downstreams=("b",))
    up, down = world.topics(there, downstreams=(SYNC,)), world.topics(given)
    Client(up, "ann").do(Publish("objects", raw_text("AQID"), sow_key="k1"))
    Way(up, down).go()
    assert [one.sow_key for one in down.history("objects")] == ["k1"]


def raw_text(text: str) -> Any:
    import msgspec

    return msgspec.Raw(msgspec.json.encode(text))


def test_what_is_sent_again_is_not_taken_twice(world: World) -> None:
    """An answer that was lost, a link that comes back, a publisher that went to the downstream itself."""
    up, down = world.topics(SENT_ON, downstreams=(SYNC,)), world.topics(SOW)
    ann, way = Client(up, "ann", "writer"), Way(up, down)
    publish(ann, 1)
    publish(ann, 2)
    shipment = way.send()
    way.down.receive("upstream", shipment)
    way.down.receive("upstream", shipment)
    way.connect(down)
    way.go()
    publish(ann, 3)
    moved = Client(down, "ann", "writer")
    assert moved.session.last_seq == 2
    publish(moved, 3)
    way.go()
    assert log(down) == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert up.replication.links()[0].behind == 0


@pytest.mark.parametrize("kept", [0, 1, 4, 7])
def test_a_downstream_that_lost_its_end_goes_on_from_what_it_kept(world: World, kept: int) -> None:
    """A log that is older than the upstream remembers is brought up from there, nothing missing or twice."""
    other = Topic(name="other", logged=True)
    up = world.topics(SENT_ON, other, downstreams=(SYNC,))
    down = world.topics(SOW, durable=True, folder="down")
    ann, way = Client(up, "ann"), Way(up, down)
    for seq in range(8):
        if seq == kept and (world.directory / "down").exists():
            shutil.copytree(world.directory / "down", world.directory / "left")
        ann.do(Publish("objects", raw(id=seq)))
        ann.do(Publish("other", raw(id=seq)))
        way.go()
    again = world.topics(SOW, durable=True, folder="left")
    way.down = again.replication
    # Nothing is new, but whether it is there is asked now and then.
    way.take(way.send())
    way.go()
    assert log(again) == log(up) == [{"id": seq} for seq in range(8)]
    assert up.replication.links()[0].behind == 0


def test_an_upstream_that_starts_again_asks_where_the_downstream_is(world: World) -> None:
    """Nothing is waited for that is there, and what is not is sent."""
    up = world.topics(SENT_ON, downstreams=(SYNC,), durable=True)
    down = world.topics(SOW)
    ann, way = Client(up, "ann", "writer"), Way(up, down)
    publish(ann, 1)
    way.go()
    publish(ann, 2)
    up.close()
    up = world.topics(SENT_ON, downstreams=(SYNC,), durable=True)
    ann = Client(up, "ann", "writer")
    publish(ann, 3)
    tick(world, up)
    assert persisted(ann) == []
    Way(up, down).go()
    assert persisted(ann) == [3]
    assert log(down) == [{"id": 1}, {"id": 2}, {"id": 3}]


def test_a_ring_of_sandboxes_comes_to_rest(world: World) -> None:
    """Each is downstream of the one before it, and each has every message once."""
    ring = [world.topics(SENT_ON, downstreams=(SYNC,)) for _ in range(3)]
    ways = [Way(ring[at], ring[(at + 1) % 3]) for at in range(3)]
    for at, topics in enumerate(ring):
        Client(topics, "ann").do(Publish("objects", raw(id=at)))
    for _ in range(5):
        for way in ways:
            way.go()
    for topics in ring:
        assert sorted(one["id"] for one in log(topics)) == [0, 1, 2]
        assert topics.replication.links()[0].behind == 0


def test_what_a_downstream_refuses_is_not_lost(world: World) -> None:
    """It stands still and says why; once it may, everything comes."""
    rules = Access(entitlements=(Entitlement(user="upstream", topic="objects", write=False),))
    up, down = world.topics(SENT_ON, downstreams=(SYNC,)), world.topics(SOW, access=rules)
    ann, way = Client(up, "ann", "writer"), Way(up, down)
    publish(ann, 1)
    way.go()
    way.go()
    (link,) = up.replication.links()
    assert (link.state, link.why.partition(":")[0], persisted(ann)) == ("refusing", "not entitled", [])
    assert world.kinds().count("topic.link_refused") == 1
    down.entitle(Access())
    way.go()
    tick(world, up)
    assert (up.replication.links()[0].state, persisted(ann), log(down)) == ("up", [1], [{"id": 1}])


def test_the_log_keeps_what_a_downstream_lacks(world: World) -> None:
    """However old it is."""
    up = world.topics(SENT_ON, downstreams=(SYNC,), durable=True, retention=60)
    down = world.topics(SOW)
    ann, way = Client(up, "ann"), Way(up, down)
    ann.do(Publish("objects", raw(id=1)))
    way.go()
    world.clock.advance(10)
    ann.do(Publish("objects", raw(id=2)))
    world.clock.advance(3600)
    ann.do(Publish("objects", raw(id=3)))
    up._checkpoints.write()
    assert [one["id"] for one in log(up)] == [2, 3]
    way.go()
    assert [one["id"] for one in log(down)] == [1, 2, 3]
    up._checkpoints.write()


def test_another_downstream_is_waited_for_anew(world: World) -> None:
    """What the first has acknowledged says nothing of the second."""
    up, down, other = world.topics(SENT_ON, downstreams=(SYNC,)), world.topics(SOW), world.topics(SOW)
    ann, way = Client(up, "ann", "writer"), Way(up, down)
    publish(ann, 1)
    way.go()
    up.replication.point([Downstream(name="b", url="http://127.0.0.1:2")])
    tick(world, up)
    assert persisted(ann) == []
    way.connect(other)
    way.go()
    assert persisted(ann) == [1]
    assert log(other) == [{"id": 1}]


def test_memory_does_not_grow_with_what_a_downstream_lacks(world: World) -> None:
    """What waits is in the log; acknowledgements are folded while they wait."""
    up = world.topics(SENT_ON, downstreams=(SYNC,))
    ann = Client(up, "ann", "writer")
    for seq in range(1, 501):
        publish(ann, seq)
    tick(world, up)
    assert len(ann.session.persistence._waiting) == 1
    for _ in range(3):
        passing = Client(up, "passing")
        publish(passing, 1)
        tick(world, up)
        passing.session.close()
    assert list(up._registry.held) == [ann.session.persistence]
    Way(up, world.topics(SOW)).go()
    assert persisted(ann) == [500]


@pytest.mark.parametrize(
    ("topic", "downstreams", "why"),
    [
        (SENT_ON, (), "there is no downstream 'b'"),
        (SENT_ON, (SYNC, SYNC), "a name of its own"),
        (SENT_ON, (Downstream(name="b", url="127.0.0.1:9007"),), "is not that of a topics port"),
        (SENT_ON, (Downstream(name="b", url=HERE, downgrade_after=-1),), "no number of seconds"),
        (Topic(name="objects", downstreams=("b",)), (SYNC,), "logged = true is needed"),
    ],
)
def test_a_downstream_that_cannot_be_is_refused(
    world: World, topic: Topic, downstreams: tuple[Downstream, ...], why: str
) -> None:
    """With the name of the topic or downstream, and what to do."""
    with pytest.raises(BadDefinitionError, match=why):
        world.topics(topic, downstreams=downstreams)


def test_a_sandbox_is_not_downstream_of_itself(world: World) -> None:
    """It says so instead of going round."""
    up = world.topics(SENT_ON, downstreams=(SYNC,))
    Client(up, "ann").do(Publish("objects", raw(id=1)))
    Way(up, up).go()
    assert "downstream of itself" in up.replication.links()[0].why
    assert len(log(up)) == 1


def test_a_log_of_before_is_read(tmp_path: Path, world: World) -> None:
    """Entries without an arrival, as they were written until now."""
    from extensions.topics.engine.transaction_log import LoggedChange, _decode

    old = b'["published","objects",1.0,"k",{"id":1},"","ann",null,"",null,[]]'
    assert _decode(old) == LoggedChange("published", "objects", 1.0, "k", _decode(old).data, "", "ann")
