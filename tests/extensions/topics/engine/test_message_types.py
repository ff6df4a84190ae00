"""Messages that are not JSON: what is the same for them, what is not, and what is refused."""

from __future__ import annotations

from base64 import b64encode
from time import thread_time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import (
    Command,
    DeltaPublish,
    DeltaSubscribe,
    Publish,
    Sow,
    SowAndDeltaSubscribe,
    SowAndSubscribe,
    SowDelete,
    Subscribe,
)
from extensions.topics.engine.message_types import JSON, MessageType, TypeName, message_type
from extensions.topics.engine.message_types.nvfix import MOST_FIELDS, Nvfix
from extensions.topics.engine.outgoing_messages import Ack, SowMessage
from extensions.topics.engine.topic_definitions import (
    BadDefinitionError,
    ConflatedTopic,
    Queue,
    Topic,
    View,
    ViewColumn,
)
from tests.extensions.topics.engine.topics_world import Client, World, said

NVFIX = Nvfix()
BINARY = Topic(name="blobs", keys="publisher", logged=True, message_type="binary", expiration=0)
TEXTS = st.text(st.characters(blacklist_characters="=\x01|", blacklist_categories=["Cs"]))
NAMES = TEXTS.filter(bool)
VALUES = st.text(st.characters(blacklist_characters="\x01|", blacklist_categories=["Cs"]))


class Written:
    """A topic of one type, with records that are written in it and read back."""

    def __init__(self, world: World, name: TypeName, separator: str = "", **more: Any) -> None:
        self.kind: MessageType = message_type(name, separator)
        settings: dict[str, Any] = {"message_type": name, "separator": separator}
        self.topic = Topic(name="orders", keys=("/id",), logged=True, expiration=0, **settings, **more)
        self.world = world

    def write(self, **fields: Any) -> msgspec.Raw:
        return self.kind.render(fields)

    def read(self, message: Any) -> Any:
        return self.kind.parse(message.data)

    def records(self, client: Client, command: Command) -> list[Any]:
        sent = client.do(command)
        return [self.read(one) for each in sent if isinstance(each, SowMessage) for one in each.data]


@pytest.fixture(params=[("json", ""), ("nvfix", ""), ("nvfix", "|")], ids=["json", "nvfix", "nvfix, bars"])
def written(world: World, request: pytest.FixtureRequest) -> Written:
    """The same for every type with fields: all values are texts."""
    return Written(world, *request.param)


def test_records_are_kept_asked_for_and_deleted_by_their_fields(written: Written) -> None:
    """Keys, filters, order, numbers in texts and deletion by data."""
    ann = Client(written.world.topics(written.topic), "ann")
    for number, kind in (("1", "a"), ("2", "b"), ("10", "a")):
        ann.do(Publish("orders", written.write(id=number, kind=kind)))
    ann.do(Publish("orders", written.write(id="1", kind="c")))
    found = written.records(ann, Sow("orders", filter="/id > 1", orderby="/id DESC"))
    assert found == [{"id": "10", "kind": "a"}, {"id": "2", "kind": "b"}]
    assert written.records(ann, Sow("orders", filter="/kind LIKE '^[bc]$' AND /nothing IS NULL")) == [
        {"id": "1", "kind": "c"},
        {"id": "2", "kind": "b"},
    ]
    ann.do(SowDelete("orders", data=written.write(id="2")))
    ann.do(SowDelete("orders", filter="/kind = 'a'"))
    assert written.records(ann, Sow("orders")) == [{"id": "1", "kind": "c"}]


def test_deltas_are_laid_over_and_told(written: Written) -> None:
    """The record is merged; a subscription to deltas has its key and what changed, written in the type."""
    topics = written.world.topics(written.topic)
    ann, bob, eve = (Client(topics, name) for name in ("ann", "bob", "eve"))
    ann.do(Publish("orders", written.write(id="1", a="x", b="y")))
    bob.do(SowAndDeltaSubscribe("orders", sub_id="s"))
    eve.do(DeltaSubscribe("orders", sub_id="s"))
    ann.do(DeltaPublish("orders", written.write(id="1", b="z", c="new")))
    ann.do(DeltaPublish("orders", written.write(id="2", b="z")))
    assert written.records(ann, Sow("orders")) == [
        {"id": "1", "a": "x", "b": "z", "c": "new"},
        {"id": "2", "b": "z"},
    ]
    for client in (bob, eve):
        assert [written.read(one) for one in client.published] == [
            {"id": "1", "b": "z", "c": "new"},
            {"id": "2", "b": "z"},
        ]


def test_what_leaves_a_filter_is_told(written: Written) -> None:
    """With the record as it now is."""
    topics = written.world.topics(written.topic)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(SowAndSubscribe("orders", filter="/size > 3", sub_id="s", opts="oof"))
    ann.do(Publish("orders", written.write(id="1", size="4")))
    ann.do(DeltaPublish("orders", written.write(id="1", size="2")))
    assert [written.read(one) for one in bob.published] == [{"id": "1", "size": "4"}]
    assert [(one.reason, written.read(one)) for one in bob.oofs] == [("filter", {"id": "1", "size": "2"})]


def test_views_conflation_queues_and_replays_follow_the_type(written: Written) -> None:
    """What is made of a topic is written as the topic is."""
    view = View(
        name="kinds",
        of=("orders",),
        keys=("/kind",),
        columns=(
            ViewColumn(name="n", path="/id", aggregate="count"),
            ViewColumn(name="sum", path="/size", aggregate="sum"),
            ViewColumn(name="last", path="/id"),
            ViewColumn(name="none", path="/none"),
        ),
    )
    slow = ConflatedTopic(name="slow", of="kinds")
    queue = Queue(name="work", of=("orders",), max_backlog=10)
    topics = written.world.topics(written.topic, view, slow, queue)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    for number in ("1", "2"):
        ann.do(Publish("orders", written.write(id=number, kind="a", size="1.5")))
    written.world.clock.advance(2)
    for name in ("kinds", "slow"):
        (row,) = written.records(ann, Sow(name, filter="/n = 2 AND /sum = 3"))
        assert (row["kind"], str(row["n"]), float(row["sum"]), row["last"]) == ("a", "2", 3.0, "2")
        assert row.get("none") is None
    bob.do(Subscribe("work", sub_id="q", filter="/id = 2", opts="max_backlog=10"))
    bob.do(Subscribe("orders", sub_id="r", filter="/id = 1", bookmark="0"))
    assert [written.read(one)["id"] for one in bob.published] == ["2", "1"]


def test_a_topic_that_is_opened_again_keeps_its_type(written: Written) -> None:
    """Records, filters, deltas and a queue's messages are as they were."""
    queue = Queue(name="work", of=("orders",))
    topics = written.world.topics(written.topic, queue, durable=True)
    Client(topics, "ann").do(Publish("orders", written.write(id="1", a="x\ny")))
    topics.close()
    topics = written.world.topics(written.topic, queue, durable=True)
    ann = Client(topics, "ann")
    ann.do(DeltaPublish("orders", written.write(id="1", b="2")))
    assert written.records(ann, Sow("orders", filter="/b = 2")) == [{"id": "1", "a": "x\ny", "b": "2"}]
    ann.do(Subscribe("work", sub_id="s", filter="/a LIKE '^x'"))
    assert written.read(ann.published[0]) == {"id": "1", "a": "x\ny"}


def test_the_length_is_that_of_the_message(written: Written) -> None:
    """In bytes, without what carries it."""
    ann = Client(written.world.topics(written.topic), "ann")
    body = written.write(id="é")
    ann.do(Publish("orders", body))
    ann.do(Sow("orders"))
    (message,) = ann.all(SowMessage)
    plain = bytes(body) if written.kind is JSON else msgspec.json.decode(body).encode()
    assert message.msg_len == len(plain)


@given(st.dictionaries(NAMES, VALUES | st.lists(VALUES, min_size=2)), st.sampled_from(["", "|"]))
def test_nvfix_says_what_was_written(fields: dict[str, Any], separator: str) -> None:
    """Whatever names and values there are, and whether or not the last field is ended."""
    kind = message_type("nvfix", separator)
    body = kind.render(fields)
    assert kind.parse(body) == fields
    text = msgspec.json.decode(body)
    assert kind.size(body) == len(text.encode())
    if text and not text.removesuffix(separator or "\x01").endswith(separator or "\x01"):
        open_ended = msgspec.Raw(msgspec.json.encode(text.removesuffix(separator or "\x01")))
        assert kind.parse(open_ended) == fields


@given(st.dictionaries(NAMES, VALUES), st.dictionaries(NAMES, VALUES))
def test_a_delta_means_the_same_in_every_type(record: dict[str, str], delta: dict[str, str]) -> None:
    """Field by field, in the order of the record."""
    merged = [
        kind.parse(kind.merge(kind.render(record), kind.render(delta)))
        for kind in (JSON, message_type("nvfix"), message_type("nvfix", "|"))
    ]
    assert all(list(one.items()) == list((record | delta).items()) for one in merged)


@pytest.mark.parametrize(
    ("name", "body", "why"),
    [
        ("nvfix", b'{"id": "1"}', "is no string"),
        ("nvfix", b"1", "is no string"),
        ("nvfix", b'"id"', "is no name=value"),
        ("nvfix", b'"=1"', "is no name=value"),
        ("nvfix", b'"id=1\\u0001\\u0001a=2"', "is no name=value"),
        ("nvfix", b"", "there is no data"),
        ("binary", b'{"id": "1"}', "Base64"),
        ("binary", b'"a"', "Base64"),
        ("binary", b'"****"', "Base64"),
        ("binary", b"", "there is no data"),
    ],
)
def test_a_message_of_another_type_is_refused(world: World, name: TypeName, body: bytes, why: str) -> None:
    """In the acknowledgement and in the events, whether or not anybody looks into it; nothing is changed."""
    topics = world.topics(Topic(name="orders", message_type=name))
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(Subscribe("orders", sub_id="s"))
    (ack,) = ann.do(Publish("orders", msgspec.Raw(body), ack_type="processed"))
    ann.do(Publish("orders", msgspec.Raw(body)))
    assert isinstance(ack, Ack)
    assert (ack.status, ack.reason.partition(":")[0]) == ("failure", "bad message")
    assert why in ack.reason
    assert world.kinds() == ["topic.command_failed"] * 2
    assert bob.published == []


def test_an_nvfix_name_that_comes_again_is_an_array(world: World) -> None:
    """A comparison holds for one of its values; as a key it is no single value."""
    nvfix = Written(world, "nvfix")
    ann = Client(world.topics(nvfix.topic), "ann")
    ann.do(Publish("orders", nvfix.write(id="1", tag=["a", "b"])))
    assert len(nvfix.records(ann, Sow("orders", filter="/tag = 'b' AND /tag[0] = 'a'"))) == 1
    (ack,) = ann.do(Publish("orders", nvfix.write(id=["1", "2"]), ack_type="processed"))
    assert isinstance(ack, Ack)
    assert "no single value" in ack.reason


def blob(data: bytes) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(b64encode(data).decode()))


def test_binary_messages_have_all_that_needs_no_fields(world: World) -> None:
    """Keys that publishers give, expiry, oof, replay, conflation, queues; a delta is the message itself."""
    slow = ConflatedTopic(name="slow", of="blobs")
    topics = world.topics(BINARY, slow, Queue(name="work", of=("blobs",)), durable=True)
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(SowAndDeltaSubscribe("blobs", sub_id="s", opts="oof"))
    ann.do(Publish("blobs", blob(b"\x00\xff"), sow_key="k"))
    ann.do(DeltaPublish("blobs", blob(b"new"), sow_key="k", expiration=5))
    assert [said(one) for one in bob.published] == ["AP8=", "bmV3"]
    ann.do(Sow("blobs", query_id="q"))
    assert (ann.records, ann.all(SowMessage)[0].msg_len) == (["bmV3"], 3)
    bob.do(Subscribe("work", sub_id="w"))
    bob.do(Subscribe("blobs", sub_id="r", bookmark="0"))
    assert [said(one) for one in bob.published[2:]] == ["AP8=", "AP8=", "bmV3"]
    world.clock.advance(2)
    ann.do(Sow("slow", query_id="p"))
    assert ann.records[1:] == ["bmV3"]
    world.clock.advance(5)
    topics.tend()
    assert [(one.reason, said(one)) for one in bob.oofs] == [("expired", "bmV3")]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (Sow("blobs", filter="/a = 1"), "bad filter"),
        (Sow("blobs", orderby="/a"), "bad order"),
        (Subscribe("blobs", filter="NOT /a IS NULL", sub_id="s"), "bad filter"),
        (Subscribe("blobs", filter="/a = 1", sub_id="s", bookmark="0"), "bad filter"),
        (SowAndSubscribe("blobs", filter="1 = 1 AND 2 BETWEEN 1 AND /a", sub_id="s"), "bad filter"),
        (SowDelete("blobs", filter="/a = 1"), "bad filter"),
        (SowDelete("blobs", data=blob(b"x")), "bad sow key"),
    ],
)
def test_what_asks_for_fields_is_refused_where_there_are_none(
    world: World, command: Command, why: str
) -> None:
    """With the type and the reason."""
    ann = Client(world.topics(BINARY), "ann")
    (ack,) = ann.do(msgspec.structs.replace(command, ack_type="processed"))
    assert isinstance(ack, Ack)
    assert (ack.status, ack.reason.partition(":")[0]) == ("failure", why)
    assert why == "bad sow key" or "binary, which has no fields" in ack.reason


def test_a_pattern_with_a_filter_passes_by_what_has_no_fields(world: World) -> None:
    """The topics that have them answer; without a filter all do."""
    topics = world.topics(BINARY, Topic(name="blobs2", keys=("/id",), logged=True))
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    bob.do(Subscribe("blobs.*", filter="/b IS NULL", sub_id="a"))
    bob.do(Subscribe("blobs.*", sub_id="b"))
    ann.do(Publish("blobs", blob(b"x"), sow_key="k"))
    ann.do(Publish("blobs2", msgspec.Raw(b'{"id":1}')))
    told = [(one.topic, set(one.sids.split(","))) for one in bob.published]
    assert told == [("blobs", {"b"}), ("blobs2", {"a", "b"})]
    bob.do(Subscribe("blobs.*", filter="/b IS NULL", sub_id="c", bookmark="0"))
    assert [one.topic for one in bob.published if one.sids == "c"] == ["blobs2"]
    bob.do(Sow("blobs.*", filter="/b IS NULL", query_id="q"))
    assert bob.records == [{"id": 1}]


def test_all_records_can_be_deleted_of_any_type(world: World) -> None:
    """A filter that asks for no field looks into nothing."""
    ann = Client(world.topics(BINARY), "ann")
    ann.do(Publish("blobs", blob(b"x"), sow_key="k"))
    (_, stats) = ann.do(SowDelete("blobs", filter="1=1", ack_type="processed,stats"))
    assert isinstance(stats, Ack)
    assert stats.records_deleted == 1


@pytest.mark.parametrize(
    ("definitions", "why"),
    [
        ((Topic(name="a", keys=("/id",), message_type="binary"),), 'say keys = "publisher"'),
        ((Topic(name="a", separator="|"),), "is for nvfix"),
        ((Topic(name="a", message_type="nvfix", separator="=="),), "not one character"),
        ((Topic(name="a", message_type="nvfix", separator="="),), "not one character"),
        ((BINARY, View(name="v", of=("blobs",), keys=("/a",))), "no fields"),
        (
            (
                Topic(name="a", keys=("/id",)),
                Topic(name="b", keys=("/id",), message_type="nvfix"),
                View(name="v", of=("a", "b"), keys=("/id",)),
            ),
            "of different message types",
        ),
        (
            (
                Topic(name="a", keys=("/id",), message_type="nvfix"),
                View(name="v", of=("a",), keys=("/id",), columns=(ViewColumn(name="a=b", path="/x"),)),
            ),
            "cannot be the name of a field",
        ),
        (
            (Topic(name="a", logged=True), Queue(name="q", of=("a",), message_type="nvfix")),
            "leave it out",
        ),
    ],
)
def test_definitions_that_cannot_be_say_why(world: World, definitions: Any, why: str) -> None:
    """When they are read, not with the first message."""
    with pytest.raises(BadDefinitionError, match=why):
        world.topics(*definitions)


def test_another_type_for_records_that_are_there_is_refused(world: World) -> None:
    """With the topic, and what to do; the records stay as they are."""
    topics = world.topics(Topic(name="a", keys=("/id",)), durable=True)
    Client(topics, "ann").do(Publish("a", msgspec.Raw(b'{"id":1}')))
    topics.close()
    with pytest.raises(BadDefinitionError, match="holds what is not nvfix"):
        world.topics(Topic(name="a", keys=("/id",), message_type="nvfix"), durable=True)
    topics = world.topics(Topic(name="a", keys=("/id",)), durable=True)
    assert topics.summaries()[0].records == 1


def test_a_replay_passes_by_what_the_topic_was_before(world: World) -> None:
    """Nobody is cut off for messages of a type that the topic has no more."""
    topics = world.topics(Topic(name="a", logged=True), durable=True)
    Client(topics, "ann").do(Publish("a", msgspec.Raw(b'{"id":1}')))
    topics.close()
    topics = world.topics(Topic(name="a", logged=True, message_type="nvfix"), durable=True)
    ann = Client(topics, "ann")
    ann.do(Publish("a", msgspec.Raw(b'"id=1"')))
    ann.do(Subscribe("a", sub_id="s", filter="/id = 1", bookmark="0"))
    assert [said(one) for one in ann.published] == ["id=1"]


def test_queues_of_their_own_have_a_type(world: World) -> None:
    """What is published to a queue's own name is of the queue's type, over a restart too."""
    queue = Queue(name="q", message_type="nvfix", separator="|")
    topics = world.topics(queue, durable=True)
    ann = Client(topics, "ann")
    (ack,) = ann.do(Publish("q", msgspec.Raw(b"1"), ack_type="processed"))
    assert isinstance(ack, Ack)
    assert "bad message" in ack.reason
    ann.do(Publish("q", msgspec.Raw(b'"a=1|"')))
    topics.close()
    ann = Client(world.topics(queue, durable=True), "ann")
    ann.do(Subscribe("q", sub_id="s", filter="/a = 1"))
    assert [said(one) for one in ann.published] == ["a=1|"]


def test_refusals_name_the_separator() -> None:
    """So that a wrong one is seen."""
    with pytest.raises(CommandRefusedError, match=r"fields end with '\|'"):
        message_type("nvfix", "|").parse(msgspec.Raw(b'"a"'))


def test_a_delta_of_a_replica_says_what_changed_in_it(written: Written) -> None:
    """Written in its type, and over the whole interval, whatever the topic's own subscribers were sent."""
    topics = written.world.topics(written.topic, ConflatedTopic(name="slow", of="orders"))
    ann, bob = Client(topics, "ann"), Client(topics, "bob")
    for client, name in ((ann, "orders"), (bob, "slow")):
        client.do(SowAndDeltaSubscribe(name, sub_id="s"))
    ann.do(Publish("orders", written.write(id="1", a="1", b="1", c="1")))
    written.world.clock.advance(2)
    topics.tend()
    ann.do(DeltaPublish("orders", written.write(id="1", a="2")))
    ann.do(DeltaPublish("orders", written.write(id="1", b="2")))
    written.world.clock.advance(2)
    topics.tend()
    assert [written.read(one) for one in ann.published[1:]] == [{"id": "1", "a": "2"}, {"id": "1", "b": "2"}]
    assert [written.read(one) for one in bob.published[1:]] == [{"id": "1", "a": "2", "b": "2"}]


def test_a_view_of_nothing_is_there(world: World) -> None:
    """It has no records."""
    (summary,) = world.topics(View(name="v", of=(), keys=("/id",))).summaries()
    assert (summary.records, summary.message_type) == (0, "json")


def test_an_nvfix_message_is_taken_apart_in_linear_time() -> None:
    """A name that comes thousands of times costs no more than as many names: nobody else waits for it."""

    def seconds(body: str) -> float:
        began = thread_time()
        NVFIX.parse(msgspec.Raw(msgspec.json.encode(body)))
        return thread_time() - began

    many = min(seconds("".join(f"{n}=\x01" for n in range(MOST_FIELDS))) for _ in range(3))
    same = min(seconds("a=\x01" * MOST_FIELDS) for _ in range(3))
    assert same < 5 * many


def test_an_nvfix_message_has_so_many_fields_at_most(world: World) -> None:
    """Written at once or laid over a record, which stays as it was and is read again."""
    topic = Topic(name="orders", keys=("/id",), logged=True, expiration=0, message_type="nvfix")
    topics = world.topics(topic, durable=True)
    ann = Client(topics, "ann")

    def written(prefix: str, fields: int) -> msgspec.Raw:
        return NVFIX.render({"id": "1"} | {f"{prefix}{number}": "" for number in range(fields)})

    for command, status in (
        (Publish("orders", written("a", MOST_FIELDS), ack_type="processed"), "failure"),
        (Publish("orders", written("a", MOST_FIELDS - 1), ack_type="processed"), "success"),
        (DeltaPublish("orders", written("b", 1), ack_type="processed"), "failure"),
    ):
        ann.do(command)
        assert ann.acks[-1].status == status, ann.acks[-1]
    topics.close()
    bob = Client(world.topics(topic, durable=True), "bob")
    bob.do(Sow("orders"))
    (message,) = bob.all(SowMessage)
    assert len(NVFIX.parse(message.data[0].data)) == MOST_FIELDS
