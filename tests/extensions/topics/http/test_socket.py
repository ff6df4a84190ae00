"""Topics on a WebSocket: commands, answers, and how a connection ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus

from extensions.topics.engine.topic_definitions import Topic
from extensions.topics.http import unsent_messages as outbox
from extensions.topics.topic_configuration import TopicConfiguration, User
from rdss_sandbox.shapes.topics import Entitlement
from tests.extensions.topics.http.topics_port import SECONDS, Port


async def test_what_one_publishes_the_other_gets(port: Port) -> None:
    """A subscriber with a filter gets what matches, with its subscription's id; the publisher its acks."""
    publisher, subscriber = await port.connect("?user_id=ada"), await port.connect()
    ack = await subscriber.ask(
        "subscribe", topic="orders", filter="/n > 1", sub_id="big", ack_type="processed", cmd_id="1"
    )
    assert (ack["cmd"], ack["status"], ack["cmd_id"]) == ("ack", "success", "1")
    for n in (1, 2):
        await publisher.say("publish", topic="orders", data={"id": "a", "n": n}, correlation_id="abc=")
    ack = await publisher.ask(
        "publish", topic="orders", data={"id": "b", "n": 3}, ack_type="persisted", seq=1
    )
    assert (ack["ack_type"], ack["status"]) == ("persisted", "success")
    first, second = await subscriber.hear(), await subscriber.hear()
    assert (first["cmd"], first["data"], first["sids"]) == ("publish", {"id": "a", "n": 2}, "big")
    assert (first["user_id"], first["correlation_id"]) == ("ada", "abc=")
    assert (second["data"]["id"], second["bookmark"] > first["bookmark"]) == ("b", True)


async def test_a_query_then_what_follows_then_what_leaves(port: Port) -> None:
    """Records between group_begin and group_end, then live changes, then oof with its reason."""
    client = await port.connect()
    for key in "ab":
        await client.say("publish", topic="orders", data={"id": key, "n": 1})
    await client.say(
        "sow_and_subscribe", topic="orders", filter="/n = 1", opts="oof", cmd_id="q", batch_size=10
    )
    begin, sow, end = [await client.hear() for _ in range(3)]
    assert [begin["cmd"], sow["cmd"], end["cmd"]] == ["group_begin", "sow", "group_end"]
    assert [record["data"]["id"] for record in sow["data"]] == ["a", "b"]
    await client.say("delta_publish", topic="orders", data={"id": "a", "n": 2})
    left = await client.hear()
    assert (left["cmd"], left["reason"], left["data"]) == ("oof", "filter", {"id": "a", "n": 2})
    await client.say("sow_delete", topic="orders", filter="1=1")
    left = await client.hear()
    assert (left["reason"], left["data"]) == ("deleted", {"id": "b", "n": 1})


NO_COMMANDS = [
    ('{"cmd": "fly", "cmd_id": "7"}', "publish, delta_publish, subscribe"),
    ('{"cmd": "publish", "cmd_id": "7"}', "missing required field `topic`"),
    ('{"cmd": "sow", "topic": "t", "colour": 1, "cmd_id": "7"}', "unknown field `colour`"),
    ('{"cmd": "publish", "topic": "t", "data": {}, "expiration": "x", "cmd_id": "7"}', "$.expiration"),
    ('{"cmd": "publish", "topic": "t", "data": {}, "expiration": 1e400, "cmd_id": "7"}', "$.expiration"),
    (r'{"cmd": "publish", "topic": "t", "data": "\ud800", "cmd_id": "7"}', "JSON is malformed"),
]


@pytest.mark.parametrize(
    ("said", "why"),
    NO_COMMANDS,
    ids=["unknown", "incomplete", "too much", "expiration", "no number", "no character"],
)
async def test_what_is_no_command_is_answered_as_it_asked(port: Port, said: str, why: str) -> None:
    """Its acknowledgements say what is wrong where they were asked for; the events say it in any case."""
    client = await port.connect("?user_id=ada")
    asking = said[:-1] + ', "ack_type": "received,processed"}'
    await client.socket.send(said)
    await client.socket.send(asking)
    received, processed = await client.hear(), await client.hear()
    assert (received["ack_type"], received["status"], received["cmd_id"]) == ("received", "success", "7")
    assert (processed["ack_type"], processed["status"], processed["cmd_id"]) == ("processed", "failure", "7")
    assert processed["reason"].startswith("bad command: ")
    assert why in processed["reason"]
    assert [(each["user"], each["reason"]) for each in port.failed_commands()] == [
        ("ada", processed["reason"])
    ] * 2
    assert (await client.ask("sow", topic="orders", ack_type="processed"))["status"] == "success"


async def test_a_publish_that_is_no_command_is_told_to_be_not_persisted(port: Port) -> None:
    """A publisher that asks for nothing but persistence learns that it is not to be had, by its sequence."""
    client = await port.connect()
    ack = await client.ask(
        "publish", topic="orders", data={"id": 1}, expiration="x", ack_type="persisted", seq=5
    )
    assert (ack["ack_type"], ack["status"], ack["seq"]) == ("persisted", "failure", 5)


async def test_an_acknowledgement_that_there_is_not_is_told(port: Port) -> None:
    """Misspelt, it counts as processed, where errors are; nothing was published."""
    client = await port.connect()
    ack = await client.ask("publish", topic="orders", data={"id": "a"}, ack_type="procesed")
    assert (ack["ack_type"], ack["status"]) == ("processed", "failure")
    assert ack["reason"].startswith("bad acknowledgement type: 'procesed' is none; there are none, received")
    assert [each["command"] for each in port.failed_commands()] == ["publish"]
    found = await port.post({"cmd": "sow", "topic": "orders"})
    assert not [each for each in found.json()["messages"] if each["cmd"] == "sow"]


@pytest.mark.parametrize(
    "said", ["{", "[" * 5000, b"\xff", "7"], ids=["truncated", "deep", "no text", "number"]
)
async def test_what_nobody_can_read_is_in_the_events(port: Port, said: str | bytes) -> None:
    """It cannot have asked for an acknowledgement, and gets none; the connection goes on."""
    client = await port.connect()
    await client.socket.send(said)
    assert (await client.ask("sow", topic="orders", ack_type="processed"))["status"] == "success"
    (failed,) = port.failed_commands()
    assert failed["reason"].startswith("bad command: ")


async def test_a_bad_filter_is_answered_with_its_place(port: Port) -> None:
    """What the filter language's parser says reaches the client."""
    ack = await (await port.connect()).ask("sow", topic="orders", filter="/n >", ack_type="processed")
    assert ack["status"] == "failure"
    assert "at character 5 of filter: /n >" in ack["reason"]


async def test_a_client_of_the_same_name_takes_the_others_place(port: Port) -> None:
    """A reconnected publisher displaces its lost connection, and learns where it stopped."""
    first = await port.connect("?client_name=feed")
    await first.ask("publish", topic="orders", data={"id": "a"}, seq=41, ack_type="processed")
    second = await port.connect("?client_name=feed")
    assert (await first.closed())[0] == 4409
    assert second.socket.response is not None
    assert second.socket.response.headers["x-topics-seq"] == "41"


async def test_another_users_client_name_is_refused(port: Port) -> None:
    """A client name belongs to the user who has it."""
    await port.connect("?client_name=feed&user_id=ada")
    with pytest.raises(InvalidStatus) as refused:
        await port.connect("?client_name=feed&user_id=bob")
    assert refused.value.response.status_code == 409


async def test_users_are_known_by_their_tokens(opened: Callable[..., Any]) -> None:
    """Where users are configured a token is needed; what a user is not entitled to is refused."""
    port = await opened(
        TopicConfiguration(
            topics=(Topic(name="orders", keys=("/id",)),),
            users=(User("ada", "t1"), User("bob", "t2")),
            entitlements=(
                Entitlement(user="ada", topic="*"),
                Entitlement(user="bob", topic="*", write=False),
            ),
        )
    )
    for token in ("", "t3"):
        with pytest.raises(InvalidStatus) as refused:
            await port.connect(token=token)
        assert refused.value.response.status_code == 401
    ada, bob = await port.connect(token="t1"), await port.connect(token="t2")
    assert (await bob.ask("subscribe", topic="orders", sub_id="s", ack_type="processed"))[
        "status"
    ] == "success"
    denied = await bob.ask("publish", topic="orders", data={"id": "b"}, ack_type="processed")
    assert (denied["status"], denied["reason"].split(":")[0]) == ("failure", "not entitled")
    await ada.say("publish", topic="orders", data={"id": "a"})
    assert (await bob.hear())["user_id"] == "ada"


async def test_nobody_is_the_sandbox(port: Port) -> None:
    """The name in which the sandbox itself publishes cannot be taken."""
    with pytest.raises(InvalidStatus) as refused:
        await port.connect("?user_id=sandbox")
    assert refused.value.response.status_code == 403


async def test_a_reset_ends_connections_and_forgets_records(port: Port) -> None:
    """Clients are told to come again; the state of the world is empty then."""
    client = await port.connect()
    await client.ask("publish", topic="orders", data={"id": "a"}, ack_type="processed")
    await asyncio.to_thread(port.service.reset)
    assert await client.closed() == (1012, "the sandbox was reset")
    again = await port.connect()
    stats = await again.ask("sow", topic="orders", query_id="q", top_n=0, ack_type="stats")
    while stats["cmd"] != "ack":
        stats = await again.hear()
    assert stats.get("topic_matches", 0) == 0


async def test_a_stop_closes_with_going_away(port: Port) -> None:
    """A client of a stopping sandbox is told so."""
    client = await port.connect()
    await client.ask("sow", topic="orders", ack_type="processed")
    await port.server.close(2.0)
    assert (await client.closed())[0] == 1001


async def test_a_client_that_reads_too_slowly_is_given_up(
    port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for one client is bounded; the others go on."""
    monkeypatch.setattr(outbox, "MOST_BYTES", 100_000)
    slow, other = await port.connect(), await port.connect()
    await slow.ask("subscribe", topic="orders", sub_id="s", ack_type="processed")
    slow.socket.transport.pause_reading()
    async with asyncio.timeout(SECONDS):
        for at in range(3000):
            data = {"id": str(at), "text": "x" * 10_000}
            await other.say("publish", topic="orders", data=data, ack_type="processed", cmd_id=str(at))
            await other.hear()
            if not _subscriptions(port):
                break
    assert _subscriptions(port) == 0
    slow.socket.transport.abort()


def _subscriptions(port: Port) -> int:
    return next(each.subscriptions for each in port.service.open().summaries() if each.name == "orders")


async def test_a_subscription_ends_with_its_connection(port: Port) -> None:
    """A client that left is not published to."""
    client, other = await port.connect(), await port.connect()
    await client.ask("subscribe", topic="orders", sub_id="s", ack_type="processed")
    assert _subscriptions(port) == 1
    await client.socket.close()
    async with asyncio.timeout(SECONDS):
        while _subscriptions(port):
            await other.ask("sow", topic="orders", ack_type="processed")
