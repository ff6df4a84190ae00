"""The messaging API over WebSocket, seen by a real client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect

from emulator.clock import Clock
from emulator.events import Events
from emulator.http.server import Server, serve
from extensions.queues.engine import QueueEngine
from extensions.queues.http import QueuesApp
from extensions.queues.http.websocket_actions import ACTIONS

WHO = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": "demo"}
OTHER = WHO | {"Client-ID": "e0c6a2ee-7d5b-4c43-a4d2-1d7d3b1ccf6d"}
SECONDS = 60


@asynccontextmanager
async def running() -> AsyncIterator[Server]:
    clock = Clock(frozen_at=1_790_000_000.0)
    events = Events(clock)
    engine = QueueEngine(None, clock, events)
    server = await serve(QueuesApp(engine, events), "127.0.0.1", 0, sockets=True)
    try:
        yield server
    finally:
        await server.close(2.0)
        engine.close()


def client(server: Server, **settings: Any) -> connect:
    return connect(f"ws://127.0.0.1:{server.port}/", proxy=None, open_timeout=SECONDS, **settings)


async def ask(peer: ClientConnection, action: str, who: dict[str, str] = WHO, **fields: Any) -> Any:
    request = {"action": action, "headers": who, "body": fields}
    await peer.send(msgspec.json.encode(request).decode())
    answer = msgspec.json.decode(await peer.recv())
    assert answer["request"]["action"] == action
    return answer["headers"]["status"], answer["body"]


async def test_the_life_of_a_message() -> None:
    """Post, list, claim, renew, delete with the claim: with the statuses that version 2 gives."""
    async with running() as server, client(server) as peer:
        assert (await ask(peer, "authenticate"))[0] == 200
        assert (await ask(peer, "queue_create", queue_name="q", metadata={"a": 1}))[0] == 201
        assert (await ask(peer, "queue_create", queue_name="q"))[0] == 204
        assert (await ask(peer, "queue_get", queue_name="q"))[1]["a"] == 1
        assert (await ask(peer, "queue_list"))[1]["queues"][0]["name"] == "q"

        messages = [{"body": {"n": n}, "ttl": 300} for n in range(3)]
        status, posted = await ask(peer, "message_post", queue_name="q", messages=messages)
        assert (status, len(posted["resources"])) == (201, 3)
        status, listed = await ask(peer, "message_list", queue_name="q", echo=True, limit=2)
        assert (status, [each["body"]["n"] for each in listed["messages"]]) == (200, [0, 1])
        first = listed["messages"][0]["id"]
        ids = [each["id"] for each in listed["messages"]]
        status, many = await ask(peer, "message_get_many", queue_name="q", message_ids=ids)
        assert (status, len(many["messages"])) == (200, 2)
        assert (await ask(peer, "message_get", queue_name="q", message_id=first))[0] == 200

        status, claimed = await ask(peer, "claim_create", queue_name="q", limit=1, ttl=100, grace=100)
        claim = claimed["location"].rpartition("/")[2]
        assert (status, claimed["messages"][0]["body"]) == (201, {"n": 0})
        assert (await ask(peer, "claim_get", queue_name="q", claim_id=claim))[1]["ttl"] == 100
        assert (await ask(peer, "claim_update", queue_name="q", claim_id=claim, ttl=200))[0] == 204
        assert (await ask(peer, "queue_get_stats", queue_name="q"))[1]["messages"]["claimed"] == 1
        assert (await ask(peer, "message_delete", queue_name="q", message_id=first))[0] == 403
        status, _ = await ask(peer, "message_delete", queue_name="q", message_id=first, claim_id=claim)
        assert status == 204
        assert (await ask(peer, "claim_delete", queue_name="q", claim_id=claim))[0] == 204
        status, popped = await ask(peer, "message_delete_many", queue_name="q", pop=1)
        assert (status, popped["messages"][0]["body"]) == (200, {"n": 1})
        assert (await ask(peer, "queue_purge", queue_name="q", resource_types=["messages"]))[0] == 204
        assert (await ask(peer, "queue_delete", queue_name="q"))[0] == 204


async def test_subscriptions_of_others_are_kept_as_over_http() -> None:
    """Made, shown, listed, deleted."""
    async with running() as server, client(server) as peer:
        status, made = await ask(
            peer, "subscription_create", queue_name="q", subscriber="http://127.0.0.1:1/", ttl=600
        )
        assert status == 201
        id_ = made["subscription_id"]
        assert (await ask(peer, "subscription_get", queue_name="q", subscription_id=id_))[1]["ttl"] == 600
        assert len((await ask(peer, "subscription_list", queue_name="q"))[1]["subscriptions"]) == 1
        assert (await ask(peer, "subscription_delete", queue_name="q", subscription_id=id_))[0] == 204


async def test_what_is_posted_comes_to_the_connection_that_subscribed() -> None:
    """As a notification, and to no other connection; other queues are not told of."""
    async with running() as server, client(server) as peer, client(server) as other:
        assert (await ask(peer, "subscription_create", queue_name="q"))[0] == 201
        for queue in ("elsewhere", "q"):
            status, _ = await ask(
                other, "message_post", OTHER, queue_name=queue, messages=[{"body": queue, "ttl": 60}]
            )
            assert status == 201
        assert msgspec.json.decode(await peer.recv()) == {
            "body": "q",
            "ttl": 60,
            "queue_name": "q",
            "Message_Type": "Notification",
        }


async def test_binary_frames_are_message_pack() -> None:
    """Asked in one form, answered in the same."""
    async with running() as server, client(server) as peer:
        request = {"action": "queue_create", "headers": WHO, "body": {"queue_name": "q"}}
        await peer.send(msgspec.msgpack.encode(request))
        answer = msgspec.msgpack.decode(await peer.recv())
        assert (answer["headers"]["status"], answer["request"]["action"]) == (201, "queue_create")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("{", "Invalid JSON"),
        (b"\xc1", "Can't decode binary"),
        ("[]", "None is not a valid action"),
        ('{"action": "queue_paint", "headers": {}, "body": {}}', "'queue_paint' is not a valid action"),
        ('{"action": "queue_get", "headers": [], "body": {}}', "A request has an action"),
        ('{"action": "queue_get", "headers": {}, "body": {}}', "'queue_name' of the body is required"),
        ('{"action": "queue_get", "headers": {}, "body": {"queue_name": "q"}}', "Client-Id"),
    ],
)
async def test_what_cannot_be_done_is_told_and_the_connection_goes_on(said: str | bytes, why: str) -> None:
    """400 with the reason; the next request is answered."""
    async with running() as server, client(server) as peer:
        await peer.send(said)
        raw = await peer.recv()
        answer = msgspec.json.decode(raw) if isinstance(raw, str) else msgspec.msgpack.decode(raw)
        assert answer["headers"]["status"] == 400
        assert why in answer["body"]["error"]
        assert (await ask(peer, "queue_list"))[0] == 200


@pytest.mark.parametrize("action", ACTIONS)
async def test_every_action_is_answered(action: str) -> None:
    """With a status of version 2, whatever is missing."""
    async with running() as server, client(server) as peer:
        status, _ = await ask(peer, action, queue_name="q", message_id="x", claim_id="x", subscription_id="x")
        assert status in {200, 201, 204, 400, 404}
