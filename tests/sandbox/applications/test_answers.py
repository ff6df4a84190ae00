"""Where an answer goes, and what is told to whom no answer can be given."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.channels.memory import DEFAULT_SCOPE
from sandbox.applications import InstitutionalRepository
from tests.sandbox.applications.application_streams import Running, Town

UNKNOWN = "0f6b1d0e-3e0c-4b0e-9c2d-3a8a3f0a4a11"


@pytest.fixture
def running(town: Town) -> Running:
    town.engine.call("CreateStream", {"StreamName": "replies", "ShardCount": 1}, DEFAULT_SCOPE)
    return opened(town)


def opened(town: Town) -> Running:
    return town.open(lambda repository, outbox: InstitutionalRepository(repository, outbox, town.clock))


def asking(town: Town, uuid: str, address: str | None = None) -> dict[str, Any]:
    request = town.about("MetadataRead", uuid)
    if address is not None:
        request["messageHeader"]["returnAddress"] = address
    return request


@pytest.mark.parametrize(
    ("address", "stream"), [("replies", "replies"), (None, "output"), ("output", "output")]
)
def test_an_answer_goes_where_the_request_wants_it(
    town: Town, running: Running, address: str | None, stream: str
) -> None:
    """To the stream that it names; to the answers' own where it names none."""
    created = town.create()
    request = asking(town, created["messageBody"]["objectUUID"], address)
    town.put(created, request)
    running.run()
    ((name, answer),) = [(name, each) for name in ("replies", "output") for each in town.on(name)]
    assert (name, answer["messageBody"]) == (stream, created["messageBody"])
    assert answer["messageHeader"]["correlationId"] == request["messageHeader"]["messageId"]
    assert town.errors() == []


@pytest.mark.parametrize("address", ["nowhere", "arn:aws:kinesis:us-east-1:000000000000:stream/replies", " "])
def test_an_address_that_is_none_here_is_refused(town: Town, running: Running, address: str) -> None:
    """GENERR004, for the header is wrong; the reason names the address and those that there are."""
    created = town.create()
    request = asking(town, created["messageBody"]["objectUUID"], address)
    town.put(created, request)
    running.run()
    (rejected,) = town.on("invalid")
    header = rejected["messageHeader"]
    assert header["errorCode"] == "GENERR004"
    assert header["errorDescription"] == (
        f"returnAddress {address!r} is no stream or queue here; "
        "there are: error, input, invalid, output, replies"
    )
    (told,) = town.on("output")
    assert told["messageHeader"]["errorDescription"] == header["errorDescription"]
    assert told["messageHeader"]["correlationId"] == request["messageHeader"]["messageId"]


@pytest.mark.parametrize("address", [None, "replies"])
def test_who_asks_for_what_is_not_there_is_told_so(town: Town, running: Running, address: str | None) -> None:
    """The code and why, correlated, where an answer would have gone; the request is rejected too."""
    request = asking(town, UNKNOWN, address)
    town.put(request)
    running.run()
    assert town.errors() == ["APPERRMET003"]
    (told,) = town.on(address or "output")
    header = told["messageHeader"]
    assert (header["errorCode"], header["correlationId"]) == (
        "APPERRMET003",
        request["messageHeader"]["messageId"],
    )
    assert header["errorDescription"] == f"there is no object {UNKNOWN} to read"
    assert (header["messageType"], told["messageBody"]) == ("MetadataRead", {"objectUUID": UNKNOWN})
    assert header["tenantJiscID"] == request["messageHeader"]["tenantJiscID"]


def test_word_of_no_answer_is_not_answered_itself(town: Town, running: Running) -> None:
    """A repository that reads where it answers takes note of it: the two do not go on for ever."""
    town.put(asking(town, UNKNOWN, "replies"))
    running.run()
    (told,) = town.on("replies")
    told["messageHeader"]["messageId"] = "5680e8e0-28a5-4b20-948e-fd0d08781e0b"
    town.put(told)
    running.run()
    assert town.errors() == ["APPERRMET003"]
    assert len(town.on("replies")) == 1
    assert town.on("output") == []


def test_an_answer_elsewhere_outlives_a_crash(town: Town, running: Running) -> None:
    """Ended before the answer was sent, the next process sends it, once, to the address it was for."""
    created = town.create()
    town.put(created, asking(town, created["messageBody"]["objectUUID"], "replies"))
    running.receiver.run(lambda: True, wait=0)
    assert town.on("replies") == []
    restarted = opened(town)
    restarted.run()
    restarted.run()
    assert len(town.on("replies")) == 1


def test_an_address_that_is_gone_stops_nothing(town: Town, running: Running) -> None:
    """The stream was deleted before the answer was sent: later messages are processed, other answers sent."""
    created = town.create()
    uuid = created["messageBody"]["objectUUID"]
    town.put(created, asking(town, uuid, "replies"))
    running.receiver.run(lambda: True, wait=0)
    town.engine.call("DeleteStream", {"StreamName": "replies"}, DEFAULT_SCOPE)
    town.clock.advance(60)
    before = town.clock.elapsed()
    town.put(asking(town, uuid))
    running.run()
    assert len(town.on("output")) == 1
    assert town.clock.elapsed() - before < 1


def test_many_answers_to_one_address_ask_once_for_the_names(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer is recorded in a transaction, in which a call over the network would hold up all others."""
    asked: list[None] = []
    town.engine.call("CreateStream", {"StreamName": "replies", "ShardCount": 1}, DEFAULT_SCOPE)
    monkeypatch.setattr(town, "streams", lambda: asked.append(None) or Town.streams(town))
    running = opened(town)
    created = town.create()
    uuid = created["messageBody"]["objectUUID"]
    town.put(created, *(asking(town, uuid, "replies") for _ in range(5)))
    running.receiver.run(lambda: True, wait=0)
    assert len(asked) == 1
    running.run()
    assert len(town.on("replies")) == 5
