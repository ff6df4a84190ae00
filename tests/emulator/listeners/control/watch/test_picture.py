"""The picture that the watch page draws: what is in it, what is left out, and when there is another."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from emulator.assembly.embedded import Embedded
from emulator.kinesis import ShardView, StreamView
from emulator.listeners.control.watch.lanes import HASH_KEYS, MOST_CLOSED, MOST_OPEN, lay_out_stream
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import NewMessage
from rdss_sandbox.shapes.picture import Picture, ShardReader, StreamPicture
from rdss_sandbox.shapes.streams import Reshard
from tests.emulator.listeners.control.conftest import api, emulator, http
from tests.waiting import wait_until

__all__ = ["api", "emulator", "http"]


def call(emulator: Embedded, operation: str, **request: object) -> dict[str, object]:
    return emulator.components.streams.call(operation, request, emulator.components.home)


def put(emulator: Embedded, count: int, stream: str = "input", data: bytes = b"x") -> None:
    for number in range(count):
        call(emulator, "PutRecord", StreamName=stream, Data=data, PartitionKey=str(number))


def rejected(code: str, message_id: str) -> bytes:
    return json.dumps({"messageHeader": {"messageId": message_id, "errorCode": code}}).encode()


def stream(picture: Picture, name: str) -> StreamPicture:
    return next(each for each in picture.streams if each.name == name)


def test_shards_are_lanes_of_the_hash_keys_with_their_parents(emulator: Embedded, api: Client) -> None:
    """A split parts a lane in two, a merge joins two; the lanes open now fill the hash keys without a gap."""
    api.reshard("input", Reshard("split", "0"))
    api.reshard("input", Reshard("merge", "2", "3"))
    lanes = {lane.id[-1]: lane for lane in stream(api.picture(), "input").lanes}

    assert [(lanes[n].start, lanes[n].end, lanes[n].open) for n in "023"] == [
        (0.0, 0.5, False), (0.0, 0.25, False), (0.25, 0.5, False),
    ]  # fmt: skip
    assert [parent[-1] for parent in lanes["4"].parents] == ["2", "3"]
    assert sorted((lane.start, lane.end) for lane in lanes.values() if lane.open) == [(0.0, 0.5), (0.5, 1.0)]


def test_readers_say_how_far_they_are(emulator: Embedded, api: Client) -> None:
    """In records behind, on their shard; a minute after its last read a reader is idle."""
    put(emulator, 20, "error")
    shard = api.stream("error").shards[0].id
    begun = call(
        emulator, "GetShardIterator", StreamName="error", ShardId=shard, ShardIteratorType="TRIM_HORIZON"
    )
    call(emulator, "GetRecords", ShardIterator=begun["ShardIterator"], Limit=5)

    (reader,) = stream(api.picture(), "error").readers
    assert (reader.shard, reader.behind, reader.live) == (shard, 15, True)

    emulator.components.clock.advance(70)
    (reader,) = stream(api.picture(), "error").readers
    assert (reader.live, reader.late >= 70) == (False, True)


def test_strikes_are_counted_and_told_in_one_line(emulator: Embedded, api: Client) -> None:
    """However often a fault strikes; what it did last, and where, can be lit up."""
    api.add_fault(NewFault("duplicate", name="twice", toxicity=1))
    for number in range(3):
        api.send(NewMessage("input", b"message %d" % number, "k"))
    picture = api.picture()

    assert picture.faults[0].injected == 3
    (strike,) = picture.strikes
    assert (strike.fault, strike.channel) == ("twice", "input")
    said = [line.said for line in picture.news if "struck" in line.said]
    assert len(said) == 1
    assert said[0].startswith("the fault twice struck 3 times: ")


def test_news_name_shards_and_hash_keys_as_people_do(api: Client) -> None:
    """A number, and a place among all keys; both are 39 digits long for programs."""
    api.add_fault(NewFault("reshard", name="wider", channel="input", attributes={"action": "split"}))
    wanted = {
        "input was resharded: shard 0 closed, shard 2, shard 3 opened",
        "the fault wider struck: input: split shard 0 at 25 % of the keys",
    }
    wait_until(lambda: wanted <= {line.said for line in api.picture().news}, shown=api.picture)


def test_the_last_error_is_the_newest_refused_message(emulator: Embedded, api: Client) -> None:
    """With its code in words, also behind more records than are read at once; a reset forgets it."""
    assert api.picture().error is None
    put(emulator, 120, "invalid", rejected("GENERR001", "older"))
    put(emulator, 1, "invalid", rejected("GENERR004", "0b1e4a5c-newest"))
    while (error := api.picture().error) is None or "0b1e4a5c" not in error.said:
        assert error is not None
        assert "older" in error.said
    assert error.said == (
        "0b1e4a5c is in the invalid queue: GENERR004, A message header is invalid, missing or corrupt"
    )
    api.reset()
    assert api.picture().error is None
    assert api.picture().news[0].said == "the sandbox was emptied"


def test_events_of_trouble_are_errors_and_findings_are_findings(emulator: Embedded, api: Client) -> None:
    """Whatever part of the sandbox tells of a failure, it is said in words."""
    emit = emulator.components.events.emit
    emit("relay.amqp.unreachable", upstream="amqp://broker", why="connection refused")
    emit(
        "client.finding", rule="r", harm="loses", client="a", stream="input", shard=None,
        said="it reads no child", advice="Follow the children.", evidence={}, faults=(),
    )  # fmt: skip
    picture = api.picture()

    assert picture.error is not None
    assert picture.error.said == "the broker amqp://broker cannot be reached: connection refused"
    assert [(each.harm, each.said) for each in picture.findings] == [("loses", "it reads no child")]


def test_a_scenario_is_followed_by_its_events(emulator: Embedded, api: Client) -> None:
    """Its receiver reads beside the AWS port: how far it is, and what became of how many messages."""
    assert api.picture().run is None
    put(emulator, 10, "error")
    shard = api.stream("error").shards[0].id
    records = emulator.components.streams.read("error", shard, None, 10, emulator.components.home)
    emit = emulator.components.events.emit
    for record in records[:4]:
        emit("message.delivered", channel="error", shard=shard, sequence_number=record.sequence_number)
    emit("message.processed", message_id="m")
    picture = api.picture()

    assert stream(picture, "error").readers == (ShardReader("receiver", shard, 6, 0, live=True),)
    assert picture.run is not None
    assert (picture.run.delivered, picture.run.processed) == (4, 1)


def test_what_came_through_amqp_is_a_stream_whose_readers_are_not_known(
    emulator: Embedded, api: Client
) -> None:
    """Consumers read from the broker; the page does not say that nobody reads."""
    emulator.components.amqp.record("orders", [(b"x", "k")])
    shown = stream(api.picture(), "amqp:orders")
    assert (shown.records, shown.readers_known) == (1, False)
    assert stream(api.picture(), "input").readers_known


def test_what_repeats_other_streams_stands_aside(emulator: Embedded, api: Client) -> None:
    """The streams of an application come first, the audit log and the queues of refused messages last."""
    assert [(each.name, each.aside) for each in api.picture().streams] == [
        ("input", False), ("output", False), ("audit", True), ("error", True), ("invalid", True),
    ]  # fmt: skip


def test_more_shards_than_a_page_has_room_for_are_left_out_and_counted() -> None:
    """Of the closed ones the oldest."""
    width = HASH_KEYS // 100
    shards = [
        ShardView(
            id=f"shardId-{number:012d}", parents=(), children=(), starting_hash_key=str(number * width),
            ending_hash_key=str((number + 1) * width - 1), starting_sequence_number="1",
            ending_sequence_number=None, open=number >= 50, records=0, bytes=0, created=0.0,
        )
        for number in range(100)
    ]  # fmt: skip
    view = StreamView("wide", "arn", "ACTIVE", shards, 0, 0, "1")
    drawn = lay_out_stream("wide", view, None, 0.0, aside=False)

    assert sum(lane.open for lane in drawn.lanes) == MOST_OPEN
    closed = [lane.id for lane in drawn.lanes if not lane.open]
    assert closed == [shard.id for shard in shards[50 - MOST_CLOSED : 50]]
    assert drawn.left_out_shards == 100 - MOST_OPEN - MOST_CLOSED


@pytest.fixture
def pictures(http: httpx.Client) -> Iterator[Iterator[Picture]]:
    """The pictures of a live answer, as they come."""
    import msgspec

    with http.stream("GET", "/picture", headers={"accept": "text/event-stream"}) as answer:
        lines = answer.iter_lines()
        yield (msgspec.json.decode(line[5:], type=Picture) for line in lines if line.startswith("data:"))


def test_a_live_answer_tells_of_changes(emulator: Embedded, pictures: Iterator[Picture]) -> None:
    """The first picture comes at once, the next when something was put; a rate goes back to 0."""
    assert stream(next(pictures), "input").put == 0
    put(emulator, 50)
    assert stream(next(pictures), "input").put == 50
    rates = [stream(next(pictures), "input").rate for _ in range(2)]
    assert rates[0] > 0
    assert rates[-1] == 0


def test_what_is_rejected_is_news_at_once(emulator: Embedded, api: Client) -> None:
    """Before anybody looks at the queue: which message, and its code."""
    put(emulator, 1, "error", rejected("GENERR006", "aaaaaaaa-1"))
    said = "aaaaaaaa is in the error queue: GENERR006"
    wait_until(lambda: any(said in each.said for each in api.picture().news))
