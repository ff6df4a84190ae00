"""``publish``, ``sow`` and ``oof`` messages: what docs/requirements/amps.yaml says of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec

from extensions.topics.engine.commands import (
    DeltaPublish,
    Publish,
    Sow,
    SowAndSubscribe,
    SowDelete,
    Subscribe,
)
from extensions.topics.engine.outgoing_messages import (
    GroupBegin,
    GroupEnd,
    OofMessage,
    PublishMessage,
    SowMessage,
)
from extensions.topics.engine.topic_definitions import (
    ConflatedTopic,
    Definition,
    Queue,
    Topic,
    View,
    ViewColumn,
)
from extensions.topics.engine.topics_engine import TopicsEngine
from rdss_sandbox.shapes.topics import Access, Entitlement
from tests.extensions.topics.engine.topics_world import NOON, Client, World, raw, said

PLAIN: Final = Topic(name="objects")
SOW: Final = Topic(name="objects", keys=("/id",), expiration=0)
LOGGED: Final = Topic(name="objects", keys=("/id",), logged=True)
REPLICA: Final = ConflatedTopic(name="slow", of="objects", interval=1)
VIEW: Final = View(
    name="kinds",
    of=("objects",),
    keys=("/kind",),
    columns=(
        ViewColumn(name="count", path="/id", aggregate="count"),
        ViewColumn(name="size", path="/size", aggregate="sum"),
    ),
)


def pair(world: World, *definitions: Definition) -> tuple[TopicsEngine, Client, Client]:
    topics = world.topics(*definitions)
    return topics, Client(topics, "ann"), Client(topics, "bob")


def written(message: Any) -> dict[str, Any]:
    """The message as it goes out."""
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(message))
    return decoded


def tell(world: World, topics: TopicsEngine) -> None:
    """Let an interval of the conflated topics pass."""
    world.clock.advance(1)
    topics.tend()


def test_live_and_replayed_messages_come_in_the_order_of_publishing(world: World) -> None:
    _, ann, bob = pair(world, LOGGED)
    for number in range(5):
        ann.do(Publish("objects", raw(id=number % 2, number=number)))
    bob.do(Subscribe("objects", sub_id="s", bookmark="0"))
    for number in range(5, 9):
        ann.do(Publish("objects", raw(id=number % 2, number=number)))
    assert [said(message)["number"] for message in bob.published] == list(range(9))


def test_a_query_is_answered_with_what_is_there_now(world: World) -> None:
    _, ann, bob = pair(world, SOW)
    ann.do(Publish("objects", raw(id=1, size=1)))
    ann.do(Publish("objects", raw(id=1, size=2)))
    ann.do(Publish("objects", raw(id=2, size=1)))
    ann.do(SowDelete("objects", filter="/id = 2"))
    bob.do(Sow("objects"))
    assert bob.records == [{"id": 1, "size": 2}]


def test_orderby_orders_by_the_data(world: World) -> None:
    _, ann, bob = pair(world, SOW)
    for number, (size, title) in enumerate([(10, "b"), (9, "a"), (None, "c"), (10, "a")]):
        ann.do(Publish("objects", raw(id=number, size=size, title=title)))
    for orderby, order in {
        "/size": [2, 1, 0, 3],
        "/size DESC, /title": [3, 0, 1, 2],
        "/size DESC, /title DESC": [0, 3, 1, 2],
        "/size DESC TEXT, /id asc": [1, 0, 3, 2],
    }.items():
        bob.inbox.clear()
        bob.do(Sow("objects", orderby=orderby))
        assert [record["id"] for record in bob.records] == order, orderby
    bob.inbox.clear()
    bob.do(Sow("objects"))
    assert sorted(record["id"] for record in bob.records) == [0, 1, 2, 3]


def test_an_oof_comes_in_its_place_and_only_for_what_was_sent(world: World) -> None:
    _, ann, bob = pair(world, SOW)
    ann.do(Publish("objects", raw(id=1, size=1)))
    ann.do(Publish("objects", raw(id=2, size=5)))
    bob.do(SowAndSubscribe("objects", filter="/size < 3", sub_id="s", opts="oof"))
    for number, size in ((2, 6), (1, 2), (1, 3), (1, 4), (1, 1), (3, 9)):
        ann.do(Publish("objects", raw(id=number, size=size)))
    seen = [(type(m), said(m)["size"]) for m in bob.inbox if isinstance(m, PublishMessage | OofMessage)]
    assert seen == [(PublishMessage, 2), (OofMessage, 3), (PublishMessage, 1)]


def test_an_oof_is_sent_only_if_asked_for(world: World) -> None:
    _, ann, bob = pair(world, SOW)
    ann.do(Publish("objects", raw(id=1)))
    bob.do(SowAndSubscribe("objects", sub_id="s"))
    ann.do(SowDelete("objects", filter="1=1"))
    assert bob.oofs == []


def test_a_message_that_matches_is_sent(world: World) -> None:
    _, ann, bob = pair(world, PLAIN)
    bob.do(Subscribe("objects", sub_id="s", filter="/size IN (1, 3)"))
    for size in (1, 2, 3):
        ann.do(Publish("objects", raw(size=size)))
    assert [said(message)["size"] for message in bob.published] == [1, 3]


def test_the_publishers_headers_are_passed_on(world: World) -> None:
    for topic, definitions in (("objects", (PLAIN,)), ("objects", (SOW,)), ("slow", (SOW, REPLICA))):
        topics, ann, bob = pair(world, *definitions)
        bob.do(Subscribe(topic, sub_id="s"))
        ann.do(Publish("objects", raw(id=1), correlation_id="abc"))
        tell(world, topics)
        (message,) = bob.published
        assert (message.topic, message.user_id, message.correlation_id) == (topic, "ann", "abc")


def test_a_view_joins_and_aggregates(world: World) -> None:
    files = Topic(name="files", keys=("/name",))
    view = View(
        name="holdings",
        of=("objects", "files"),
        keys=("/id",),
        columns=(
            ViewColumn(name="title", path="/title", topic="objects"),
            ViewColumn(name="files", path="/name", topic="files", aggregate="count"),
            ViewColumn(name="bytes", path="/size", topic="files", aggregate="sum"),
            ViewColumn(name="least", path="/size", topic="files", aggregate="min"),
            ViewColumn(name="most", path="/size", topic="files", aggregate="max"),
            ViewColumn(name="mean", path="/size", topic="files", aggregate="avg"),
        ),
    )
    _, ann, bob = pair(world, SOW, files, view)
    bob.do(SowAndSubscribe("holdings", sub_id="s", opts="oof"))
    ann.do(Publish("objects", raw(id=1, title="a")))
    ann.do(Publish("files", raw(id=1, name="x", size=2)))
    ann.do(Publish("files", raw(id=1, name="y", size=4)))
    assert said(bob.published[-1]) == {
        "id": 1, "title": "a", "files": 2, "bytes": 6, "least": 2, "most": 4, "mean": 3.0,
    }  # fmt: skip
    ann.do(SowDelete("files", filter="1=1"))
    ann.do(SowDelete("objects", filter="1=1"))
    assert [oof.reason for oof in bob.oofs] == ["deleted"]


def test_a_conflated_topic_tells_the_last_of_an_interval(world: World) -> None:
    topics, ann, bob = pair(world, SOW, REPLICA)
    bob.do(SowAndSubscribe("slow", sub_id="s", opts="oof"))
    for size in range(3):
        ann.do(Publish("objects", raw(id=1, size=size), correlation_id=f"c{size}"))
    assert bob.published == []
    tell(world, topics)
    (message,) = bob.published
    assert (said(message), message.correlation_id) == ({"id": 1, "size": 2}, "c2")
    for number in (1, 2, 1):
        ann.do(Publish("objects", raw(id=number)))
    tell(world, topics)
    assert [said(message)["id"] for message in bob.published[1:]] == [2, 1]
    ann.do(SowDelete("objects", filter="1=1"))
    tell(world, topics)
    assert [oof.reason for oof in bob.oofs] == ["deleted", "deleted"]


def test_a_delta_is_its_publishers(world: World) -> None:
    topics, ann, bob = pair(world, SOW)
    bob.do(Subscribe("objects", sub_id="s"))
    ann.do(Publish("objects", raw(id=1)))
    Client(topics, "cat").do(DeltaPublish("objects", raw(id=1, size=2), correlation_id="new"))
    assert [(one.user_id, one.correlation_id) for one in bob.published] == [("ann", ""), ("cat", "new")]


def test_a_synthetic_message_has_no_origin(world: World) -> None:
    for topic, more in (("kinds", ()), ("slow", (ConflatedTopic(name="slow", of="kinds"),))):
        topics, ann, bob = pair(world, SOW, VIEW, *more)
        bob.do(Subscribe(topic, sub_id="s"))
        ann.do(Publish("objects", raw(id=1, kind="a", size=3), correlation_id="abc"))
        tell(world, topics)
        (message,) = bob.published
        assert said(message) == {"kind": "a", "count": 1, "size": 3}
        assert not {"correlation_id", "user_id"} & written(message).keys()


def test_a_publish_message_says_what_it_is(world: World) -> None:
    _, ann, bob = pair(world, PLAIN)
    bob.do(Subscribe("obj.*", sub_id="s"))
    ann.do(Publish("objects", raw(id=1)))
    message = written(bob.published[0])
    assert (message["cmd"], message["topic"], message["data"]) == ("publish", "objects", {"id": 1})


def test_the_correlation_id_after_publish_and_delta(world: World) -> None:
    _, ann, bob = pair(world, SOW)
    bob.do(Subscribe("objects", sub_id="s"))
    for kind, correlation_id, seen in (
        (DeltaPublish, "", ""),
        (DeltaPublish, "", ""),
        (DeltaPublish, "a", "a"),
        (DeltaPublish, "", "a"),
        (DeltaPublish, "b", "b"),
        (Publish, "", ""),
        (DeltaPublish, "", ""),
        (Publish, "c+/=", "c+/="),
    ):
        ann.do(kind("objects", raw(id=1), correlation_id=correlation_id))
        assert bob.published[-1].correlation_id == seen


def test_the_user_is_the_sessions(world: World) -> None:
    topics, ann, bob = pair(world, LOGGED)
    bob.do(Subscribe("objects", sub_id="live"))
    ann.do(Publish("objects", raw(id=1)))
    late = Client(topics, "cat")
    late.do(Subscribe("objects", sub_id="late", bookmark="0"))
    assert [one.user_id for one in bob.published + late.published] == ["ann", "ann"]


def test_access_can_withhold_the_user(world: World) -> None:
    topics = world.topics(LOGGED, access=Access(reveal_users=False))
    ann, bob, cat = Client(topics, "ann"), Client(topics, "bob"), Client(topics, "cat")
    bob.do(Subscribe("objects", sub_id="live"))
    ann.do(Publish("objects", raw(id=1)))
    cat.do(Subscribe("objects", sub_id="late", bookmark="0"))
    assert [one.user_id for one in bob.published + cat.published] == ["", ""]


def test_the_ids_of_one_session_are_folded(world: World) -> None:
    topics, ann, bob = pair(world, SOW)
    other = Client(topics, "cat")
    for sub_id, text in (("s1", ""), ("s2", "/id = 1"), ("s3", "/id = 2"), ("s4", "/id > 0")):
        bob.do(Subscribe("objects", sub_id=sub_id, filter=text))
    other.do(Subscribe("objects", sub_id="mine"))
    ann.do(Publish("objects", raw(id=1)))
    (message,) = bob.published
    assert set(message.sids.split(",")) == {"s1", "s2", "s4"}
    assert [one.sids for one in other.published] == ["mine"]


def test_one_message_has_the_ids_of_all_its_subscriptions(world: World) -> None:
    _, ann, bob = pair(world, SOW)
    for sub_id in ("s1", "s2"):
        bob.do(SowAndSubscribe("objects", sub_id=sub_id, opts="oof"))
    ann.do(Publish("objects", raw(id=1)))
    ann.do(SowDelete("objects", filter="1=1"))
    for message in (bob.published[0], bob.oofs[0]):
        assert message.sids == "s1,s2"
        assert said(message) == {"id": 1}


def test_a_bookmark_is_had_in_the_log_and_rises(world: World) -> None:
    _, ann, bob = pair(world, LOGGED, Topic(name="plain"))
    bob.do(Subscribe(".*", sub_id="s"))
    for topic in ("objects", "plain", "objects", "undefined"):
        ann.do(Publish(topic, raw(id=1)))
    first, plain, second, undefined = (message.bookmark for message in bob.published)
    assert "" < first < second
    assert plain == undefined == ""


def test_a_timestamp_is_had_where_it_was_asked_for(world: World) -> None:
    _, ann, bob = pair(world, PLAIN)
    bob.do(Subscribe("objects", sub_id="with", opts="timestamp"))
    bob.do(Subscribe("objects", sub_id="without"))
    world.clock.advance(2.5)
    ann.do(Publish("objects", raw(id=1)))
    times = {message.sids: message.timestamp for message in bob.published}
    assert times["without"] == ""
    assert datetime.fromisoformat(times["with"]).timestamp() == NOON + 2.5


def test_a_message_of_a_queue_says_when_its_lease_ends(world: World) -> None:
    _, ann, bob = pair(world, LOGGED, Queue(name="work", of=("objects",), lease=30))
    bob.do(Subscribe("work", sub_id="s"))
    ann.do(Publish("objects", raw(id=1)))
    message = written(bob.published[0])
    assert datetime.fromisoformat(message["leaseperiod"]).timestamp() == NOON + 30
    assert message["topic"] == "work"


def test_the_key_is_had_where_there_is_a_state_of_the_world(world: World) -> None:
    _, ann, bob = pair(world, SOW, Topic(name="given", keys="publisher"), Topic(name="plain"))
    bob.do(Subscribe(".*", sub_id="s"))
    ann.do(Publish("objects", raw(id=1)))
    ann.do(Publish("objects", raw(id=1, size=2)))
    ann.do(Publish("objects", raw(id=2)))
    ann.do(Publish("given", raw(), sow_key="mine"))
    ann.do(Publish("plain", raw()))
    one, same, other, given, plain = (message.sow_key for message in bob.published)
    assert one == same != other
    assert (given, plain) == ("mine", "")


def queried(world: World, batch_size: int = 1, **query: Any) -> tuple[list[dict[str, Any]], Client]:
    """The answer to a query for three records, as it goes out."""
    _, ann, bob = pair(world, SOW)
    for number, correlation_id in ((1, "one"), (22, ""), (333, "three")):
        ann.do(Publish("objects", raw(id=number, title="ä" * number), correlation_id=correlation_id))
    bob.do(Sow("objects", batch_size=batch_size, **query))
    return [written(message) for message in bob.all(SowMessage)], bob


def test_a_sow_message_says_what_it_is(world: World) -> None:
    messages, bob = queried(world)
    assert [(one["cmd"], one["topic"], len(one["data"])) for one in messages] == [("sow", "objects", 1)] * 3
    assert [type(one) for one in bob.inbox] == [GroupBegin, *[SowMessage] * 3, GroupEnd]


def test_each_record_has_its_key(world: World) -> None:
    (message,), bob = queried(world, batch_size=5)
    keys = [record["sow_key"] for record in message["data"]]
    assert len(set(keys)) == 3
    assert message["sow_key"] == keys[0]
    bob.inbox.clear()
    bob.do(Sow("objects", sow_keys=f"{keys[2]},{keys[0]},unknown"))
    assert sorted(record["id"] for record in bob.records) == [1, 333]


def test_a_message_has_a_batch_of_records(world: World) -> None:
    messages, _ = queried(world, batch_size=2)
    assert [(one["batch_size"], len(one["data"])) for one in messages] == [(2, 2), (1, 1)]
    assert all({"sow_key", "data"} <= record.keys() for one in messages for record in one["data"])


def test_a_sow_message_says_when_it_was_made(world: World) -> None:
    world.clock.advance(60)
    messages, _ = queried(world)
    assert {datetime.fromisoformat(one["timestamp"]).timestamp() for one in messages} == {NOON + 60}


def test_a_sow_message_says_of_which_query_it_is(world: World) -> None:
    for query, said_id in (({"query_id": "q", "cmd_id": "c"}, "q"), ({"cmd_id": "c"}, "c")):
        messages, bob = queried(world, **query)
        assert {one["query_id"] for one in messages} == {said_id}
        assert [one.query_id for one in bob.all(GroupBegin) + bob.all(GroupEnd)] == [said_id] * 2


def test_lengths_are_of_what_comes_next(world: World) -> None:
    (message,), bob = queried(world, batch_size=3)
    lengths = [len(bytes(record.data)) for record in bob.all(SowMessage)[0].data]
    assert message["msg_len"] == lengths[0]
    assert [record.get("msg_len") for record in message["data"]] == [lengths[1], lengths[2], None]
    assert lengths[1] > 22 * 2


def test_each_record_has_its_correlation_id(world: World) -> None:
    (message,), _ = queried(world, batch_size=3)
    assert [record.get("correlation_id") for record in message["data"]] == ["one", None, "three"]


def left(world: World, how: str) -> tuple[OofMessage, str]:
    """The oof when a record leaves in one of the ways, and the record's key."""
    access = Access(
        entitlements=(
            Entitlement(user="bob", topic="objects", filter="/secret IS NULL"),
            Entitlement(user="ann", topic="objects"),
        )
    )
    topics = world.topics(SOW, access=access)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    ann.do(Publish("objects", raw(id=1, size=1), correlation_id="first", expiration=10))
    bob.do(SowAndSubscribe("objects", filter="/size = 1", sub_id="s", opts="oof"))
    if how == "deleted":
        ann.do(SowDelete("objects", data=raw(id=1)))
    elif how == "expired":
        world.clock.advance(10)
        topics.tend()
    elif how == "filter":
        ann.do(DeltaPublish("objects", raw(id=1, size=2), correlation_id="second"))
    else:
        ann.do(DeltaPublish("objects", raw(id=1, secret="yes")))
    (oof,) = bob.oofs
    return oof, bob.all(SowMessage)[0].sow_key


def test_an_oof_says_what_it_is(world: World) -> None:
    oof, key = left(world, "deleted")
    message = written(oof)
    assert (message["cmd"], message["topic"], message["sow_key"], message["sids"]) == (
        "oof",
        "objects",
        key,
        "s",
    )


def test_an_oof_has_one_of_four_reasons(world: World) -> None:
    for reason in ("deleted", "expired", "filter", "entitlement"):
        assert left(world, reason)[0].reason == reason


def test_an_entitlement_that_is_taken_away_is_a_reason(world: World) -> None:
    topics, ann, bob = pair(world, SOW)
    ann.do(Publish("objects", raw(id=1)))
    bob.do(SowAndSubscribe("objects", sub_id="s", opts="oof"))
    topics.entitle(Access(entitlements=(Entitlement(user="ann", topic="*"),)))
    ann.do(Publish("objects", raw(id=1, size=2)))
    assert [(oof.reason, bytes(oof.data)) for oof in bob.oofs] == [("entitlement", b"")]
    assert bob.published == []
    topics.entitle(Access())
    ann.do(Publish("objects", raw(id=1, size=3)))
    assert [said(message)["size"] for message in bob.published] == [3]


def test_an_oof_has_the_records_correlation_id(world: World) -> None:
    found = {
        how: left(world, how)[0].correlation_id for how in ("deleted", "expired", "filter", "entitlement")
    }
    assert found == {"deleted": "first", "expired": "first", "filter": "second", "entitlement": ""}
    _, ann, bob = pair(world, SOW)
    ann.do(Publish("objects", raw(id=1)))
    bob.do(SowAndSubscribe("objects", sub_id="s", opts="oof"))
    ann.do(SowDelete("objects", filter="1=1"))
    assert "correlation_id" not in written(bob.oofs[0])


def test_an_oof_has_the_updated_record_except_for_entitlement(world: World) -> None:
    assert said(left(world, "filter")[0]) == {"id": 1, "size": 2}
    assert said(left(world, "deleted")[0]) == {"id": 1, "size": 1}
    assert said(left(world, "expired")[0]) == {"id": 1, "size": 1}
    assert "data" not in written(left(world, "entitlement")[0])
