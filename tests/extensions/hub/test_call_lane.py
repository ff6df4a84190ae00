"""One connection, on which calls follow each other: whole or in pieces, of one person or of several."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import msgspec
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from extensions.hub.hub_api import SeatView
from tests.bench.load import rendered
from tests.extensions.hub.running_hub import RunningHub, start_hub
from tests.waiting import wait_until

KEY = b"AKIAIOSFODNN7EXAMPLE"


@pytest.fixture
def line(hub: RunningHub) -> Iterator[socket.socket]:
    """A connection to the hub."""
    parts = urlsplit(hub.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as opened:
        yield opened


def build_call(seat: SeatView, operation: str = "ListStreams", **request: object) -> bytes:
    return rendered(operation, request).replace(KEY, seat.token.encode())


def read_answer(line: socket.socket) -> tuple[int, dict[str, object]]:
    answer = HTTPResponse(line)
    answer.begin()
    return answer.status, msgspec.json.decode(answer.read() or b"{}")


def add_with_stream(hub: RunningHub, name: str) -> SeatView:
    """A seat that is awake, with a stream of its name."""
    seat = hub.add(name)
    hub.aws(seat).create_stream(StreamName=name, ShardCount=1)
    return seat


def test_calls_of_several_people_on_one_connection_reach_each_their_own(
    hub: RunningHub, line: socket.socket
) -> None:
    """As behind a proxy that keeps connections; a key of nobody among them is refused, and nobody else is."""
    anna, bob = add_with_stream(hub, "anna"), add_with_stream(hub, "bob")
    for seat in (anna, anna, bob, anna, bob):
        line.sendall(build_call(seat))
        status, answer = read_answer(line)
        assert status == 200
        assert {"anna", "bob"} & {*answer["StreamNames"]} == {seat.name}  # type: ignore[misc]
    line.sendall(rendered("ListStreams", {}))
    assert read_answer(line)[0] == 400
    line.sendall(build_call(anna))
    assert read_answer(line)[0] == 200


@pytest.mark.parametrize("size", [1, 50])
def test_a_call_may_come_in_pieces(hub: RunningHub, line: socket.socket, size: int) -> None:
    """However it is cut, and the next one as well."""
    seat = add_with_stream(hub, f"pieces-{size}")
    call = build_call(seat, "PutRecord", StreamName="input", Data="MQ==", PartitionKey="k")
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(2):
        for at in range(0, len(call), size):
            line.sendall(call[at : at + size])
        assert read_answer(line)[0] == 200


def test_calls_sent_before_their_answers_are_answered_in_turn(hub: RunningHub, line: socket.socket) -> None:
    """Of two people too."""
    carl, dana = add_with_stream(hub, "carl"), add_with_stream(hub, "dana")
    line.sendall(build_call(carl))
    assert read_answer(line)[0] == 200
    line.sendall(build_call(carl) + build_call(dana) + build_call(carl))
    with line.makefile("rb") as answers:
        for seat in (carl, dana, carl):
            head = b"".join(iter(answers.readline, b"\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
            names = msgspec.json.decode(answers.read(length))["StreamNames"]
            assert {"carl", "dana"} & {*names} == {seat.name}


def test_a_connection_goes_on_after_an_answer_without_a_length(hub: RunningHub) -> None:
    """A subscription streams until it ends, or the client leaves; a page may be asked for in between."""
    emma = add_with_stream(hub, "emma")
    kinesis = hub.aws(emma)
    arn = kinesis.describe_stream_summary(StreamName="emma")["StreamDescriptionSummary"]["StreamARN"]
    consumer = kinesis.register_stream_consumer(StreamARN=arn, ConsumerName="c")["Consumer"]["ConsumerARN"]
    shard = kinesis.list_shards(StreamName="emma")["Shards"][0]["ShardId"]
    kinesis.put_record(StreamName="emma", Data=b"found", PartitionKey="k")
    wait_until(
        lambda: (
            kinesis.describe_stream_consumer(ConsumerARN=consumer)["ConsumerDescription"]["ConsumerStatus"]
            == "ACTIVE"
        )
    )
    events = kinesis.subscribe_to_shard(
        ConsumerARN=consumer, ShardId=shard, StartingPosition={"Type": "TRIM_HORIZON"}
    )["EventStream"]
    assert any(each["SubscribeToShardEvent"]["Records"] for each in events if "SubscribeToShardEvent" in each)
    assert hub.find("emma").calls >= 1
    events.close()
    wait_until(lambda: hub.find("emma").calls == 0)
    assert kinesis.list_streams()["StreamNames"]


def test_other_requests_follow_a_call_on_its_connection(hub: RunningHub) -> None:
    """The control API, and a call after it."""
    fritz = add_with_stream(hub, "fritz")
    parts = urlsplit(hub.url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    head, _, body = build_call(fritz).partition(b"\r\n\r\n")
    headers = dict(each.split(": ", 1) for each in head.decode().split("\r\n")[1:])
    for _ in range(2):
        connection.request("POST", "/", body, headers)
        assert b"fritz" in connection.getresponse().read()
        connection.request("GET", "/seat/fritz/version", headers={"authorization": f"Bearer {fritz.token}"})
        assert b"specification" in connection.getresponse().read()
    connection.close()


def test_websockets_pass_to_the_port_of_a_seat(hub: RunningHub) -> None:
    """By path and by host name, long messages too; without the token, or with another's, none is opened."""
    heinz, ilse = hub.add("heinz"), hub.add("ilse")
    address = hub.url.replace("http", "ws")
    who = {"Client-ID": "3381af92-2b9e-11e3-b191-71861300734c", "X-Project-ID": "p"}

    token = {"X-Auth-Token": heinz.token}

    def ask(socket: ClientConnection, action: str, **body: object) -> int:
        socket.send(json.dumps({"action": action, "headers": who | token, "body": body}))
        status: int = json.loads(socket.recv(timeout=30))["headers"]["status"]
        return status

    with connect(f"{address}/queues/heinz/", additional_headers=token, proxy=None) as socket:
        assert ask(socket, "authenticate") == 200
        assert ask(socket, "queue_create", queue_name="mine") == 201
        long = [{"ttl": 300, "body": "x" * 200_000}]
        assert ask(socket, "message_post", queue_name="mine", messages=long) == 201
        assert hub.find("heinz").calls == 1
    for headers in ({}, {"X-Auth-Token": ilse.token}, {**token, "Origin": "http://elsewhere.example"}):
        with pytest.raises(InvalidStatus) as refused:
            connect(f"{address}/queues/heinz/", additional_headers=headers, proxy=None)
        assert refused.value.response.status_code in {401, 403}
    assert hub.find("ilse").state == "asleep"


def test_with_tls_urls_in_answers_are_those_of_the_hub(tmp_path_factory: pytest.TempPathFactory) -> None:
    """For AWS's clients, RabbitMQ's and the control API."""
    with start_hub(tmp_path_factory.mktemp("tls"), "--tls", "self-signed") as hub:
        assert hub.url.startswith("https://")
        gustav = hub.add("gustav")
        assert hub.aws(gustav, "sqs").create_queue(QueueName="q")["QueueUrl"].startswith(hub.url)
        status = hub.control(gustav).status()
        assert (status.aws, status.amqp) == (
            hub.url,
            f"amqps://gustav:{gustav.token}@127.0.0.1:{hub.amqp_port}/",
        )
