"""A gateway and a receiver behave the same over Kinesis, RabbitMQ and the mock queue."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, Self

import pytest

from emulator.channels.channel import Channel, Delivery
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.memory import DEFAULT_SCOPE
from emulator.rng import new_uuid
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.gateway import MetadataGateway, NoAnswerError, NotPublishableError, ReadRefusedError
from sandbox.gateway.gateway import Gateway
from sandbox.receiver import Arrival, MemoryOriginals, Receiver
from sandbox.receiver.assembled_receiver import assembled_receiver
from sandbox.repository import MessageStatus, Repository
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split
from schemas.rdss.validation import judge

if TYPE_CHECKING:
    from tests.sandbox.gateway.conftest import Exchange

SAMPLES = Samples(5)
PATIENCE = 20.0


def a_work(access: str = "open") -> dict[str, Any]:
    """A digital object that has no objectUUID yet."""
    work: dict[str, Any] = SAMPLES.message("MetadataCreate", "software")["messageBody"]
    del work["objectUUID"]
    work["objectRights"]["access"] = [{"accessType": access}]
    return work


@contextmanager
def application(exchange: Exchange, **change: Any) -> Iterator[tuple[MetadataGateway, Repository]]:
    """An application with its gateway and its local data repository."""
    with (
        closing(exchange.repository("application")) as repository,
        exchange.gateway(repository, **change) as gateway,
    ):
        yield gateway, repository


def take(exchange: Exchange, name: str, count: int) -> list[dict[str, Any]]:
    """The messages on a channel, which are ``count``."""
    found: list[Delivery] = []
    with closing(exchange.queues.channel(exchange.names[name])) as channel:
        while len(found) < count:
            more = channel.read(wait=PATIENCE)
            assert more, f"only {len(found)} of {count} came on {name}"
            found += more
    assert all(judge(delivery.data).valid for delivery in found)
    return [json.loads(delivery.data) for delivery in found]


def test_a_created_work_is_published_under_an_object_uuid_of_its_own(exchange: Exchange) -> None:
    """Two creates of one work are two objects; the message is SENT, and says who sent it through what."""
    work = a_work()
    with application(exchange) as (gateway, repository):
        first, second = gateway.create(work), gateway.create(work)
        assert repository.tally(exchange.names["send"]) == {(MessageStatus.SENT, None, None): 2}
    messages = {m["messageHeader"]["messageId"]: m for m in take(exchange, "send", 2)}
    assert first.object_uuid != second.object_uuid
    header = messages[first.message_id]["messageHeader"]
    assert messages[first.message_id]["messageBody"] == work | {"objectUUID": first.object_uuid}
    assert (header["messageType"], header["messageClass"]) == ("MetadataCreate", "Command")
    assert (header["generator"], header["tenantJiscID"], header["version"]) == ("a repository", 89, "4.0.0")
    assert [entry["machineId"] for entry in header["messageHistory"]] == ["rdss-sandbox-gateway"]


def test_an_update_is_a_new_version_and_whole(exchange: Exchange) -> None:
    """It has its own objectUUID and names the one before; a part of an object is refused and not sent."""
    work = a_work()
    with application(exchange) as (gateway, _):
        before = gateway.create(work).object_uuid
        after = gateway.update(work | {"objectTitle": "Better"}, before)
        with pytest.raises(NotPublishableError, match="objectPersonRole"):
            gateway.update({"objectTitle": "Only this has changed"}, after.object_uuid)
    update = next(
        m for m in take(exchange, "send", 2) if m["messageHeader"]["messageType"] == "MetadataUpdate"
    )
    body = update["messageBody"]
    assert (body["objectTitle"], body["objectPersonRole"]) == ("Better", work["objectPersonRole"])
    assert body["objectUUID"] == after.object_uuid != before
    related = body["objectRelatedIdentifier"][-1]
    assert (related["relationType"], related["identifier"]["identifierValue"]) == ("isNewVersionOf", before)


def test_a_delete_and_a_preservation_event_are_sent_and_forgotten(exchange: Exchange) -> None:
    """A delete is a Command that names the object, a preservation event an Event."""
    package = SAMPLES.message("PreservationEvent")["messageBody"]
    object_uuid = new_uuid()
    with application(exchange) as (gateway, _):
        gateway.delete(object_uuid)
        gateway.preservation_event(package)
    found = {m["messageHeader"]["messageType"]: m for m in take(exchange, "send", 2)}
    assert found["MetadataDelete"]["messageBody"] == {"objectUUID": object_uuid}
    assert found["MetadataDelete"]["messageHeader"]["messageClass"] == "Command"
    assert found["PreservationEvent"]["messageBody"] == package
    assert found["PreservationEvent"]["messageHeader"]["messageClass"] == "Event"


class Responder:
    """Somebody who answers the reads on ``send``: with an object for each UUID that is asked for."""

    def __init__(self, exchange: Exchange, answers: dict[str, dict[str, Any]]) -> None:
        self.exchange = exchange
        self.answers = answers
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        (request,) = take(self.exchange, "send", 1)
        self.answer(request)

    def answer(self, request: dict[str, Any]) -> None:
        header = request["messageHeader"]
        assert header["returnAddress"] == self.exchange.names["receive"]
        answer = SAMPLES.message("MetadataRead", "software")
        answer["messageHeader"]["correlationId"] = header["messageId"]
        answer["messageHeader"] |= self.answers.get("header", {})
        answer["messageBody"] = self.answers.get(request["messageBody"]["objectUUID"], answer["messageBody"])
        with closing(self.exchange.queues.channel(self.exchange.names["receive"])) as channel:
            to_another = SAMPLES.message("MetadataRead", "software")
            to_another["messageHeader"]["correlationId"] = new_uuid()
            for other in [*SAMPLES.stream(5), to_another]:
                channel.publish(serialise(other), new_uuid())
            limit = len(serialise(answer)) - 500
            for part in reversed(split(answer, limit=limit, new_id=new_uuid)):
                channel.publish(part, new_uuid())

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.join()


def test_a_read_gets_the_answer_to_its_own_request(exchange: Exchange) -> None:
    """Among other messages, in parts, on any shard: the one whose correlationId is the request's id."""
    object_uuid = new_uuid()
    work = a_work() | {"objectUUID": object_uuid}
    with Responder(exchange, {object_uuid: work}), application(exchange, timeout=PATIENCE) as (gateway, _):
        assert gateway.read(object_uuid) == work


def test_a_read_that_nobody_answers_ends(exchange: Exchange) -> None:
    """After the time-out, with the message that was not answered and the channel."""
    why = rf"came on {exchange.names['receive']} within 0.1 s"
    with application(exchange, timeout=0.1) as (gateway, _), pytest.raises(NoAnswerError, match=why):
        gateway.read(new_uuid())


def test_an_answer_can_be_an_error(exchange: Exchange) -> None:
    """Whoever cannot answer says why: the caller gets the code."""
    refusal = {"header": {"errorCode": "APPERRMET003", "errorDescription": "no such object"}}
    with (
        Responder(exchange, refusal),
        application(exchange, timeout=PATIENCE) as (gateway, _),
        pytest.raises(ReadRefusedError, match="APPERRMET003: no such object"),
    ):
        gateway.read(new_uuid())


def test_an_answer_is_found_on_a_shard_that_came_while_waiting(streams: Exchange) -> None:
    """The stream is resharded after the request: the answer on a child shard is found."""
    object_uuid = new_uuid()
    work = a_work() | {"objectUUID": object_uuid}
    responder = Responder(streams, {object_uuid: work})
    respond = responder.answer

    def reshard_first(request: dict[str, Any]) -> None:
        for shard in ("shardId-000000000000", "shardId-000000000001"):
            split_shard(streams, streams.names["receive"], shard)
        respond(request)

    responder.answer = reshard_first  # type: ignore[method-assign]
    with responder, application(streams, timeout=PATIENCE) as (gateway, _):
        assert gateway.read(object_uuid) == work


def split_shard(streams: Exchange, name: str, shard: str) -> None:
    request = {"StreamName": name, "ShardToSplit": shard}
    middle = {"shardId-000000000000": 2**126, "shardId-000000000001": 2**127 + 2**126}[shard]
    if streams.settings.queue == "mock":
        engine = streams.queues.engine  # type: ignore[attr-defined]
        engine.call("SplitShard", request | {"NewStartingHashKey": str(middle)}, DEFAULT_SCOPE)
    else:
        kinesis = AwsEndpoint(streams.settings.address, streams.settings.region).kinesis()
        kinesis.split_shard(**request, NewStartingHashKey=str(middle))
        kinesis.close()


class Consumer:
    """An application that receives on ``send``, and remembers; it can stop at any message and start again."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.stop_at: int | None = None

    def process(self, arrival: Arrival, store: sqlite3.Connection) -> None:
        (count,) = store.execute("SELECT count(*) FROM arrivals").fetchone()
        if count == self.stop_at:
            raise KeyboardInterrupt
        store.execute("INSERT INTO arrivals VALUES (?)", (arrival.data,))

    @contextmanager
    def receiving(self) -> Iterator[tuple[Receiver, Repository]]:
        def open_channel(name: str, checkpoints: Checkpoints) -> Channel:
            return self.exchange.queues.channel(self.exchange.names.get(name, name), checkpoints)

        with ExitStack() as stack:
            repository = stack.enter_context(closing(self.exchange.repository("application")))
            with repository.transaction() as store:
                store.execute("CREATE TABLE IF NOT EXISTS arrivals (data BLOB)")
            receiver = stack.enter_context(
                assembled_receiver(
                    open_channel,
                    MemoryOriginals(),
                    stream=self.exchange.names["send"],
                    repository=repository,
                    application=self.process,
                    clock=self.exchange.clock,
                )
            )
            yield receiver, repository

    def receive(self, count: int) -> list[bytes]:
        """Receive until ``count`` have been processed; all that were."""
        with self.receiving() as (receiver, repository):
            while len(found := self.arrivals(repository)) < count:
                assert receiver.step(wait=PATIENCE), f"only {len(found)} of {count} came"
            receiver.step()
            return found

    @staticmethod
    def arrivals(repository: Repository) -> list[bytes]:
        with repository.transaction() as store:
            return [data for (data,) in store.execute("SELECT data FROM arrivals")]


def send(exchange: Exchange, *messages: bytes) -> None:
    with (
        closing(exchange.repository("sender")) as repository,
        closing(exchange.queues.channel(exchange.names["send"])) as channel,
    ):
        Gateway(channel, repository, exchange.clock).send_serialised(*messages)


def test_a_receiver_gets_each_message_once_and_whole(exchange: Exchange) -> None:
    """Duplicates dropped, a sequence joined, what is bad in the queue of its code with code and reason."""
    whole = serialise(SAMPLES.message("MetadataCreate"))
    last = serialise(SAMPLES.message("MetadataDelete"))
    large = SAMPLES.message("MetadataCreate", "dataset")
    parts = split(large, limit=len(serialise(large)) - 100, new_id=new_uuid)
    bad = SAMPLES.bad(ErrorCode.GENERR002)
    send(exchange, whole, parts[1], bad)
    send(exchange, whole, parts[0], last)
    found = Consumer(exchange).receive(3)
    assert sorted(peek(data).message_id or "" for data in found) == sorted(
        peek(data).message_id or "" for data in (whole, last, parts[0])
    )
    with closing(exchange.queues.channel(exchange.names["invalid"])) as channel:
        (rejected,) = channel.read(wait=PATIENCE)
    header = json.loads(rejected.data)["messageHeader"]
    assert (header["errorCode"], bool(header["errorDescription"])) == ("GENERR002", True)


def test_a_receiver_that_is_stopped_goes_on_where_it_was(exchange: Exchange) -> None:
    """Stopped in the middle of a message: that one comes again, none is lost and none processed twice."""
    messages = [serialise(message) for message in SAMPLES.stream(4)]
    send(exchange, *messages)
    consumer = Consumer(exchange)
    for consumer.stop_at in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            consumer.receive(4)
    consumer.stop_at = None
    assert sorted(consumer.receive(4)) == sorted(messages)


def test_an_application_drops_its_own_messages(exchange: Exchange) -> None:
    """What it sent comes back to it, and is not processed."""
    theirs = serialise(SAMPLES.message("MetadataDelete"))
    with application(exchange) as (gateway, _):
        gateway.delete(new_uuid())
    send(exchange, theirs)
    assert Consumer(exchange).receive(1) == [theirs]
    with closing(exchange.repository("application")) as repository:
        assert repository.counted("echo") == 1
