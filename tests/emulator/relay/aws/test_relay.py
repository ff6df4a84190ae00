"""A sandbox in front of an upstream: the same clients, faults, audit and message list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from msgspec.structs import replace

from emulator.assembly.embedded import Embedded, embedded
from emulator.assembly.own_infrastructure import UpstreamFailedError
from emulator.clock import Clock
from emulator.kinesis import Scope
from emulator.listeners.aws.credentials import DEFAULT_ACCOUNT
from emulator.relay.aws.upstream_streams import UpstreamStreams
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.topology import AuditTap, Topology
from tests.emulator.loop_thread import LoopThread
from tests.waiting import wait_until

TOPOLOGY = Topology(
    {"input": 2, "audit": 1, "error": 1},
    ("rdss-audit", "rdss-error"),
    AuditTap(taps=("input",)),
    {"error": "rdss-error"},
)
PIECE = b"x" * 1000


def relaying(upstream: str, topology: Topology = TOPOLOGY, **more: Any) -> AbstractContextManager[Embedded]:
    given: dict[str, Any] = {"aws_port": 0, "control_port": 0, "data_dir": None, "seed": 7, **more}
    return embedded(Settings(profile="relay", upstream_aws=upstream, topology=topology, **given))


@pytest.fixture
def relay(upstream: str) -> Iterator[Embedded]:
    with relaying(upstream) as running:
        yield running


def read_all(kinesis: Any, stream: str) -> list[bytes]:
    """What the open and closed shards of a stream hold."""
    found: list[bytes] = []
    for shard in kinesis.list_shards(StreamName=stream)["Shards"]:
        place = kinesis.get_shard_iterator(
            StreamName=stream, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
        while place:
            answer = kinesis.get_records(ShardIterator=place)
            found += [record["Data"] for record in answer["Records"]]
            place = answer.get("NextShardIterator") if answer["Records"] else None
    return found


def test_the_topology_is_made_once(upstream: str, client: Callable[..., Any]) -> None:
    """Streams and buckets are there when it answers; a second start finds them, with what is in them."""
    with relaying(upstream) as first:
        client("kinesis", first.aws).put_record(StreamName="input", Data=PIECE, PartitionKey="k")
        client("s3", first.aws).put_object(Bucket="rdss-error", Key="kept", Body=b"kept")
    with relaying(upstream) as second:
        kinesis, s3 = client("kinesis", second.aws), client("s3", second.aws)
        assert sorted(kinesis.list_streams()["StreamNames"]) == ["audit", "error", "input"]
        assert len(kinesis.list_shards(StreamName="input")["Shards"]) == 2
        assert read_all(kinesis, "input") == [PIECE]
        assert s3.get_object(Bucket="rdss-error", Key="kept")["Body"].read() == b"kept"


def test_bytes_go_through_as_they_are(relay: Embedded, client: Callable[..., Any]) -> None:
    """What is put here is the upstream's; long objects are streamed both ways; HEAD has no body."""
    kinesis, s3 = client("kinesis", relay.aws), client("s3", relay.aws)
    data = [bytes([number]) * 900 for number in range(50)]
    answer = kinesis.put_records(
        StreamName="input", Records=[{"Data": each, "PartitionKey": f"{each[0]}"} for each in data]
    )
    assert answer["FailedRecordCount"] == 0
    assert sorted(read_all(kinesis, "input")) == data
    body = bytes(range(256)) * 20_000
    s3.put_object(Bucket="rdss-error", Key="long one", Body=body)
    assert s3.head_object(Bucket="rdss-error", Key="long one")["ContentLength"] == len(body)
    assert s3.get_object(Bucket="rdss-error", Key="long one")["Body"].read() == body
    s3.delete_object(Bucket="rdss-error", Key="long one")
    with pytest.raises(ClientError, match="NoSuchKey"):
        s3.get_object(Bucket="rdss-error", Key="long one")
    with pytest.raises(ClientError) as refused:
        kinesis.describe_stream_summary(StreamName="none")
    assert refused.value.response["Error"]["Code"] == "ResourceNotFoundException"


def test_every_message_is_in_the_list_and_in_the_audit_bucket(
    relay: Embedded, client: Callable[..., Any], upstream: str
) -> None:
    """Those that went through the relay, and those that somebody put to the upstream behind its back."""
    client("kinesis", relay.aws).put_record(StreamName="input", Data=b'{"a":1}', PartitionKey="k")
    client("kinesis", upstream).put_record(StreamName="input", Data=b'{"b":2}', PartitionKey="k")
    with Client(relay.control) as control:
        wait_until(lambda: control.messages().total == 2)
        rows = control.messages().messages
        assert [control.message(row.id).raw for row in rows] == ['{"a":1}', '{"b":2}']
        status = control.drain_audit()
        assert (status.copied, status.delivered, status.pending) == (2, 2, 0)
        lines = b"".join(
            control.object("rdss-audit", row.key) for row in control.objects("rdss-audit").objects
        )
        assert lines.count(b"\n") == 2
        assert b'"message":{"a":1}' in lines
        assert b'"message":{"b":2}' in lines
        assert {stream.name: stream.records for stream in control.status().streams} == {
            "audit": 2,
            "error": 0,
            "input": 2,
        }


def test_the_audit_log_goes_on_after_a_restart(upstream: str, client: Callable[..., Any]) -> None:
    """Each message once, although nothing is kept here: the audit stream itself says what was copied."""
    for data in (b'{"a":1}', b'{"b":2}'):
        with relaying(upstream) as running:
            client("kinesis", running.aws).put_record(StreamName="input", Data=data, PartitionKey="k")
            with Client(running.control) as control:
                control.drain_audit()
                kept = [
                    control.object("rdss-audit", row.key) for row in control.objects("rdss-audit").objects
                ]
    assert read_all(client("kinesis", upstream), "audit") == [b'{"a":1}', b'{"b":2}']
    # The second batch is an object of its own: nothing is loaded again, with other bounds.
    assert [body.count(b"\n") for body in kept] == [1, 1]


def test_faults_strike_what_passes(client: Callable[..., Any], upstream: str) -> None:
    """A duplicate is two records upstream; deliveries are struck for who began to read before the fault.

    No archive reads the stream besides: its delivery would be struck too.
    """
    with relaying(upstream, replace(TOPOLOGY, archives={})) as running:
        strike_what_passes(running, client, upstream)


def strike_what_passes(relay: Embedded, client: Callable[..., Any], upstream: str) -> None:
    kinesis = client("kinesis", relay.aws)
    shard = kinesis.list_shards(StreamName="error")["Shards"][0]["ShardId"]
    place = kinesis.get_shard_iterator(StreamName="error", ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
        "ShardIterator"
    ]
    place = kinesis.get_records(ShardIterator=place)["NextShardIterator"]
    with Client(relay.control) as control:
        control.add_fault(NewFault("duplicate", name="put", direction="publish", channel="input"))
        kinesis.put_record(StreamName="input", Data=PIECE, PartitionKey="k")
        assert read_all(client("kinesis", upstream), "input") == [PIECE, PIECE]
        control.add_fault(NewFault("duplicate", name="get", direction="deliver", channel="error"))
        kinesis.put_record(StreamName="error", Data=b"once", PartitionKey="k")
        came = [record["Data"] for record in kinesis.get_records(ShardIterator=place)["Records"]]
        assert came == [b"once", b"once"]
        assert read_all(client("kinesis", upstream), "error") == [b"once"]
        assert [fault.injected for fault in control.faults()] == [1, 1]


def test_the_control_api_reshards_the_upstream(engine_url: str, client: Callable[..., Any]) -> None:
    """A split is done when the answer comes, and the shards are shown with their lineage."""
    from rdss_sandbox.shapes.streams import Reshard

    with relaying(engine_url) as running, Client(running.control) as control:
        shards = control.reshard("error", Reshard("split")).shards
        assert [(len(shard.parents), len(shard.children), shard.open) for shard in shards] == [
            (0, 2, False),
            (1, 0, True),
            (1, 0, True),
        ]
        assert len(client("kinesis", engine_url).list_shards(StreamName="error")["Shards"]) == 3


def test_a_stream_that_is_deleted_while_it_changes_is_waited_for_no_longer(
    engine_url: str, client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would never be ACTIVE again: whoever asked for the split is told that it is gone."""
    from rdss_sandbox.shapes.streams import Reshard

    upstream = client("kinesis", engine_url)
    with relaying(engine_url) as running, Client(running.control) as control:
        ask = UpstreamStreams._ask

        def delete_after_split(asked: UpstreamStreams, operation: str, request: dict[str, Any]) -> Any:
            answer = ask(asked, operation, request)
            if operation == "SplitShard":
                upstream.delete_stream(StreamName="error")
            return answer

        monkeypatch.setattr(UpstreamStreams, "_ask", delete_after_split)
        with pytest.raises(RefusedError, match="error"):
            control.reshard("error", Reshard("split"))


@pytest.mark.parametrize(("owned", "left"), [(True, []), (False, [PIECE])])
def test_reset_removes_only_what_is_the_sandboxs_own(
    engine_url: str, client: Callable[..., Any], owned: bool, left: list[bytes]
) -> None:
    """A stack that the sandbox started is emptied; what ran before it is left as it is."""
    with relaying(engine_url, upstream_owned=owned) as running, Client(running.control) as control:
        client("kinesis", running.aws).put_record(StreamName="input", Data=PIECE, PartitionKey="k")
        control.add_fault(NewFault("duplicate", channel="input"))
        control.reset()
        assert control.faults() == ()
        assert read_all(client("kinesis", engine_url), "input") == left


def test_reset_removes_a_stream_that_was_just_created(client: Callable[..., Any]) -> None:
    """It is shown while the upstream creates it and does not list its shards, and a reset removes it."""
    settings = Settings(aws_port=0, control_port=0, data_dir=None, amqp="none", transition_seconds=0.5)
    with (
        embedded(settings) as upstream,
        relaying(upstream.aws, Topology({"input": 1}), upstream_owned=True) as running,
        Client(running.control) as control,
    ):
        client("kinesis", running.aws).create_stream(StreamName="new", ShardCount=1)
        assert {"new": "CREATING"}.items() <= {
            each.name: each.status for each in control.status().streams
        }.items()
        control.reset()
        there = client("kinesis", upstream.aws)
        wait_until(lambda: there.list_streams()["StreamNames"] == ["input"])


def test_a_change_during_a_listing_is_in_the_next(engine_url: str, client: Callable[..., Any]) -> None:
    """A stream that is created while the streams are listed is not missing until the listing is old."""
    kinesis, home = client("kinesis", engine_url), Scope(DEFAULT_ACCOUNT, "us-east-1")
    kinesis.create_stream(StreamName="before", ShardCount=1)
    streams = UpstreamStreams(kinesis, home)

    def change(**_event: object) -> None:
        kinesis.meta.events.unregister("after-call.kinesis.ListShards", change)
        kinesis.create_stream(StreamName="during", ShardCount=1)
        streams.forget_listings()

    kinesis.meta.events.register("after-call.kinesis.ListShards", change)
    assert "during" not in streams.names(home)
    assert "during" in streams.names(home)


def test_an_upstream_that_is_not_there_is_named() -> None:
    """At once, with its address and what to look at."""
    relay = relaying("http://127.0.0.1:9")
    with (
        pytest.raises(UpstreamFailedError, match=r"http://127\.0\.0\.1:9 cannot be used.*is it running"),
        relay,
    ):
        pass


def test_an_upstream_that_goes_away_and_comes_back(
    loop_thread: LoopThread, client: Callable[..., Any]
) -> None:
    """Meanwhile clients get an error that they try again after, and the status says what is wrong."""
    from botocore.config import Config

    from emulator.events import Events
    from emulator.kinesis import Engine
    from emulator.listeners.aws.aws_app import AwsApp
    from emulator.listeners.aws.engine_backend import EngineBackend

    clock = Clock()
    events = Events(clock)
    engine = Engine(None, clock, events)
    app = AwsApp(EngineBackend(engine, clock), events)
    server = loop_thread.serve(app)
    with relaying(server.url, Topology({"input": 1})) as running, Client(running.control) as control:
        kinesis = client("kinesis", running.aws, config=Config(retries={"total_max_attempts": 1}))
        kinesis.put_record(StreamName="input", Data=b"before", PartitionKey="k")
        loop_thread.run(server.close(0.1))
        with pytest.raises((ClientError, ConnectionClosedError)):
            kinesis.put_record(StreamName="input", Data=b"meanwhile", PartitionKey="k")
        with pytest.raises(ClientError, match=r"ServiceUnavailable.*does not answer"):
            kinesis.put_record(StreamName="input", Data=b"meanwhile", PartitionKey="k")
        wait_until(lambda: any("trouble" in note for note in control.status().notes))
        loop_thread.serve(app, server.port)
        kinesis.put_record(StreamName="input", Data=b"after", PartitionKey="k")
        assert read_all(kinesis, "input") == [b"before", b"after"]
        wait_until(lambda: control.messages().total == 2)
        wait_until(lambda: not any("trouble" in note for note in control.status().notes))
    engine.close()


def test_concurrent_clients_do_not_get_each_others_answers(
    engine_url: str, client: Callable[..., Any]
) -> None:
    """Connections to the upstream are shared between requests, one at a time."""
    with relaying(engine_url) as running:
        s3 = client("s3", running.aws)
        for number in range(8):
            s3.put_object(Bucket="rdss-error", Key=f"{number}", Body=bytes([number]) * (number * 50_000))
        wrong: list[int] = []

        def read(number: int) -> None:
            for _ in range(10):
                body = s3.get_object(Bucket="rdss-error", Key=f"{number}")["Body"].read()
                if body != bytes([number]) * (number * 50_000):
                    wrong.append(number)

        threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
