"""Topics over HTTP: commands in a body, subscriptions as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from emulator.clock import Clock
from extensions.topics.engine.topic_definitions import Topic
from extensions.topics.topic_configuration import TopicConfiguration, User
from rdss_sandbox.shapes.topics import Entitlement
from tests.extensions.topics.http.topics_port import SECONDS, Port


async def test_commands_are_done_in_order_and_answered_together(port: Port) -> None:
    """An array of commands answers with everything that came of them, acknowledgements included."""
    answer = await port.post(
        {"cmd": "publish", "topic": "orders", "data": {"id": "a", "n": 1}, "ack_type": "persisted", "seq": 1},
        {
            "cmd": "delta_publish",
            "topic": "orders",
            "data": {"id": "a", "m": 2},
            "ack_type": "persisted",
            "seq": 2,
        },
        {"cmd": "sow", "topic": "orders", "query_id": "q"},
    )
    assert answer.status_code == 200
    messages = answer.json()["messages"]
    (record,) = next(each["data"] for each in messages if each["cmd"] == "sow")
    assert record["data"] == {"id": "a", "n": 1, "m": 2}
    persisted = [each for each in messages if each.get("ack_type") == "persisted"]
    assert persisted[-1]["seq"] == 2


async def test_a_request_does_not_wait_for_commands_that_cannot_follow(opened: Callable[..., Any]) -> None:
    """Acknowledgements of persistence are conflated for a second; the last command of a request ends that."""
    port = await opened(clock=Clock(frozen_at=1_790_000_000.0))
    publish = {"cmd": "publish", "topic": "orders", "ack_type": "persisted"}
    answer = await port.post(*({**publish, "data": {"id": n}, "seq": n} for n in (1, 2)))
    messages = answer.json()["messages"]
    assert [each["seq"] for each in messages if each["ack_type"] == "persisted"] == [2]


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"{", 400, "bad command"),
        (b'{"cmd": "fly"}', 400, "the commands are publish"),
        (b'{"cmd": "subscribe", "topic": "orders"}', 400, "GET /topics/messages"),
        (b'{"cmd": "sow_and_subscribe", "topic": "orders"}', 400, "/topics/ws"),
        (b" " * ((1 << 24) + 1), 413, "16 MiB"),
    ],
)
async def test_a_bad_request_says_why(port: Port, body: bytes, status: int, why: str) -> None:
    """Nothing is done, and a code for programs stands beside a sentence for people."""
    answer = await port.http.post("/topics/commands", content=body)
    assert answer.status_code == status
    assert why in answer.json()["error"]["message"]


async def test_a_request_that_is_no_command_is_in_the_events(port: Port) -> None:
    """Whatever a request was refused for as a command, in a body or a query, the events have it."""
    await port.http.post("/topics/commands", json={"cmd": "publish", "topic": "orders", "expiration": "x"})
    answer = await port.http.get("/topics/messages", params={"topic": "orders", "cmd": "fly"})
    assert answer.status_code == 400
    assert [(each["command"], each["topic"]) for each in port.failed_commands()] == [
        ("publish", "orders"),
        ("fly", "orders"),
    ]


async def test_of_several_commands_the_one_that_is_none_is_told(port: Port) -> None:
    """The events have its headers; none of them is done."""
    wrong = {"cmd": "publish", "topic": "orders", "data": {"id": 2}, "expiration": "x", "cmd_id": "second"}
    right = {"cmd": "publish", "topic": "orders", "data": {"id": 1}}
    assert (await port.post(right, wrong, right)).status_code == 400
    (failed,) = port.failed_commands()
    assert (failed["command"], failed["topic"], failed["cmd_id"]) == ("publish", "orders", "second")
    assert [each.records for each in port.service.open().summaries() if each.name == "orders"] == [0]


async def test_a_command_that_fails_fails_the_request(port: Port) -> None:
    """The status says so, and the acknowledgement in the body why."""
    answer = await port.post({"cmd": "sow", "topic": "orders", "filter": "id = 1"})
    assert answer.status_code == 400
    assert "of filter: id = 1" in answer.json()["messages"][-1]["reason"]


async def test_what_is_not_there_names_what_is(port: Port) -> None:
    """A wrong path (404) or method (405, with the right ones in Allow) is told what there is."""
    for method, path, status, allowed in (
        ("GET", "/", 404, None),
        ("GET", "/topics/commands", 405, "POST"),
        ("POST", "/topics/messages", 405, "GET"),
    ):
        answer = await port.http.request(method, path)
        assert (answer.status_code, answer.headers.get("allow")) == (status, allowed)
        assert "/topics/ws" in answer.json()["error"]["message"]
    assert (await port.http.head("/topics/messages")).status_code == 405


async def test_users_and_entitlements(opened: Callable[..., Any]) -> None:
    """No token is 401, what one is not entitled to 403."""
    port = await opened(
        TopicConfiguration(
            topics=(Topic(name="orders", keys=("/id",)),),
            users=(User("bob", "t2"),),
            entitlements=(Entitlement(user="bob", topic="orders", write=False),),
        )
    )
    command = {"cmd": "publish", "topic": "orders", "data": {"id": "a"}}
    assert (await port.post(command)).status_code == 401
    assert (await port.post(command, headers={"authorization": "Bearer t2"})).status_code == 403


async def test_a_subscription_streams_records_changes_and_what_leaves(port: Port) -> None:
    """Each message is an event of its command's name; a change has its bookmark as the event's id."""
    await port.post({"cmd": "publish", "topic": "orders", "data": {"id": "a", "n": 1}})
    seen: list[tuple[str, Any]] = []
    query = {"cmd": "sow_and_subscribe", "topic": "orders", "filter": "/n > 0", "opts": "oof"}
    async with asyncio.timeout(SECONDS), aclosing(port.events(**query)) as events:
        async for event in events:
            seen.append((event["event"], json.loads(event["data"])))
            if event["event"] == "group_end":
                await port.post({"cmd": "publish", "topic": "orders", "data": {"id": "b", "n": 2}})
            if event["event"] == "publish":
                assert event["id"] == seen[-1][1]["bookmark"]
                await port.post({"cmd": "publish", "topic": "orders", "data": {"id": "b", "n": 0}})
            if event["event"] == "oof":
                break
    assert [kind for kind, _ in seen if kind != "ack"] == [
        "group_begin",
        "sow",
        "group_end",
        "publish",
        "oof",
    ]
    assert seen[-1][1]["reason"] == "filter"


async def test_a_lost_stream_goes_on_where_it_stopped(port: Port) -> None:
    """Last-Event-ID is a bookmark: what was published meanwhile comes first."""

    async def first(count: int, **query: str) -> list[dict[str, str]]:
        found = []
        async with asyncio.timeout(SECONDS), aclosing(port.events(topic="orders", **query)) as events:
            async for event in events:
                if event["event"] == "publish":
                    found.append(event)
                if len(found) == count:
                    break
        return found

    for key in "abc":
        await port.post({"cmd": "publish", "topic": "orders", "data": {"id": key}})
    before = await first(2, bookmark="0")
    after = await first(1, resume=before[-1]["id"])
    assert [json.loads(event["data"])["data"]["id"] for event in before + after] == ["a", "b", "c"]


async def test_what_a_publisher_wrote_over_lines_is_one_line_of_an_event(port: Port) -> None:
    """JSON with line ends in it does not break the stream."""
    raw = b'{"cmd": "publish", "topic": "orders", "data": {"id": "a",\r\n "text": "x\\ny"}}'
    query = {"cmd": "sow_and_subscribe", "topic": "orders"}
    assert (await port.http.post("/topics/commands", content=raw)).status_code == 200
    async with asyncio.timeout(SECONDS), aclosing(port.events(**query)) as events:
        async for event in events:
            if event["event"] == "sow":
                (record,) = json.loads(event["data"])["data"]
                assert record["data"] == {"id": "a", "text": "x\ny"}
                break


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({}, "missing required field `topic`"),
        ({"topic": "orders", "filter": "/"}, "unexpected '/'"),
        ({"topic": "orders", "cmd": "publish"}, "Invalid value 'publish'"),
        ({"topic": "orders", "batch_size": "x", "cmd": "sow_and_subscribe"}, "batch_size"),
        ({"topic": "nowhere", "cmd": "sow_and_subscribe"}, "nowhere"),
    ],
)
async def test_a_subscription_that_cannot_be_is_refused(port: Port, query: dict[str, str], why: str) -> None:
    """Before any event: an error with its status and its reason."""
    answer = await port.http.get("/topics/messages", params=query)
    assert answer.status_code == 400
    assert why in answer.json()["error"]["message"]


async def test_streams_end_when_the_sandbox_stops(port: Port) -> None:
    """A reader of a stopping sandbox sees the end of its stream, not a broken connection."""
    ended = asyncio.Event()

    async def read() -> None:
        async with aclosing(port.events(topic="orders")) as events:
            async for event in events:
                assert event["event"] == "ack"
                subscribed.set()
        ended.set()

    subscribed = asyncio.Event()
    reading = asyncio.create_task(read())
    async with asyncio.timeout(SECONDS):
        await subscribed.wait()
        port.app.close()
        await ended.wait()
    await reading


async def test_a_reader_that_leaves_ends_its_subscription(port: Port) -> None:
    """What nobody reads is not kept."""
    async with asyncio.timeout(SECONDS):
        async with aclosing(port.events(topic="orders")) as events:
            await anext(events)
            assert _subscriptions(port) == 1
        while _subscriptions(port):
            await port.post({"cmd": "sow", "topic": "orders"})


def _subscriptions(port: Port) -> int:
    return next(each.subscriptions for each in port.service.open().summaries() if each.name == "orders")


async def test_a_cut_connection_is_cut(port: Port) -> None:
    """The fault disconnect leaves a poster without an answer, and nothing published."""
    port.fault("disconnect", direction="publish")
    with pytest.raises(httpx.RemoteProtocolError):
        await port.post({"cmd": "publish", "topic": "orders", "data": {"id": "a"}})
    port.fault_engine.clear()
    answer = await port.post({"cmd": "sow", "topic": "orders"})
    assert [each["cmd"] for each in answer.json()["messages"]].count("sow") == 0
