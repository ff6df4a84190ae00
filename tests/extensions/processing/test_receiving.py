"""What a source system sends: checked, persisted, acknowledged, queued."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from extensions.processing import Exchange, Limit, Processing, State
from extensions.processing.processing_errors import ProcessingCode, StoppingError, ThrottledError
from extensions.processing.python_routes import start_endpoint
from tests.extensions.processing.processing_platform import (
    START,
    Platform,
    causes_of,
    message_of,
    put,
    state_of,
)


def test_a_message_is_persisted_before_its_source_hears_that_it_was_taken(
    platform: Platform, process: Processing
) -> None:
    """Another process finds it in the store; here it waits in memory, and nobody has processed it."""
    number = platform.send(process, body=b"<setCustomer/>")
    elsewhere = platform.open().store.message(number)
    assert (elsewhere.body, elsewhere.state) == (b"<setCustomer/>", State.IN_QUEUE)
    assert causes_of(process, number) == ["received", "queued"]


def test_what_cannot_be_persisted_is_not_acknowledged(
    platform: Platform, process: Processing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full is raised to the source, which still has the message."""

    def full(*_: Any, **__: Any) -> Any:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(process.store, "insert", full)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        process.receive(platform.new())
    assert process.drain() == 0


def test_new_messages_are_not_taken_from_the_store(platform: Platform, process: Processing) -> None:
    """Only PARTLY_FAILED and POSTPONED ones are, when their time has come; a queued one stays where it is."""
    other = platform.open()
    processed: list[int] = []
    platform.routes.add("customer", "set", lambda exchange: processed.append(exchange.message.number))
    numbers = {state: platform.send(process) for state in State}
    with process.store.transaction() as store:
        for state, number in numbers.items():
            put(process, number, state)
        store.execute("UPDATE messages SET due = 0")
    assert other.queue_due() == 2
    other.drain()
    assert processed == [numbers[State.PARTLY_FAILED], numbers[State.POSTPONED]]


def test_a_message_is_processed_by_the_process_that_received_it(
    platform: Platform, process: Processing
) -> None:
    """It is in that one's memory alone."""
    platform.routes.add("customer", "set", lambda _: None)
    platform.send(process)
    assert platform.open().drain() == 0
    assert process.drain() == 1


def test_service_and_operation_name_the_route(platform: Platform, process: Processing) -> None:
    """Both come with the message; the same operation of two services is two routes."""
    taken: list[str] = []
    platform.routes.add("customer", "set", lambda _: taken.append("customer"))
    platform.routes.add("invoice", "set", lambda _: taken.append("invoice"))
    platform.send(process, service="invoice")
    platform.send(process)
    process.drain()
    assert taken == ["invoice", "customer"]
    assert start_endpoint("customer", "set") == "direct:customer_set_out_route"


def test_a_message_without_a_route_waits_for_a_process_that_has_one(
    platform: Platform, process: Processing
) -> None:
    """It is PARTLY_FAILED, and says which route is missing and which there are."""
    platform.routes.add("customer", "get", lambda _: None)
    number = platform.send(process)
    process.drain()
    message = message_of(process, number)
    assert message.state is State.PARTLY_FAILED
    assert message.description == (
        "there is no route direct:customer_set_out_route; there are direct:customer_get_out_route"
    )
    assert platform.retry(process) == 0
    platform.routes.add("customer", "set", lambda _: None)
    platform.retry(process)
    assert (state_of(process, number), message_of(process, number).failed) == (State.OK, 1)


def test_a_route_has_one_processor(platform: Platform) -> None:
    """A second one is refused."""
    platform.routes.add("customer", "set", lambda _: None)
    with pytest.raises(ValueError, match="direct:customer_set_out_route already"):
        platform.routes.add("customer", "set", lambda _: None)


def test_a_route_is_given_the_record_and_the_payload(platform: Platform, process: Processing) -> None:
    """The payload byte for byte."""
    seen: list[Exchange] = []
    platform.routes.add("customer", "set", seen.append)
    body = bytes(range(256))
    number = process.receive(platform.new(body=body, object_id="5", process="p-1")).number
    process.drain()
    assert seen[0].body == body
    assert seen[0].message.number == number
    assert (seen[0].message.object_id, seen[0].message.process) == ("5", "p-1")


@pytest.mark.parametrize(
    ("missing", "code", "what"),
    [
        (("source", "correlation", "timestamp"), ProcessingCode.NO_TRACE_HEADER, "there is no trace header"),
        (("source",), ProcessingCode.TRACE_INCOMPLETE, "the trace header has no source"),
        (
            ("correlation", "timestamp"),
            ProcessingCode.TRACE_INCOMPLETE,
            "has no correlation and no timestamp",
        ),
    ],
)
def test_a_trace_header_is_mandatory(
    platform: Platform, process: Processing, missing: tuple[str, ...], code: ProcessingCode, what: str
) -> None:
    """What lacks it is answered FAIL, and nothing of it is kept."""
    receipt = process.receive(platform.new(**dict.fromkeys(missing)))
    assert (receipt.status, receipt.code) == ("FAIL", code)
    assert what in str(receipt.additional_info)
    assert process.store.rows("SELECT count(*) FROM messages") == [(0,)]


def test_a_source_system_is_known_in_capitals_and_sends_a_correlation_id_once(
    platform: Platform, process: Processing
) -> None:
    """Repeated, also by another spelling of its name, it is answered FAIL; another system may use it."""
    platform.send(process, source="Crm", correlation="c")
    again = process.receive(platform.new(source="CRM", correlation="c"))
    assert (again.status, again.code) == ("FAIL", ProcessingCode.NOT_SAVED)
    platform.send(process, source="erp", correlation="c")


def test_a_validator_decides_who_may_send(platform: Platform, tmp_path: Path) -> None:
    """What it does not allow is answered FAIL."""
    allowed = Processing(
        platform.path,
        platform.routes,
        platform.outside,
        platform.clock,
        platform.events,
        validators=[lambda new: new.process == "p"],
    )
    assert allowed.receive(platform.new(process="p")).status == "OK"
    assert allowed.receive(platform.new()).code == ProcessingCode.NOT_ALLOWED
    allowed.close()


def test_a_process_that_stops_takes_nothing_more(platform: Platform, process: Processing) -> None:
    """And what it has not begun is taken up by another, without counting as a failure."""
    platform.routes.add("customer", "set", lambda _: None)
    number = platform.send(process)
    other = platform.open()
    process.stop()
    with pytest.raises(StoppingError):
        process.receive(platform.new())
    process.close()
    other.queue_due()
    other.drain()
    message = message_of(other, number)
    assert (message.state, message.failed) == (State.OK, 0)


# Throttling


def test_a_source_and_operation_are_throttled(platform: Platform) -> None:
    """Sixty a minute unless set otherwise; the next is refused, is not kept, and may come a minute later."""
    process = platform.open(throttling={"*.*": Limit()})
    for _ in range(60):
        platform.send(process)
    with pytest.raises(ThrottledError, match="CRM has sent 60 messages set in 60 s"):
        process.receive(platform.new())
    platform.send(process, "get")
    platform.send(process, source="erp")
    platform.clock.advance(60)
    platform.send(process)
    assert process.store.rows("SELECT count(*) FROM messages") == [(63,)]


@pytest.mark.parametrize(
    ("source", "operation", "limit"),
    [("CRM", "set", 1), ("CRM", "get", 2), ("ERP", "set", 3), ("ERP", "get", 4)],
)
def test_the_limit_that_names_most_is_in_force(
    platform: Platform, source: str, operation: str, limit: int
) -> None:
    """Both names before the source's, the source's before the operation's, that before any."""
    limits = {"*.*": 4, "*.set": 3, "CRM.*": 2, "CRM.set": 1}
    process = platform.open(throttling={name: Limit(count) for name, count in limits.items()})
    for _ in range(limit):
        platform.send(process, operation, source=source)
    with pytest.raises(ThrottledError):
        process.receive(platform.new(operation, source=source))


def test_throttling_can_be_switched_off(platform: Platform) -> None:
    """Then there is no limit."""
    process = platform.open(throttling=None)
    for _ in range(100):
        platform.send(process)


# Answers from outside


def test_a_message_waits_for_an_answer_and_goes_on_with_it(platform: Platform, process: Processing) -> None:
    """It is queued when the answer comes, and its route begins anew with the answer in its record."""
    answers: list[bytes | None] = []

    @platform.route("set")
    def ask(exchange: Exchange) -> None:
        answers.append(exchange.message.answer)
        if exchange.message.answer is None:
            exchange.wait_for_answer()

    number = platform.send(process)
    process.drain()
    assert state_of(process, number) is State.WAITING_FOR_RES
    process.answer(number, b"yes")
    process.drain()
    assert state_of(process, number) is State.OK
    resumed = platform.send(process)
    process.drain()
    process.resume(resumed, b"now")
    assert state_of(process, resumed) is State.OK
    assert answers == [None, b"yes", None, b"now"]
    assert message_of(process, number).received == START


def test_a_message_whose_resuming_broke_off_is_freed(platform: Platform, process: Processing) -> None:
    """Something breaks while it is processed at once with its answer; after the lease it is tried again."""
    broken: list[bytes] = []

    @platform.route("set")
    def ask(exchange: Exchange) -> None:
        if exchange.message.answer is None:
            exchange.wait_for_answer()
        elif not broken:
            broken.append(exchange.message.answer)
            raise KeyboardInterrupt

    number = platform.send(process)
    process.drain()
    with pytest.raises(KeyboardInterrupt):
        process.resume(number, b"now")
    platform.clock.advance(process.parameters.lease)
    process.maintain_leases()
    platform.retry(process)
    assert state_of(process, number) is State.OK
