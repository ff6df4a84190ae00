"""``publish`` and ``delta_publish``: what docs/requirements/amps.yaml says of them."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest

from extensions.topics.engine.commands import Command, DeltaPublish, Publish, Sow, Subscribe
from extensions.topics.engine.topic_definitions import Topic
from extensions.topics.engine.topics_engine import TopicsEngine
from extensions.topics.engine.transaction_log import TransactionLog
from rdss_sandbox.shapes.topics import Access, Entitlement
from tests.extensions.topics.engine.topics_world import Client, World, raw, said

BOTH: Final[tuple[type[Publish], ...]] = (Publish, DeltaPublish)
SOW: Final = Topic(name="objects", keys=("/id",))
LOGGED: Final = Topic(name="objects", keys=("/id",), logged=True)
MORTAL: Final = Topic(name="objects", keys=("/id",), expiration=0)
GIVEN: Final = Topic(name="objects", keys="publisher")


def records(topics: TopicsEngine, topic: str = "objects") -> list[object]:
    reader = Client(topics, "reader")
    reader.do(Sow(topic))
    return reader.records


def test_a_second_message_with_the_key_updates_the_record(world: World) -> None:
    for kind in BOTH:
        topics = world.topics(SOW)
        ann = Client(topics, "ann")
        ann.do(kind("objects", raw(id=1, title="a")))
        ann.do(kind("objects", raw(id=2, title="b")))
        assert records(topics) == [{"id": 1, "title": "a"}, {"id": 2, "title": "b"}]
        ann.do(kind("objects", raw(id=1, title="c")))
        assert records(topics) == [{"id": 1, "title": "c"}, {"id": 2, "title": "b"}]


def test_what_is_replayed_is_what_was_delivered(world: World) -> None:
    topics = world.topics(LOGGED)
    ann, live, late = Client(topics, "ann"), Client(topics, "bob"), Client(topics, "cat")
    live.do(Subscribe("objects", sub_id="s"))
    ann.do(Publish("objects", msgspec.Raw(b'{"id": 1,\n "title": "a"}'), correlation_id="AA=="))
    ann.do(DeltaPublish("objects", raw(id=1, size=2)))
    late.do(Subscribe("objects", sub_id="s", bookmark="0"))
    assert list(map(msgspec.json.encode, live.published)) == list(map(msgspec.json.encode, late.published))
    assert [said(message) for message in late.published] == [
        {"id": 1, "title": "a"},
        {"id": 1, "title": "a", "size": 2},
    ]


def test_the_record_is_found_by_all_key_fields(world: World) -> None:
    topics = world.topics(Topic(name="objects", keys=("/id", "/held/by")))
    ann = Client(topics, "ann")
    ann.do(Publish("objects", raw(id=1, held={"by": "x"}, title="a")))
    ann.do(DeltaPublish("objects", raw(id=1, held={"by": "y"}, title="b")))
    ann.do(DeltaPublish("objects", raw(id=1, held={"by": "x"}, size=3)))
    assert records(topics) == [
        {"id": 1, "held": {"by": "x"}, "title": "a", "size": 3},
        {"id": 1, "held": {"by": "y"}, "title": "b"},
    ]


def test_fields_are_overwritten_and_appended(world: World) -> None:
    topics = world.topics(SOW)
    ann = Client(topics, "ann")
    ann.do(Publish("objects", raw(id=1, title="a", tags=[1, 2], held={"by": "x", "since": 1})))
    ann.do(DeltaPublish("objects", raw(id=1, title="b", tags=[3], held={"by": "y"}, size=9)))
    (record,) = records(topics)
    assert record == {"id": 1, "title": "b", "tags": [3], "held": {"by": "y"}, "size": 9}
    assert list(record) == ["id", "title", "tags", "held", "size"]


def test_a_delta_without_a_record_is_kept_whole(world: World) -> None:
    messages = []
    for kind in BOTH:
        topics = world.topics(SOW)
        ann, bob = Client(topics, "ann"), Client(topics, "bob")
        bob.do(Subscribe("objects", sub_id="s"))
        ann.do(kind("objects", raw(id=1, title="a"), correlation_id="x"))
        assert records(topics) == [{"id": 1, "title": "a"}]
        messages.append(msgspec.json.encode(bob.published))
    assert messages[0] == messages[1]


def test_a_delta_on_a_plain_topic_passes_as_it_is(world: World) -> None:
    messages = []
    for kind in BOTH:
        topics = world.topics(Topic(name="news", logged=True))
        ann, bob = Client(topics, "ann"), Client(topics, "bob")
        bob.do(Subscribe("news", sub_id="s"))
        ann.do(Publish("news", raw(id=1, title="a")))
        ann.do(kind("news", raw(id=1), correlation_id="x"))
        messages.append(msgspec.json.encode(bob.published))
    assert messages[0] == messages[1]


def test_a_subscriber_is_sent_the_merged_record(world: World) -> None:
    topics = world.topics(SOW)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    ann.do(Publish("objects", raw(id=1, title="a", size=1)))
    bob.do(Subscribe("objects", sub_id="s", filter="/title = 'a' AND /size = 2"))
    ann.do(DeltaPublish("objects", raw(id=1, size=2)))
    ann.do(DeltaPublish("objects", raw(id=1, size=3)))
    (message,) = bob.published
    assert msgspec.json.decode(msgspec.json.encode(message))["cmd"] == "publish"
    assert said(message) == {"id": 1, "title": "a", "size": 2}


def test_the_command_is_read_by_its_public_names(world: World) -> None:
    topics = world.topics(SOW)
    ann = Client(topics, "ann")
    for name, size in (("publish", 1), ("delta_publish", 2)):
        command = {"cmd": name, "topic": "objects", "data": {"id": 1, name: size}, "ack_type": "processed"}
        (ack,) = ann.do(read(command))
        assert ack.status == "success"
    assert records(topics) == [{"id": 1, "publish": 1, "delta_publish": 2}]
    (ack,) = ann.do(Publish("ob jects", raw(id=1), ack_type="processed"))
    assert ack.reason.startswith("invalid topic: 'ob jects'")


def read(command: dict[str, object]) -> Command:
    return msgspec.json.decode(msgspec.json.encode(command), type=Command)


def test_each_kind_asked_for_is_sent_once_with_a_status(world: World) -> None:
    for kind in BOTH:
        ann = Client(world.topics(SOW), "ann")
        got = ann.do(kind("objects", raw(id=1), ack_type="received, processed,completed,persisted"))
        assert [ack.ack_type for ack in got] == ["received", "processed", "completed", "persisted"]
        assert {ack.status for ack in got} == {"success"}


def test_a_kind_that_does_not_exist_is_an_error(world: World) -> None:
    for kind in BOTH:
        topics = world.topics(SOW)
        (ack,) = Client(topics, "ann").do(kind("objects", raw(id=1), ack_type="processed,stored"))
        assert ack.status == "failure"
        assert ack.reason.startswith("bad acknowledgement type: 'stored'")
        assert records(topics) == []


def test_acknowledgements_carry_the_command_id(world: World) -> None:
    for kind in BOTH:
        for topic in (SOW, LOGGED):
            topics = world.topics(topic)
            ann = Client(topics, "ann")
            asked = "received,processed,completed,persisted"
            for number in (1, 2):
                ann.do(kind("objects", raw(id=1), ack_type=asked, cmd_id=f"c{number}", seq=number))
            world.clock.advance(1)
            topics.tend()
            assert sorted((ack.cmd_id, ack.ack_type) for ack in ann.acks) == sorted(
                (cmd_id, ack_type) for cmd_id in ("c1", "c2") for ack_type in asked.split(",")
            )


def test_a_record_is_there_for_its_lifetime_and_no_longer(world: World) -> None:
    for kind in BOTH:
        topics = world.topics(MORTAL)
        ann = Client(topics, "ann")
        ann.do(kind("objects", raw(id=1), expiration=5))
        ann.do(kind("objects", raw(id=2), expiration=0))
        ann.do(kind("objects", raw(id=3)))
        world.clock.advance(4.9)
        assert len(records(topics)) == 3
        world.clock.advance(0.2)
        assert records(topics) == [{"id": 2}, {"id": 3}]
        (ack,) = ann.do(kind("objects", raw(id=4), expiration=-1, ack_type="processed"))
        assert ack.reason.startswith("bad expiration: -1")


def test_the_message_goes_before_the_topic_and_each_publish_begins_anew(world: World) -> None:
    topics = world.topics(Topic(name="objects", keys=("/id",), expiration=10))
    ann = Client(topics, "ann")
    ann.do(Publish("objects", raw(id=1)))
    ann.do(Publish("objects", raw(id=2), expiration=20))
    world.clock.advance(6)
    ann.do(DeltaPublish("objects", raw(id=1, size=1)))
    world.clock.advance(6)
    assert records(topics) == [{"id": 1, "size": 1}, {"id": 2}]
    world.clock.advance(5)
    assert records(topics) == [{"id": 2}]


def test_a_number_that_was_there_is_a_repeat(world: World) -> None:
    for kind in BOTH:
        topics = world.topics(SOW)
        ann, bob = Client(topics, "ann", "client-1"), Client(topics, "bob", "client-2")
        for publisher, seq, title in (
            (ann, 4, "a"),
            (ann, 4, "b"),
            (ann, 3, "c"),
            (bob, 4, "d"),
            (ann, 6, "e"),
        ):
            publisher.do(kind("objects", raw(id=f"{publisher.session.user}{title}"), seq=seq))
        assert records(topics) == [{"id": "anna"}, {"id": "bobd"}, {"id": "anne"}]
        got = ann.do(kind("objects", raw(id=7), seq=6, ack_type="processed,persisted"))
        assert [(ack.status, ack.reason) for ack in got] == [("success", "duplicate"), ("success", "")]
        assert ann.session.last_seq == 6


def test_the_correlation_id_arrives_as_it_was_given(world: World) -> None:
    for kind in BOTH:
        for topic in (SOW, Topic(name="objects")):
            topics = world.topics(topic)
            ann, bob = Client(topics, "ann"), Client(topics, "bob")
            bob.do(Subscribe("objects", sub_id="s"))
            ann.do(kind("objects", raw(id=1), correlation_id="Zm9v+/b=AA=="))
            ann.do(kind("objects", raw(id=2)))
            assert [message.correlation_id for message in bob.published] == ["Zm9v+/b=AA==", ""]
            assert b"correlation_id" not in msgspec.json.encode(bob.published[1])


def test_other_characters_in_a_correlation_id_are_refused(world: World) -> None:
    for kind in BOTH:
        topics = world.topics(SOW)
        ann = Client(topics, "ann")
        for text in ("a-b", "a b", "ä", "a\n", "a_b", "a,b"):
            (ack,) = ann.do(kind("objects", raw(id=1), correlation_id=text, ack_type="processed"))
            assert ack.reason.startswith("bad correlation id: "), text
        assert records(topics) == []


def test_the_publisher_names_the_record(world: World) -> None:
    for kind in BOTH:
        topics = world.topics(GIVEN)
        ann = Client(topics, "ann")
        ann.do(kind("objects", raw(a=1), sow_key="one"))
        ann.do(kind("objects", raw(a=1), sow_key="two"))
        ann.do(kind("objects", raw(b=1), sow_key="one"))
        merged = {"b": 1} if kind is Publish else {"a": 1, "b": 1}
        assert records(topics) == [merged, {"a": 1}]
        (ack,) = ann.do(kind("objects", raw(a=1), ack_type="processed"))
        assert ack.reason.startswith("bad sow key: a publisher gives the keys of topic 'objects'")


def test_a_key_is_refused_where_the_topic_makes_its_own(world: World) -> None:
    for topic in (SOW, Topic(name="objects")):
        (ack,) = Client(world.topics(topic), "ann").do(
            Publish("objects", raw(id=1), sow_key="one", ack_type="processed")
        )
        assert ack.reason.startswith("bad sow key: topic 'objects' takes none from publishers")


def test_other_characters_in_a_key_are_refused(world: World) -> None:
    for kind in BOTH:
        ann = Client(world.topics(GIVEN), "ann")
        assert (
            ann.do(kind("objects", raw(a=1), sow_key="az09+/=", ack_type="processed"))[0].status == "success"
        )
        (ack,) = ann.do(kind("objects", raw(a=1), sow_key="a-b", ack_type="processed"))
        assert ack.reason.startswith("bad sow key: 'a-b'")


def test_one_acknowledgement_stands_for_a_run_of_successes(world: World) -> None:
    topics = world.topics(LOGGED)
    ann = Client(topics, "ann")
    for seq in range(1, 6):
        good = raw(id=seq) if seq != 3 else raw(title="no key")
        ann.do((Publish, DeltaPublish)[seq % 2]("objects", good, seq=seq, ack_type="persisted"))
    assert ann.acks == []
    world.clock.advance(1)
    topics.tend()
    assert [(ack.status, ack.seq, ack.cmd_id) for ack in ann.acks] == [
        ("success", 2, ""),
        ("failure", 3, ""),
        ("success", 5, ""),
    ]


def test_nothing_is_acknowledged_that_was_not_asked_for(world: World) -> None:
    for kind in BOTH:
        ann = Client(world.topics(SOW), "ann")
        for asked in ("", "none"):
            assert ann.do(kind("objects", raw(id=1), cmd_id="c", ack_type=asked)) == []
            assert ann.do(kind("objects", raw(title="no key"), cmd_id="c", ack_type=asked)) == []


def test_completed_is_not_a_success_where_processed_is_none(world: World) -> None:
    for kind in BOTH:
        ann = Client(world.topics(SOW), "ann")
        good = ann.do(kind("objects", raw(id=1), ack_type="completed,processed"))
        assert [(ack.ack_type, ack.status) for ack in good] == [
            ("processed", "success"),
            ("completed", "success"),
        ]
        bad = ann.do(kind("objects", msgspec.Raw(b"{"), ack_type="completed,processed"))
        assert [(ack.ack_type, ack.status) for ack in bad] == [
            ("processed", "failure"),
            ("completed", "failure"),
        ]


def test_persisted_comes_after_the_log_is_safe(world: World) -> None:
    happened: list[str] = []
    sync = TransactionLog.sync

    def syncing(log: TransactionLog) -> None:
        happened.append("synced")
        sync(log)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionLog, "sync", syncing)
        topics = world.topics(SOW, durable=True, fsync=True)
        session = topics.session("ann", lambda ack: happened.append(ack.ack_type))
        session.execute(Publish("objects", raw(id=1), ack_type="processed,persisted"))
    assert happened == ["processed", "synced", "persisted"]
    topics.close()
    assert records(world.topics(SOW, durable=True)) == [{"id": 1}]


def test_a_log_that_cannot_be_made_safe_is_not_acknowledged(world: World) -> None:
    def full(_: TransactionLog) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionLog, "sync", full)
        ann = Client(world.topics(SOW, durable=True), "ann")
        (ack,) = ann.do(Publish("objects", raw(id=1), ack_type="persisted"))
    assert (ack.status, ack.reason.startswith("not stored")) == ("failure", True)


def test_persisted_is_sent_for_a_topic_that_keeps_nothing(world: World) -> None:
    for kind in BOTH:
        (ack,) = Client(world.topics(), "ann").do(kind("news", raw(id=1), ack_type="persisted", cmd_id="c"))
        assert (ack.ack_type, ack.status, ack.cmd_id) == ("persisted", "success", "c")


def test_what_is_wrong_is_in_processed_and_in_the_log(world: World) -> None:
    for kind in BOTH:
        topics = world.topics(SOW)
        ann = Client(topics, "ann")
        (ack,) = ann.do(kind("objects", msgspec.Raw(b'{"id": }'), ack_type="processed", cmd_id="c7"))
        assert (ack.status, ack.cmd_id) == ("failure", "c7")
        assert ack.reason.startswith("bad message: the data cannot be read as JSON")
        (ack,) = ann.do(kind("objects", raw(title="no key"), ack_type="processed"))
        assert ack.reason.startswith("bad sow key: the key field /id holds nothing")
        ann.do(kind("objects", msgspec.Raw(b"7")))
        failed = [event.fields for event in world.events.since() if event.kind == "topic.command_failed"]
        tag = "publish" if kind is Publish else "delta_publish"
        assert [one["command"] for one in failed[-3:]] == [tag] * 3
        assert failed[-3]["reason"].startswith("bad message")
        assert failed[-1]["reason"].startswith("bad message: a record of topic 'objects' is a JSON object")
        assert records(topics) == []


def test_entitlement_is_checked_before_processed(world: World) -> None:
    access = Access(entitlements=(Entitlement(user="ann", topic="objects", filter="/size < 10"),))
    for kind in BOTH:
        topics = world.topics(SOW, access=access)
        ann, bob = Client(topics, "ann"), Client(topics, "bob")
        statuses = [
            client.do(kind("objects", raw(id=1, size=size), ack_type="processed"))[0].reason.partition(":")[0]
            for client, size in ((ann, 1), (ann, 10), (bob, 1))
        ]
        assert statuses == ["", "not entitled", "not entitled"]


def test_processed_comes_before_persisted(world: World) -> None:
    for kind in BOTH:
        topics = world.topics(LOGGED)
        ann = Client(topics, "ann")
        ann.do(kind("objects", raw(id=1), ack_type="processed,persisted"))
        assert [ack.ack_type for ack in ann.acks] == ["processed"]
        world.clock.advance(1)
        topics.tend()
        assert [ack.ack_type for ack in ann.acks] == ["processed", "persisted"]


def test_received_is_sent_even_for_what_is_wrong(world: World) -> None:
    for kind in BOTH:
        (ack,) = Client(world.topics(SOW), "ann").do(kind("objects", raw(), ack_type="received"))
        assert (ack.ack_type, ack.status) == ("received", "success")


def test_stats_of_a_publish_are_not_sent(world: World) -> None:
    for kind in BOTH:
        got = Client(world.topics(SOW), "ann").do(kind("objects", raw(id=1), ack_type="stats,processed"))
        assert [ack.ack_type for ack in got] == ["processed"]


def test_an_error_is_not_sent_where_processed_was_not_asked_for(world: World) -> None:
    for kind in BOTH:
        ann = Client(world.topics(SOW), "ann")
        assert [ack.ack_type for ack in ann.do(kind("objects", raw(), ack_type="received"))] == ["received"]
        assert world.kinds()[-1] == "topic.command_failed"
        assert ann.do(kind("objects", raw(id=1), ack_type="received"))[-1].ack_type == "received"


def test_every_other_client_with_a_matching_subscription_is_sent_it(world: World) -> None:
    topics = world.topics()
    ann, bob, cat, dan = (Client(topics, user) for user in ("ann", "bob", "cat", "dan"))
    bob.do(Subscribe("news", sub_id="s", filter="/size > 1"))
    cat.do(Subscribe("n.*", sub_id="s"))
    dan.do(Subscribe("olds", sub_id="s"))
    ann.do(Publish("news", raw(size=1)))
    ann.do(Publish("news", raw(size=2)))
    assert [said(message) for message in bob.published] == [{"size": 2}]
    assert [said(message) for message in cat.published] == [{"size": 1}, {"size": 2}]
    assert dan.published == []


def test_the_same_publish_does_what_the_topic_is_configured_for(world: World) -> None:
    for topic, keeps, logs in (
        (Topic(name="objects"), False, False),
        (SOW, True, False),
        (Topic(name="objects", logged=True), False, True),
        (LOGGED, True, True),
    ):
        topics = world.topics(topic)
        ann, bob = Client(topics, "ann"), Client(topics, "bob")
        bob.do(Subscribe("objects", sub_id="s"))
        ann.do(Publish("objects", raw(id=1)))
        (message,) = bob.published
        assert (bool(message.sow_key), bool(message.bookmark)) == (keeps, logs)
        assert len(topics.history("objects")) == logs
        assert len(records(topics) if keeps else []) == keeps


def test_a_repeat_after_a_restart_is_known(world: World) -> None:
    topics = world.topics(LOGGED, durable=True)
    Client(topics, "ann", "client-1").do(Publish("objects", raw(id=1), seq=5))
    topics.close()
    topics = world.topics(LOGGED, durable=True)
    ann = Client(topics, "ann", "client-1")
    assert ann.session.last_seq == 5
    ann.do(Publish("objects", raw(id=2), seq=5))
    ann.do(Publish("objects", raw(id=3), seq=6))
    assert records(topics) == [{"id": 1}, {"id": 3}]
