"""The error queue as workers share it: claimed, deleted, free again, under faults and over restarts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from emulator.assembly.components import Components, build_components
from emulator.assembly.embedded import embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from extensions.queues.engine import Address, MessageToPost, QueueEngine, SourceUnavailableError
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.queues import PROJECT
from rdss_sandbox.shapes.topology import Topology
from tests.waiting import wait_until

ERRORS = Address(PROJECT, "error")
TOPOLOGY = Topology(streams={"input": 1, "error": 1}, archives={"error": "rdss-error"})


@contextmanager
def open_components(data_dir: Path | None = None, clock: Clock | None = None) -> Iterator[Components]:
    settings = Settings(aws_port=0, control_port=0, data_dir=data_dir, topology=TOPOLOGY)
    with build_components(settings, clock) as components:
        yield components


@pytest.fixture
def components() -> Iterator[Components]:
    with open_components() as components:
        yield components


def put(components: Components, *bodies: bytes, stream: str = "error") -> None:
    records = [{"Data": body, "PartitionKey": body.decode("latin-1")[:20]} for body in bodies]
    components.streams.call("PutRecords", {"StreamName": stream, "Records": records}, components.home)


def bodies(queues: QueueEngine, at: Address = ERRORS) -> list[bytes]:
    return [found.message.body for found in queues.messages.page(at, limit=20, claimed=True)]


def test_what_is_put_on_the_stream_can_be_claimed_by_one_worker_and_deleted(components: Components) -> None:
    """Oldest first; the second worker gets the next; what is deleted does not come again."""
    put(components, b'{"n": 1}', b'{"n": 2}', b'{"n": 3}')
    first = components.extensions["queues"].engine.claims.create(ERRORS, limit=2, client="a")
    second = components.extensions["queues"].engine.claims.create(ERRORS, limit=2, client="b")
    assert first is not None
    assert second is not None
    assert [m.body for m in first.messages] == [b'{"n": 1}', b'{"n": 2}']
    assert [m.body for m in second.messages] == [b'{"n": 3}']
    components.extensions["queues"].engine.messages.delete(ERRORS, first.messages[0].id, first.claim.id)
    components.extensions["queues"].engine.claims.release(ERRORS, first.claim.id)
    third = components.extensions["queues"].engine.claims.create(ERRORS, limit=5)
    assert third is not None
    assert [m.body for m in third.messages] == [b'{"n": 2}']


def test_what_is_not_json_can_be_claimed_as_well(components: Components) -> None:
    """As its text, or as its bytes in base64 where it is no text."""
    put(components, b"{not json", b"\xff\x00")
    assert bodies(components.extensions["queues"].engine) == [b'"{not json"', b'{"base64":"/wA="}']


def test_what_is_posted_to_a_view_goes_through_its_stream(components: Components) -> None:
    """Readers of the stream see it, and the id that the client was told is the one that is listed."""
    ids = components.extensions["queues"].engine.messages.post(
        ERRORS, [MessageToPost(b'{"again": true}')], "a"
    )
    assert [found.message.id for found in components.extensions["queues"].engine.messages.page(ERRORS)] == ids
    shard = next(view for view in components.streams.streams(components.home) if view.name == "error").shards[
        0
    ]
    records = components.streams.read("error", shard.id, None, 10, components.home)
    assert [bytes(record.data) for record in records] == [b'{"again": true}']


def test_messages_of_all_shards_come_after_a_split(components: Components) -> None:
    """None is lost and none comes twice."""
    put(components, *(b'"a%d"' % n for n in range(20)))
    assert len(bodies(components.extensions["queues"].engine)) == 20
    request = {
        "StreamName": "error",
        "ShardToSplit": "shardId-000000000000",
        "NewStartingHashKey": str(2**127),
    }
    components.streams.call("SplitShard", request, components.home)
    put(components, *(b'"b%d"' % n for n in range(20)))
    wanted = {b'"%c%d"' % (letter, n) for letter in b"ab" for n in range(20)}
    pages = (
        components.extensions["queues"].engine.messages.page(ERRORS, after=number, limit=20)
        for number in (0, 20)
    )
    found = [each.message.body for page in pages for each in page]
    assert len(found) == 40
    assert set(found) == wanted


def test_a_claim_on_the_error_queue_outlives_the_process(tmp_path: Path) -> None:
    """What was deleted stays deleted, what was held stays held, what was free is free."""
    with open_components(tmp_path) as components:
        put(components, b"1", b"2", b"3")
        held = components.extensions["queues"].engine.claims.create(ERRORS, limit=2)
        assert held is not None
        components.extensions["queues"].engine.messages.delete(ERRORS, held.messages[0].id, held.claim.id)
    with open_components(tmp_path) as components:
        put(components, b"4")
        assert bodies(components.extensions["queues"].engine) == [b"2", b"3", b"4"]
        assert [
            m.body for m in components.extensions["queues"].engine.claims.get(ERRORS, held.claim.id).messages
        ] == [b"2"]


def test_a_message_ends_with_its_record(components: Components) -> None:
    """A record is kept for a day, and so is its message; a claim lets it live longer."""
    put(components, b"1", b"2")
    held = components.extensions["queues"].engine.claims.create(ERRORS, limit=1, ttl=43_200, grace=60)
    components.clock.freeze()
    components.clock.advance(86_400 - 3_600)
    assert held is not None
    again = components.extensions["queues"].engine.claims.create(ERRORS, limit=1, ttl=7_200, grace=60)
    assert again is not None
    components.clock.advance(3_700)
    assert len(bodies(components.extensions["queues"].engine)) == 1


def test_a_stream_that_is_made_anew_is_read_from_its_beginning(components: Components) -> None:
    """Messages of the old one that were not deleted are still there."""
    put(components, b"1")
    assert bodies(components.extensions["queues"].engine) == [b"1"]
    components.streams.call("DeleteStream", {"StreamName": "error"}, components.home)
    components.streams.call("CreateStream", {"StreamName": "error", "ShardCount": 1}, components.home)
    put(components, b"2")
    assert bodies(components.extensions["queues"].engine) == [b"1", b"2"]


def test_without_its_stream_a_view_says_so(components: Components) -> None:
    """And names it."""
    components.streams.call("DeleteStream", {"StreamName": "error"}, components.home)
    with pytest.raises(SourceUnavailableError, match="the stream error cannot be read now"):
        bodies(components.extensions["queues"].engine)


def test_a_redelivery_gives_the_message_to_a_second_worker(components: Components) -> None:
    """The fault duplicate on the way out: two messages with ids of their own, one content."""
    components.fault_engine.add(NewFault("duplicate", channel="error", direction="deliver", limit=1))
    put(components, b"1")
    first, second = components.extensions["queues"].engine.messages.page(ERRORS)
    assert first.message.body == second.message.body == b"1"
    assert first.message.id != second.message.id


def test_nothing_that_a_fault_holds_back_is_lost_by_a_restart(tmp_path: Path) -> None:
    """A message that others overtake comes after the restart, and the others come once."""
    with open_components(tmp_path) as components:
        late = {"distance": 10, "patience": 3600}
        fault = NewFault("reorder", channel="error", direction="deliver", attributes=late, limit=1)
        components.fault_engine.add(fault)
        put(components, b"1", b"2", b"3")
        assert bodies(components.extensions["queues"].engine) == [b"2", b"3"]
    with open_components(tmp_path) as components:
        assert sorted(bodies(components.extensions["queues"].engine)) == [b"1", b"2", b"3"]


def test_a_slow_channel_holds_up_nobody_else(components: Components) -> None:
    """While one view waits for its channel, another queue answers."""
    components.clock.freeze()
    slow = {"delay": 60, "on": "call"}
    components.fault_engine.add(
        NewFault("latency", channel="error", direction="deliver", attributes=slow, limit=1)
    )
    put(components, b"1")
    found: list[list[bytes]] = []
    struck = threading.Event()
    waiting = threading.Thread(target=lambda: found.append(bodies(components.extensions["queues"].engine)))
    with components.events.subscribed(lambda event: struck.set() if event.kind == "fault.injected" else None):
        waiting.start()
        assert struck.wait(60)
    other = Address("another", "queue")
    components.extensions["queues"].engine.messages.post(other, [MessageToPost(b"1")], "a")
    assert bodies(components.extensions["queues"].engine, other) == [b"1"]
    assert not found
    components.clock.advance(60)
    waiting.join(60)
    assert found == [[b"1"]]


def test_a_refused_publish_is_told_to_who_posts(components: Components) -> None:
    """The fault throttle on the way in: an error, nothing in the queue, and the next try is taken."""
    components.fault_engine.add(NewFault("throttle", channel="error", direction="publish", limit=1))
    with pytest.raises(SourceUnavailableError, match="error took 0 of 1 messages"):
        components.extensions["queues"].engine.messages.post(ERRORS, [MessageToPost(b"1")], "a")
    assert bodies(components.extensions["queues"].engine) == []
    components.extensions["queues"].engine.messages.post(ERRORS, [MessageToPost(b"1")], "a")
    assert bodies(components.extensions["queues"].engine) == [b"1"]


def test_claims_on_the_error_queue_over_http() -> None:
    """A worker lists the views of the project, claims, is refused without its claim, deletes with it."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, topology=TOPOLOGY)) as emulator:
        put(emulator.components, b'{"n": 1}')
        who = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": PROJECT}
        with httpx.Client(base_url=emulator.urls["queues"], headers=who) as worker:
            assert [queue["name"] for queue in worker.get("/v2/queues").json()["queues"]] == ["error"]
            claimed = worker.post("/v2/queues/error/claims", json={"ttl": 60, "grace": 60})
            assert claimed.status_code == 201
            (message,) = claimed.json()["messages"]
            assert message["body"] == {"n": 1}
            assert worker.delete(message["href"].partition("?")[0]).status_code == 403
            assert worker.delete(message["href"]).status_code == 204
            assert worker.get("/v2/queues/error/stats").json()["messages"]["total"] == 0


def test_a_moved_clock_keeps_no_message_back(tmp_path: Path) -> None:
    """Arrivals ahead of a clock that was set back are free: listed, counted, and claimed once each."""
    put_in: list[bytes] = []
    claimed: list[bytes] = []
    for free, limit in ((6, 4), (8, 8)):
        with open_components(tmp_path) as components:
            for move in range(3):
                components.clock.advance(3600 * (move + 1))
                for _ in range(2):
                    body = b'"%d"' % len(put_in)
                    put(components, body)
                    put_in.append(body)
                    if move != 1:
                        bodies(components.extensions["queues"].engine)
                    components.clock.resume_real_time()
            listed = components.extensions["queues"].engine.messages.page(ERRORS, limit=20)
            overview = next(
                each for each in components.extensions["queues"].engine.queues.overview() if each.at == ERRORS
            )
            assert overview.free == len(listed) == free
            held = components.extensions["queues"].engine.claims.create(ERRORS, limit=limit)
            assert held is not None
            for message in held.messages:
                claimed.append(message.body)
                components.extensions["queues"].engine.messages.delete(ERRORS, message.id, held.claim.id)
    assert claimed == put_in


def test_what_is_put_on_the_stream_arrives_when_it_comes_and_not_when_somebody_looks() -> None:
    """The history tells it by itself; looking writes nothing."""
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None, topology=TOPOLOGY)) as emulator:
        events = emulator.components.events
        with Client(emulator.control) as api:
            put(emulator.components, b'{"n": 1}')
            wait_until(lambda: any(each.kind == "queue.messages_arrived" for each in events.since(0, 100)))
            last = events.last
            assert [queue.total for queue in api.queues.list().queues] == [1]
        assert not [each for each in events.since(last, 100) if each.kind.startswith("queue.")]
