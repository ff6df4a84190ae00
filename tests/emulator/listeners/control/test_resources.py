"""What each resource of the control API answers, asked by its own client."""

from __future__ import annotations

import json
import os
from typing import Any

import httpx
import msgspec
import pytest

from emulator.assembly.embedded import Embedded
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.shapes.faults import FaultChange, NewFault
from rdss_sandbox.shapes.messages import NewMessage, StoredMessage
from rdss_sandbox.shapes.status import Reset
from rdss_sandbox.shapes.streams import Reshard
from rdss_sandbox.shapes.topology import Topology

MESSAGE = {"messageHeader": {"messageId": "m-1", "messageType": "MetadataCreate"}, "messageBody": {"a": 1}}


def put(emulator: Embedded, data: bytes, stream: str = "input", key: str = "k") -> None:
    """Put a record without the network."""
    request = {"StreamName": stream, "Data": data, "PartitionKey": key}
    emulator.components.streams.call("PutRecord", request, emulator.components.home)


def test_the_status_changes_nothing_and_counts_what_waits(emulator: Embedded, api: Client) -> None:
    """Messages are indexed when somebody asks for messages; how many there are is known before."""
    index = emulator.components.index
    for count in (1, 2, 3):
        put(emulator, b"x")
        assert [api.status().messages for _ in range(2)] == [count, count]
        assert index.progress() == (0, {})
    assert api.messages(limit=1).total == 3
    put(emulator, b"x")
    assert (api.status().messages, index.progress()[0]) == (4, 3)


def test_status_says_where_everything_is(emulator: Embedded, api: Client) -> None:
    """Endpoints, process, seed, clock, streams: what a person or a script needs to go on."""
    put(emulator, b"x")
    status = api.status()

    assert (status.aws, status.control) == (emulator.aws, emulator.control)
    assert (status.pid, status.seed, status.profile, status.messages) == (os.getpid(), 7, "embedded", 1)
    assert status.clock.real
    assert [stream.name for stream in status.streams] == ["audit", "error", "input", "invalid", "output"]
    assert status.uptime > 0


def test_a_stream_shows_its_shards_with_lineage(emulator: Embedded, api: Client) -> None:
    """After a split the parent is closed, names its children, and keeps its records."""
    put(emulator, b"x")
    before = api.stream("input")
    parent = before.shards[0]

    after = api.reshard("input", Reshard("split", shard=parent.id))

    closed = next(shard for shard in after.shards if shard.id == parent.id)
    children = [shard for shard in after.shards if parent.id in shard.parents]
    assert not closed.open
    assert closed.ending_sequence_number is not None
    assert set(closed.children) == {shard.id for shard in children}
    assert {shard.starting_hash_key for shard in children} >= {parent.starting_hash_key}
    assert (after.open_shards, after.closed_shards, after.records) == (3, 1, 1)


def test_readers_are_shown_with_their_lag(emulator: Embedded, api: Client) -> None:
    """An iterator that was handed out is somebody who reads; looking at a message is not."""
    put(emulator, b"x", "output")
    shard = next(shard.id for shard in api.stream("output").shards if shard.records)
    request = {"StreamName": "output", "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
    emulator.components.streams.call("GetShardIterator", request, emulator.components.home)
    assert api.message(1).raw == "x"

    found = api.readers("output")
    assert found.known
    (reader,) = found.readers
    assert (reader.stream, reader.shard, reader.kind, reader.behind) == ("output", shard, "iterator", 1)
    assert api.readers("input").readers == ()
    assert [each.shard for each in api.readers().readers] == [shard]


def test_status_names_the_topology_and_the_newest_event(emulator: Embedded, api: Client) -> None:
    """Who watches need not know by heart what the audit log and the queues are called."""
    status = api.status()
    assert status.topology == emulator.settings.topology
    assert status.events == api.last_event()


def test_an_export_is_every_message_as_it_was_sent(emulator: Embedded, api: Client) -> None:
    """More than a page of them, filtered, one a line; a filter that cannot be read is refused at once."""
    bodies = [b'{"n": %d}' % number for number in range(450)]
    for data in [*bodies, b"\xff"]:
        put(emulator, data)
    put(emulator, b"elsewhere", "output")
    lines = b"".join(api.export("stream:input")).splitlines()
    assert sorted(lines) == sorted([*bodies, b'{"rawBase64": "/w=="}'])
    with pytest.raises(RefusedError, match="no field 'colour'"):
        list(api.export("colour:red"))


def test_resharding_without_a_shard_chooses_one(api: Client) -> None:
    """The widest is split, the narrowest neighbours are merged, and scale makes all of one width."""
    assert api.reshard("audit", Reshard("split")).open_shards == 2
    assert api.reshard("audit", Reshard("split")).open_shards == 3
    merged = api.reshard("audit", Reshard("merge"))
    assert merged.open_shards == 2
    widths = {int(s.ending_hash_key) - int(s.starting_hash_key) for s in merged.shards if s.open}
    assert len(widths) == 1
    assert api.reshard("audit", Reshard("scale", count=4)).open_shards == 4


def test_a_shard_can_be_named_by_its_number(api: Client) -> None:
    """Nobody types shardId-000000000001 who can type 1."""
    found = api.reshard("input", Reshard("merge", shard="1", adjacent="0"))

    assert found.open_shards == 1
    assert found.shards[-1].parents == ("shardId-000000000000", "shardId-000000000001") or set(
        found.shards[-1].parents
    ) == {"shardId-000000000000", "shardId-000000000001"}


@pytest.mark.parametrize(
    ("stream", "change", "status", "said"),
    [
        ("nope", Reshard("split"), 404, "no stream is named 'nope'"),
        ("input", Reshard("split", shard="9"), 404, "no open shard is named '9'"),
        ("error", Reshard("merge"), 400, "only one open shard"),
        ("input", Reshard("scale"), 400, "to how many"),
        ("input", Reshard("scale", count=0), 400, "targetShardCount"),
        ("input", Reshard("split", hash_key="x"), 400, "newStartingHashKey"),
        ("input", Reshard("split", shard="0", hash_key="3" + "0" * 38), 400, "StartingHashKey"),
    ],
)
def test_a_reshard_that_cannot_be_says_why(
    api: Client, stream: str, change: Reshard, status: int, said: str
) -> None:
    """Wrong stream, wrong shard, nothing to merge, no count: refused, and nothing changed."""
    with pytest.raises(RefusedError, match=said) as refused:
        api.reshard(stream, change)
    assert refused.value.status == status
    assert all(found.closed_shards == 0 for found in api.streams())


def test_a_stream_of_another_region_says_so_in_its_name(emulator: Embedded, api: Client) -> None:
    """Streams that a client makes elsewhere are listed, readable and resharded under their label."""
    elsewhere = emulator.components.home._replace(region="eu-west-2")
    emulator.components.streams.call("CreateStream", {"StreamName": "input", "ShardCount": 1}, elsewhere)
    request = {"StreamName": "input", "Data": b"far", "PartitionKey": "k"}
    emulator.components.streams.call("PutRecord", request, elsewhere)

    assert api.stream("input@eu-west-2").records == 1
    assert api.reshard("input@eu-west-2", Reshard("split")).open_shards == 2
    row = api.messages(matching="stream:input@*").messages[0]
    assert api.message(row.id).raw == "far"


def test_a_message_is_shown_whole(emulator: Embedded, api: Client) -> None:
    """Header and body apart, the text as it came, and the events that name it."""
    put(emulator, msgspec.json.encode(MESSAGE))
    emulator.components.events.emit("fault.injected", message_id="m-1", did="nothing much")

    found = api.message(1)
    assert (found.header, found.body) == (MESSAGE["messageHeader"], MESSAGE["messageBody"])
    assert found.raw == msgspec.json.encode(MESSAGE).decode()
    assert [event["did"] for event in found.events] == ["nothing much"]


def test_a_message_of_any_bytes_is_shown(emulator: Embedded, api: Client) -> None:
    """What is not JSON is text, what is not text is base64."""
    for data in (b"plain", b"\xff", b"[1]", b'{"messageHeader":3}'):
        put(emulator, data, key="same")

    texts = [api.message(n) for n in range(1, 5)]
    assert [found.raw for found in texts] == ["plain", None, "[1]", '{"messageHeader":3}']
    assert texts[1].raw_base64 == "/w=="
    assert [found.header for found in texts] == [None] * 4


@pytest.mark.parametrize("row_id", ["2", "0", "-1", "x", "9" * 30])
def test_a_message_that_is_not_there(emulator: Embedded, http: httpx.Client, row_id: str) -> None:
    """404 with a sentence, whatever was asked for."""
    put(emulator, b"x")

    answer = http.get(f"/messages/{row_id}")
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "no_such_message"


def test_the_message_list_is_filtered_and_paged(emulator: Embedded, api: Client) -> None:
    """A message is in the list as soon as it was acknowledged."""
    for n in range(5):
        put(emulator, msgspec.json.encode({"messageHeader": {"messageId": f"m-{n}"}, "messageBody": n}))

    page = api.messages(matching="id:m-*", offset=1, limit=2)
    assert ([row.message_id for row in page.messages], page.total, page.last) == (["m-1", "m-2"], 5, 5)
    assert [row.id for row in api.messages(after=3).messages] == [4, 5]
    with pytest.raises(RefusedError, match="no field 'colour'"):
        api.messages(matching="colour:blue")


def test_the_clock_is_driven_from_outside(emulator: Embedded, api: Client) -> None:
    """Freeze, advance, change the speed, back to real: each answers with what the clock shows then."""
    frozen = api.change_clock(ClockChange("freeze"))
    assert (frozen.speed, frozen.real) == (0, False)
    assert api.change_clock(ClockChange("advance", seconds=360)).time == pytest.approx(frozen.time + 360)
    assert api.change_clock(ClockChange("speed", speed=60)).speed == 60
    assert api.change_clock(ClockChange("real")).real
    assert api.clock().real
    assert [event.kind for event in api.events()].count("clock.changed") == 4


@pytest.mark.parametrize(
    "change",
    [
        {"action": "advance"},
        {"action": "advance", "seconds": -1},
        {"action": "advance", "seconds": 1e300},
        {"action": "speed", "speed": -1},
        {"action": "backwards"},
        {"action": "freeze", "colour": 1},
        [],
        None,
    ],
)
def test_a_clock_change_that_cannot_be_is_refused(http: httpx.Client, change: Any) -> None:
    """400, a reason, and the clock goes on as before."""
    answer = http.post("/clock", content=json.dumps(change))

    assert answer.status_code == 400
    assert answer.json()["error"]["message"]
    assert http.get("/clock").json()["real"] is True


def test_faults_come_and_go(api: Client) -> None:
    """Added under a name, changed, listed with counts, removed."""
    added = api.add_fault(NewFault("duplicate", channel="input", toxicity=0.5))
    assert api.fault(added.name) == added
    changed = api.change_fault(added.name, FaultChange(toxicity=0.25, enabled=False))
    assert (changed.toxicity, changed.enabled, changed.channel) == (0.25, False, "input")
    assert api.faults() == (changed,)
    assert api.remove_fault(added.name) == changed
    assert api.faults() == ()
    with pytest.raises(RefusedError) as refused:
        api.remove_fault(added.name)
    assert (refused.value.status, refused.value.code) == (404, "no_such_fault")


@pytest.mark.parametrize(
    "fault",
    [
        NewFault("flood"),
        NewFault("duplicate", toxicity=2),
        NewFault("duplicate", attributes={"colour": "blue"}),
        NewFault("latency", attributes={"delay": "soon"}),
        NewFault("duplicate", direction="sideways"),
        NewFault("duplicate", when={"sometimes": True}),
    ],
)
def test_a_fault_that_cannot_be_is_refused(api: Client, fault: NewFault) -> None:
    """400 with the reason, and nothing is in force."""
    with pytest.raises(RefusedError) as refused:
        api.add_fault(fault)
    assert (refused.value.status, refused.value.code) == (400, "bad_fault")
    assert api.faults() == ()


def test_the_registry_of_faults_is_told(api: Client) -> None:
    """The four of the card first; every attribute has a type and a sentence."""
    types = api.fault_types()

    assert [type_.type for type_ in types][:4] == ["reshard", "duplicate", "latency", "oversize"]
    assert all(attribute.type and attribute.help for type_ in types for attribute in type_.attributes)
    assert all(type_.help and type_.directions for type_ in types)
    assert types[0].channels == ("memory", "kinesis")


def test_populate_makes_only_what_is_missing(api: Client) -> None:
    """Idempotent: a second time there is nothing to make."""
    wanted = Topology(streams={"input": 9, "extra": 3}, buckets=("rdss-audit", "extra-bucket"))

    first, second = api.populate(wanted), api.populate(wanted)
    assert (first.streams, first.buckets) == (("extra",), ("extra-bucket",))
    assert (second.streams, second.buckets) == ((), ())
    assert api.stream("extra").open_shards == 3
    assert api.stream("input").open_shards == 2
    assert api.populate().streams == ()


def test_populate_with_a_name_that_cannot_be(http: httpx.Client) -> None:
    """Names and counts are what AWS takes; nothing is made of a topology that is refused."""
    for topology in ({"streams": {"no good": 1}}, {"streams": {"x": 0}}, {"buckets": ["NO"]}, {"stream": {}}):
        assert http.post("/populate", json={"streams": {"fine": 1}} | topology).status_code == 400
    assert [s["name"] for s in http.get("/streams").json()["streams"] if s["name"] == "fine"] == []


def test_reset_begins_afresh(emulator: Embedded, api: Client) -> None:
    """No message, no fault, no further stream, real time; what is sent then has the id 1."""
    put(emulator, b"x")
    api.add_fault(NewFault("duplicate"))
    api.change_clock(ClockChange("freeze"))
    api.populate(Topology(streams={"extra": 1}))
    api.reshard("input", Reshard("split"))
    assert api.messages().total == 1

    status = api.reset()
    assert (status.messages, status.clock.real, api.faults()) == (0, True, ())
    assert [
        (s.name, s.open_shards, s.closed_shards) for s in status.streams if s.name in {"input", "extra"}
    ] == [("input", 2, 0)]
    put(emulator, b"y")
    assert [row.id for row in api.messages().messages] == [1]


def test_metrics_are_prometheus_text(emulator: Embedded, http: httpx.Client) -> None:
    """Records by stream, messages, events by kind, injections by fault."""
    put(emulator, b"x")
    http.post("/faults", json={"type": "duplicate", "name": "twice"})

    text = http.get("/metrics").text
    assert 'sandbox_stream_records{stream="input"} 1.0' in text
    assert "sandbox_messages 1.0" in text
    assert 'sandbox_events_total{kind="fault.added"} 1.0' in text
    assert 'sandbox_faults_injected_total{fault="twice",type="duplicate"} 0.0' in text


def test_version_and_health(http: httpx.Client) -> None:
    """Two small questions that scripts wait on."""
    assert http.get("/version").json() == {"version": "0.2.0", "specification": "4.0.0"}
    assert http.get("/health").json() == {"status": "ok"}


def test_a_reset_begins_with_the_seed_and_the_time_that_are_given(emulator: Embedded, api: Client) -> None:
    """The same seed strikes the same messages again, and streams are as old as the clock says."""
    struck = []
    for seed in (1, 2, 1):
        api.reset(Reset(seed=seed, time=1_767_225_600.0))
        api.add_fault(NewFault("duplicate", toxicity=0.5))
        for number in range(20):
            api.send(NewMessage("input", str(number).encode(), key=str(number)))
        struck.append(sorted(each.data for each in stored(api)))
        assert api.status().seed == seed
    assert struck[0] == struck[2] != struck[1]
    created = [shard.created for shard in api.stream("input").shards]
    assert all(1_767_225_600 <= at < 1_767_225_660 for at in created)

    api.reset()
    assert api.clock().real
    assert api.status().seed == 1


def test_a_reset_to_a_time_that_no_clock_shows_changes_nothing(api: Client) -> None:
    """It is refused before anything is removed."""
    api.send(NewMessage("input", b"kept"))
    with pytest.raises(RefusedError, match="1970 to 9998") as refused:
        api.reset(Reset(time=-1.0))
    assert refused.value.code == "bad_clock"
    assert [each.data for each in stored(api)] == [b"kept"]


def test_the_clock_is_set_and_goes_on_at_its_speed(api: Client) -> None:
    """Backwards too; a frozen clock stays frozen, and no time passes for what waits."""
    api.change_clock(ClockChange("freeze"))
    before = api.clock().elapsed
    reading = api.change_clock(ClockChange("set", time=1_000_000_000.0))
    assert (reading.time, reading.speed, reading.real) == (1_000_000_000.0, 0, False)
    assert reading.elapsed == before
    for time in (None, -1.0, 1e12):
        with pytest.raises(RefusedError):
            api.change_clock(ClockChange("set", time=time))


def test_stored_messages_have_what_the_list_shows_and_their_bytes(api: Client) -> None:
    """Whatever the payload is, and only of what the filter selects."""
    payloads = [b'{"a":\n 1}', b"\xff\x00", b"text"]
    for each in payloads:
        api.send(NewMessage("input", each))
    api.send(NewMessage("output", b"other"))
    found = stored(api, "stream:input")
    assert sorted(each.data for each in found) == sorted(payloads)
    assert {each.size for each in found} == {len(each) for each in payloads}
    with pytest.raises(RefusedError, match="no field"):
        stored(api, "colour:blue")


def stored(api: Client, matching: str = "stream:input") -> list[StoredMessage]:
    lines = b"".join(api.stored(matching)).splitlines()
    return [msgspec.json.decode(line, type=StoredMessage) for line in lines]
