"""Where an answer goes, and what is told to whom no answer can be given."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.channels.memory import DEFAULT_SCOPE
from sandbox.applications import InstitutionalRepository
from tests.sandbox.applications.application_streams import Running, Streams

UNKNOWN = "0f6b1d0e-3e0c-4b0e-9c2d-3a8a3f0a4a11"


@pytest.fixture
def running(streams: Streams) -> Running:
    streams.engine.call("CreateStream", {"StreamName": "replies", "ShardCount": 1}, DEFAULT_SCOPE)
    return opened(streams)


def opened(streams: Streams) -> Running:
    return streams.open(lambda repository, outbox: InstitutionalRepository(repository, outbox, streams.clock))


def asking(streams: Streams, uuid: str, address: str | None = None) -> dict[str, Any]:
    request = streams.about("MetadataRead", uuid)
    if address is not None:
        request["messageHeader"]["returnAddress"] = address
    return request


@pytest.mark.parametrize(
    ("address", "stream"), [("replies", "replies"), (None, "output"), ("output", "output")]
)
def test_an_answer_goes_where_the_request_wants_it(
    streams: Streams, running: Running, address: str | None, stream: str
) -> None:
    """To the stream that it names; to the answers' own where it names none."""
    created = streams.create()
    request = asking(streams, created["messageBody"]["objectUUID"], address)
    streams.put(created, request)
    running.run()
    ((name, answer),) = [(name, each) for name in ("replies", "output") for each in streams.on(name)]
    assert (name, answer["messageBody"]) == (stream, created["messageBody"])
    assert answer["messageHeader"]["correlationId"] == request["messageHeader"]["messageId"]
    assert streams.errors() == []


@pytest.mark.parametrize("address", ["nowhere", "arn:aws:kinesis:us-east-1:000000000000:stream/replies", " "])
def test_an_address_that_is_none_here_is_refused(streams: Streams, running: Running, address: str) -> None:
    """GENERR004, for the header is wrong; the reason names the address and those that there are."""
    created = streams.create()
    request = asking(streams, created["messageBody"]["objectUUID"], address)
    streams.put(created, request)
    running.run()
    (rejected,) = streams.on("invalid")
    header = rejected["messageHeader"]
    assert header["errorCode"] == "GENERR004"
    assert header["errorDescription"] == (
        f"returnAddress {address!r} is no stream or queue here; "
        "there are: error, input, invalid, output, replies"
    )
    (told,) = streams.on("output")
    assert told["messageHeader"]["errorDescription"] == header["errorDescription"]
    assert told["messageHeader"]["correlationId"] == request["messageHeader"]["messageId"]


@pytest.mark.parametrize("address", [None, "replies"])
def test_who_asks_for_what_is_not_there_is_told_so(
    streams: Streams, running: Running, address: str | None
) -> None:
    """The code and why, correlated, where an answer would have gone; the request is rejected too."""
    request = asking(streams, UNKNOWN, address)
    streams.put(request)
    running.run()
    assert streams.errors() == ["APPERRMET003"]
    (told,) = streams.on(address or "output")
    header = told["messageHeader"]
    assert (header["errorCode"], header["correlationId"]) == (
        "APPERRMET003",
        request["messageHeader"]["messageId"],
    )
    assert header["errorDescription"] == f"there is no object {UNKNOWN} to read"
    assert (header["messageType"], told["messageBody"]) == ("MetadataRead", {"objectUUID": UNKNOWN})
    assert header["tenantJiscID"] == request["messageHeader"]["tenantJiscID"]


def test_word_of_no_answer_is_not_answered_itself(streams: Streams, running: Running) -> None:
    """A repository that reads where it answers takes note of it: the two do not go on for ever."""
    streams.put(asking(streams, UNKNOWN, "replies"))
    running.run()
    (told,) = streams.on("replies")
    told["messageHeader"]["messageId"] = "5680e8e0-28a5-4b20-948e-fd0d08781e0b"
    streams.put(told)
    running.run()
    assert streams.errors() == ["APPERRMET003"]
    assert len(streams.on("replies")) == 1
    assert streams.on("output") == []


def test_an_answer_elsewhere_outlives_a_crash(streams: Streams, running: Running) -> None:
    """Ended before the answer was sent, the next process sends it, once, to the address it was for."""
    created = streams.create()
    streams.put(created, asking(streams, created["messageBody"]["objectUUID"], "replies"))
    running.receiver.run(lambda: True, wait=0)
    assert streams.on("replies") == []
    restarted = opened(streams)
    restarted.run()
    restarted.run()
    assert len(streams.on("replies")) == 1


def test_an_address_that_is_gone_stops_nothing(streams: Streams, running: Running) -> None:
    """The stream was deleted before the answer was sent: later messages are processed, other answers sent."""
    created = streams.create()
    uuid = created["messageBody"]["objectUUID"]
    streams.put(created, asking(streams, uuid, "replies"))
    running.receiver.run(lambda: True, wait=0)
    streams.engine.call("DeleteStream", {"StreamName": "replies"}, DEFAULT_SCOPE)
    streams.clock.advance(60)
    before = streams.clock.elapsed()
    streams.put(asking(streams, uuid))
    running.run()
    assert len(streams.on("output")) == 1
    assert streams.clock.elapsed() - before < 1


def test_many_answers_to_one_address_ask_once_for_the_names(
    streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer is recorded in a transaction, in which a call over the network would hold up all others."""
    asked: list[None] = []
    streams.engine.call("CreateStream", {"StreamName": "replies", "ShardCount": 1}, DEFAULT_SCOPE)
    monkeypatch.setattr(streams, "streams", lambda: asked.append(None) or Streams.streams(streams))
    running = opened(streams)
    created = streams.create()
    uuid = created["messageBody"]["objectUUID"]
    streams.put(created, *(asking(streams, uuid, "replies") for _ in range(5)))
    running.receiver.run(lambda: True, wait=0)
    assert len(asked) == 1
    running.run()
    assert len(streams.on("replies")) == 5
