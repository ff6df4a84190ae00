"""The source system is told how its message ended, until it has heard it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest

from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.kinesis import Engine
from extensions.processing import AS_CODED, Administration, Exchange, Processing, State, ValidationError
from extensions.processing.confirmation import (
    Confirmation,
    DelegateConfirmation,
    HttpConfirmation,
    LogConfirmation,
)
from extensions.processing.rdss_confirmation import RdssConfirmation
from sandbox.gateway import Machine
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.validation import judge
from tests.extensions.processing.processing_platform import START, Platform, Told

OK = Confirmation(1, "CRM", "c-1", State.OK, None, START, b"")


def _ends(platform: Platform, process: Processing) -> list[int]:
    """Three messages: one ends OK, one FAILED, one is cancelled."""

    @platform.route("set")
    def work(exchange: Exchange) -> None:
        if exchange.body == b"bad":
            raise ValidationError("no such field")
        exchange.no_effect = exchange.body == b"blank"

    numbers = [platform.send(process, body=body) for body in (b"good", b"bad", b"blank")]
    process.drain()
    Administration(process).cancel(numbers[2])
    return numbers


def test_the_source_is_told_of_every_end(platform: Platform, process: Processing) -> None:
    """OK, FAILED with the reason, CANCEL; once each."""
    _ends(platform, process)
    process.queue_due()
    told = [(each.correlation, each.result, each.additional_info) for each in platform.told.confirmations]
    assert told == [("c-1", "OK", None), ("c-2", "FAILED", "no such field"), ("c-3", "CANCEL", None)]


def test_as_coded_a_cancelled_message_is_not_confirmed(platform: Platform) -> None:
    """The code's callbacks know OK and FAILED only."""
    _ends(platform, platform.open(ways=AS_CODED))
    assert platform.told.results == ["OK", "FAILED"]


def test_by_default_the_result_is_a_line_in_the_log(
    platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody else is told."""
    caplog.set_level(logging.INFO, "extensions.processing")
    process = Processing(platform.path, platform.routes, platform.outside, platform.clock, platform.events)
    _ends(platform, process)
    process.close()
    assert caplog.messages == ["CRM c-1 is OK", "CRM c-2 is FAILED: no such field", "CRM c-3 is CANCEL"]


def test_each_source_system_is_told_in_its_own_way_or_not_at_all(caplog: pytest.LogCaptureFixture) -> None:
    """By its name, in capitals or not; one that has no way is written to the log."""
    caplog.set_level(logging.INFO, "extensions.processing")
    crm, erp = Told(), Told()
    delegate = DelegateConfirmation({"crm": crm, "ERP": erp})
    delegate(OK)
    delegate(Confirmation(2, "SHOP", "c-2", State.OK, None, START, b""))
    assert (crm.results, erp.results) == (["OK"], [])
    assert caplog.messages == ["SHOP c-2 is OK"]
    LogConfirmation()(OK)
    assert caplog.messages[-1] == "CRM c-1 is OK"


def test_a_source_that_is_down_is_told_later_and_in_the_end_no_more(platform: Platform) -> None:
    """A minute apart; the fourth failure is the last, and the message stays what it is."""
    for failing, asked, state in ((2, 3, "OK"), (9, 4, "FAILED_END")):
        process = platform.open()
        platform.told.asked, platform.told.failing = 0, failing
        platform.routes.add("customer", f"fail-{failing}", lambda _: None)
        number = platform.send(process, f"fail-{failing}")
        process.drain()
        for _ in range(6):
            process.queue_due()
            platform.clock.advance(60)
        (call,) = process.calls.of_message(number)
        assert (call.operation, call.state, platform.told.asked) == ("confirmation", state, asked)
        assert process.store.message(number).state is State.OK


def test_a_confirmation_is_not_lost_with_its_process(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was written down with the message's end; another process tells it when the lease is over."""
    process = platform.open()
    monkeypatch.setattr(process.confirmations, "send_noted", lambda: None)
    platform.routes.add("customer", "set", lambda _: None)
    platform.send(process)
    process.drain()
    other = platform.open()
    other.queue_due()
    assert platform.told.results == []
    platform.clock.advance(other.parameters.lease)
    other.queue_due()
    assert platform.told.results == ["OK"]


@contextmanager
def _source_system(status: int) -> Iterator[tuple[str, list[Any]]]:
    heard: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/confirm", heard
        finally:
            server.shutdown()
            thread.join()


def test_a_source_system_is_told_over_http() -> None:
    """With the fields of the published service; anything but a success is told again."""
    with _source_system(200) as (url, heard), httpx.Client() as client:
        HttpConfirmation(url, client)(OK)
    assert heard == [
        {
            "correlationID": "c-1",
            "timestamp": "2023-11-14T22:13:20.000Z",
            "processingResult": "OK",
            "additionalInfo": None,
        }
    ]
    with _source_system(503) as (url, _), httpx.Client() as client, pytest.raises(httpx.HTTPStatusError):
        HttpConfirmation(url, client)(OK)


@pytest.mark.parametrize(("state", "code"), [(State.OK, None), (State.FAILED, "GENERR009")])
def test_a_source_system_is_told_with_an_rdss_message(
    platform: Platform, state: State, code: str | None
) -> None:
    """A valid one of the same type and body, whose correlationId is the messageId of what it answers."""
    message = next(Samples(3).stream(1))
    with closing(Engine(None, platform.clock, platform.events)) as engine:
        engine.call("CreateStream", {"StreamName": "output", "ShardCount": 1}, DEFAULT_SCOPE)
        channel = MemoryChannel(engine, "output", clock=platform.clock)
        tell = RdssConfirmation(channel, platform.clock, generator="CRM", machine=Machine("crm", "localhost"))
        ended = Confirmation(1, "CRM", "c", state, "full", START, serialise(message))
        tell(ended)
        tell(ended)
        answer, again = channel.read(limit=9)
    assert judge(answer.data).valid
    told = json.loads(answer.data)
    header = told["messageHeader"]
    assert header["correlationId"] == message["messageHeader"]["messageId"]
    assert (header.get("errorCode"), header.get("errorDescription")) == (code, code and "FAILED: full")
    assert told["messageBody"] == message["messageBody"]
    # Told twice, as after a crash: who listens sees a duplicate.
    assert json.loads(again.data)["messageHeader"]["messageId"] == header["messageId"]


def test_what_is_no_rdss_message_cannot_be_answered_with_one(platform: Platform) -> None:
    """It says so, and no other attempt is made."""
    with closing(Engine(None, platform.clock, platform.events)) as engine:
        channel = MemoryChannel(engine, "output", clock=platform.clock)
        tell = RdssConfirmation(channel, platform.clock, generator="CRM", machine=Machine("crm", "localhost"))
        for body in (b"", b"{}", b"[]", b'{"messageHeader": 5}', b"<confirm/>"):
            with pytest.raises(ValidationError, match="no RDSS message"):
                tell(Confirmation(1, "CRM", "c", State.OK, None, START, body))
