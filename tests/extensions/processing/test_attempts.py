"""Attempts that fail: which errors are tried again, how often, and what is remembered in between."""

from __future__ import annotations

import json

import pytest

from extensions.processing import (
    AS_CODED,
    BusinessError,
    Exchange,
    KeyKind,
    Processing,
    State,
    ValidationError,
)
from extensions.processing.processing_errors import NothingFoundError, ProcessingCode, SeveralFoundError
from tests.extensions.processing.processing_platform import START, Platform, causes_of, message_of, state_of


def _subscriber(platform: Platform) -> None:
    @platform.route("set")
    def create(exchange: Exchange) -> None:
        exchange.call("billing", b"bill")
        exchange.call("mno", b"connect")


def test_a_call_that_succeeded_is_left_out_when_the_message_is_processed_again(
    platform: Platform, process: Processing
) -> None:
    """The billing system is called once, the network operator until it answers."""
    _subscriber(platform)
    platform.script("mno", "500", "500")
    number = platform.send(process)
    process.drain()
    assert state_of(process, number) is State.PARTLY_FAILED
    platform.retry(process)
    platform.retry(process)
    assert state_of(process, number) is State.OK
    assert len(platform.calls_of("billing")) == 1
    assert len(platform.calls_of("mno")) == 1
    assert [(call.operation, str(call.state), call.failed) for call in process.calls.of_message(number)][
        :2
    ] == [("billing", "OK", 0), ("mno", "OK", 2)]


def test_after_a_call_that_fails_the_processing_stops(platform: Platform, process: Processing) -> None:
    """The next system is not called before the first has answered."""
    _subscriber(platform)
    platform.script("billing", "500")
    number = platform.send(process)
    process.drain()
    assert platform.calls_of("mno") == []
    platform.retry(process)
    assert platform.calls_of("mno") == [b"connect"]
    assert state_of(process, number) is State.OK


def test_technical_errors_are_tried_again_three_times_and_then_final(
    platform: Platform, process: Processing
) -> None:
    """The fourth failure is the end; each is an attempt, and the last error is the message's."""
    _subscriber(platform)
    platform.script("billing", "500", "timeout 0s", "503", "500", "ok")
    number = platform.send(process)
    process.drain()
    for failed in (1, 2, 3):
        message = message_of(process, number)
        assert (message.state, message.failed) == (State.PARTLY_FAILED, failed)
        platform.retry(process)
    message = message_of(process, number)
    assert (message.state, message.failed, message.error_code) == (
        State.FAILED,
        4,
        ProcessingCode.INPUT_OUTPUT,
    )
    assert message.description == "billing answered 500"
    assert platform.retry(process) == 0


def test_attempts_and_interval_can_be_set(platform: Platform) -> None:
    """Taken up not before the interval is over, and as often as is set."""
    process = platform.open(partly_fails_before_failed=1, partly_failed_interval=10.0)
    _subscriber(platform)
    platform.script("billing", "500", "500")
    number = platform.send(process)
    process.drain()
    platform.clock.advance(9.999)
    assert process.queue_due() == 0
    platform.clock.advance(0.001)
    assert process.queue_due() == 1
    process.drain()
    assert state_of(process, number) is State.FAILED


def test_what_is_taken_up_together_goes_by_the_time_of_its_source(
    platform: Platform, process: Processing
) -> None:
    """The earliest message first, whenever it failed."""
    order: list[int] = []

    @platform.route("set")
    def fail_first(exchange: Exchange) -> None:
        if not exchange.message.failed:
            raise ConnectionError
        order.append(exchange.message.number)

    late, early = platform.send(process, timestamp=START + 2), platform.send(process, timestamp=START + 1)
    process.drain()
    platform.retry(process)
    assert order == [early, late]


def test_a_process_in_the_background_retries_by_the_clock(platform: Platform) -> None:
    """Workers and upkeep of their own; nobody but the clock moves anything."""
    process = platform.open(poll_period=60.0)
    _subscriber(platform)
    platform.script("billing", "500")
    ended = platform.ends("processing.changed", cause="failed for now")
    done = platform.ends("processing.changed", cause="succeeded")
    process.start()
    number = platform.send(process)
    assert ended.wait(60)
    platform.advance_until(done, 61.0)
    assert state_of(process, number) is State.OK


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValidationError("no such field"), ProcessingCode.VALIDATION),
        (BusinessError("the customer is there already"), ProcessingCode.BUSINESS),
        (NothingFoundError("no invoice 5"), ProcessingCode.NOTHING_FOUND),
        (SeveralFoundError("two invoices 5"), ProcessingCode.SEVERAL_FOUND),
    ],
)
def test_errors_that_no_attempt_would_change_end_the_processing_at_once(
    platform: Platform, process: Processing, error: Exception, code: ProcessingCode
) -> None:
    """FAILED at the first attempt, with the error's code; also when another error was made of it."""

    @platform.route("set")
    def refuse(_: Exchange) -> None:
        raise error

    @platform.route("wrapped")
    def wrap(_: Exchange) -> None:
        raise RuntimeError("in the route") from error

    for operation in ("set", "wrapped"):
        number = platform.send(process, operation)
        process.drain()
        message = message_of(process, number)
        assert (message.state, message.failed, message.error_code) == (State.FAILED, 1, code)
        assert message.description == str(error)


def test_business_errors_are_collected_over_attempts_and_confirmed_at_the_end(
    platform: Platform, process: Processing
) -> None:
    """Each for itself; the message goes on after them, and the calls that gave them are not repeated."""

    @platform.route("set")
    def collect(exchange: Exchange) -> None:
        exchange.call_collecting("billing", b"bill")
        try:
            exchange.call("crm", b"note")
        except BusinessError as error:
            exchange.business_error(error)
        exchange.call("mno", b"connect")

    platform.script("billing", "business: a negative amount")
    platform.script("crm", "business: there already", "ok")
    platform.script("mno", "500")
    number = platform.send(process)
    process.drain()
    assert message_of(process, number).state is State.PARTLY_FAILED
    platform.retry(process)
    message = message_of(process, number)
    assert message.state is State.OK
    assert message.business_errors == ("a negative amount", "there already")
    assert len(platform.calls_of("billing")) == 1
    assert platform.told.confirmations[0].additional_info == "a negative amount; there already"


def test_a_business_error_that_was_collected_survives_its_process(
    platform: Platform, process: Processing
) -> None:
    """The process is gone after the call: the call is not made again, and its answer not forgotten."""

    @platform.route("set")
    def collect(exchange: Exchange) -> None:
        exchange.call_collecting("billing", b"bill")
        if not exchange.message.failed:
            raise KeyboardInterrupt

    platform.script("billing", "business: a negative amount")
    number = platform.send(process)
    with pytest.raises(KeyboardInterrupt):
        process.drain()
    other = platform.open()
    platform.clock.advance(other.parameters.lease)
    other.maintain_leases()
    other.queue_due()
    other.drain()
    assert message_of(other, number).business_errors == ("a negative amount",)
    assert len(platform.calls_of("billing")) == 1


def test_whatever_a_route_raises_is_an_error_of_its_message_alone(
    platform: Platform, process: Processing
) -> None:
    """The next message is processed as if nothing had been."""

    @platform.route("set")
    def fault(exchange: Exchange) -> None:
        json.loads(exchange.body)

    bad, good = platform.send(process, body=b"{"), platform.send(process, body=b"{}")
    process.drain()
    assert message_of(process, bad).error_code == ProcessingCode.UNSPECIFIED
    assert (state_of(process, bad), state_of(process, good)) == (State.PARTLY_FAILED, State.OK)


def test_an_error_is_handled_where_it_occurs_or_by_the_route_above(
    platform: Platform, process: Processing
) -> None:
    """A route that catches it goes on; one that does not passes it to the one that called it."""

    def connect(exchange: Exchange) -> None:
        exchange.call("mno", b"connect")

    @platform.route("set")
    def handle(exchange: Exchange) -> None:
        try:
            connect(exchange)
        except Exception:  # noqa: BLE001 -- as routes do
            exchange.call("crm", b"note that it failed")

    @platform.route("pass")
    def propagate(exchange: Exchange) -> None:
        connect(exchange)

    platform.script("mno", "500", "500")
    handled, passed = platform.send(process), platform.send(process, "pass")
    process.drain()
    assert (state_of(process, handled), state_of(process, passed)) == (State.OK, State.PARTLY_FAILED)
    assert platform.calls_of("crm") == [b"note that it failed"]


def test_a_blank_attempt_does_not_count(platform: Platform, process: Processing) -> None:
    """As often as it may be; it is taken up again like one that failed, and there was no error."""

    @platform.route("set")
    def simulate(exchange: Exchange) -> None:
        exchange.no_effect = exchange.custom_data != "......"
        exchange.custom_data = (exchange.custom_data or "") + "."

    number = platform.send(process)
    process.drain()
    for _ in range(5):
        message = message_of(process, number)
        assert (message.state, message.failed, message.error_code) == (State.PARTLY_FAILED, 0, None)
        platform.retry(process)
    platform.retry(process)
    assert state_of(process, number) is State.OK


def test_custom_data_goes_from_attempt_to_attempt_and_into_the_record(
    platform: Platform, process: Processing
) -> None:
    """Any text, whether the attempt failed or not."""

    @platform.route("set")
    def one_by_one(exchange: Exchange) -> None:
        done = json.loads(exchange.custom_data or "[]")
        exchange.custom_data = json.dumps([*done, f"customer {len(done)} ✓"])
        if len(done) < 2:
            raise ConnectionError

    number = platform.send(process)
    process.drain()
    platform.retry(process)
    platform.retry(process)
    message = message_of(process, number)
    assert message.state is State.OK
    assert json.loads(str(message.custom_data)) == ["customer 0 ✓", "customer 1 ✓", "customer 2 ✓"]


def test_as_coded_custom_data_is_kept_after_failures_only(platform: Platform) -> None:
    """The published code forgets what the attempt that succeeded said."""
    process = platform.open(ways=AS_CODED)

    @platform.route("set")
    def count(exchange: Exchange) -> None:
        exchange.custom_data = f"{exchange.message.failed + 1}"
        if not exchange.message.failed:
            raise ConnectionError

    number = platform.send(process)
    process.drain()
    platform.retry(process)
    assert (state_of(process, number), message_of(process, number).custom_data) == (State.OK, "1")


def test_as_coded_an_error_while_the_process_stops_is_final(platform: Platform) -> None:
    """By the text it is an attempt like any other."""
    states = []
    for number_of, ways in ((1, {}), (2, {"ways": AS_CODED})):
        process = platform.open(**ways)
        platform.routes.add("customer", f"stop-{number_of}", lambda _, here=process: (here.stop(), 1 / 0))
        number = platform.send(process, f"stop-{number_of}")
        process.drain()
        states.append(state_of(process, number))
    assert states == [State.PARTLY_FAILED, State.FAILED]


def test_calls_of_one_message_to_one_system_are_told_apart_by_a_key(
    platform: Platform, process: Processing
) -> None:
    """Without one, the second is a repetition of the first, whose answer it is given."""
    answers: list[bytes | None] = []

    @platform.route("set")
    def twice(exchange: Exchange) -> None:
        answers.append(exchange.call("crm", b"1"))
        answers.append(exchange.call("crm", b"2"))
        answers.append(exchange.call("crm", b"3", key="other"))
        answers.append(exchange.call("crm", b"4", operation="noted otherwise"))

    platform.script("crm", "ok: one", "ok: two", "ok: three")
    platform.send(process)
    process.drain()
    assert answers == [b"one", b"one", b"two", b"three"]
    assert platform.calls_of("crm") == [b"1", b"3", b"4"]


def test_a_custom_key_is_checked_over_messages(platform: Platform, process: Processing) -> None:
    """The newer message makes the call again, an older one that comes back is obsolete."""

    @platform.route("set")
    def call(exchange: Exchange) -> None:
        exchange.call("crm", exchange.body, kind=KeyKind.CUSTOM, key="invoice 7")

    @platform.route("keyless")
    def keyless(exchange: Exchange) -> None:
        exchange.call("crm", kind=KeyKind.CUSTOM)

    platform.script("crm", "500")
    older = platform.send(process, body=b"old")
    process.drain()
    platform.clock.advance(1)
    newer = platform.send(process, body=b"new")
    process.drain()
    platform.retry(process)
    assert (state_of(process, older), state_of(process, newer)) == (State.SKIPPED, State.OK)
    number = platform.send(process, "keyless")
    process.drain()
    assert state_of(process, number) is State.FAILED


def test_calls_to_a_target_can_be_switched_off(platform: Platform) -> None:
    """By a pattern; the route goes on without them."""
    process = platform.open(skip_targets="^bill")
    _subscriber(platform)
    number = platform.send(process)
    process.drain()
    assert state_of(process, number) is State.OK
    assert (platform.calls_of("billing"), platform.calls_of("mno")) == ([], [b"connect"])


def test_a_call_that_another_message_is_making_is_waited_for(platform: Platform, process: Processing) -> None:
    """The same object is not changed by two at once: the second is tried again later."""
    order: list[str] = []

    @platform.route("set")
    def change(exchange: Exchange) -> None:
        exchange.call("nested", kind=KeyKind.ENTITY)
        order.append(exchange.message.correlation)

    class Nested:
        """While the first is called, the second is processed."""

        inside: int | None = None

        def call(self, _: bytes) -> bytes:
            if Nested.inside is None:
                Nested.inside = platform.send(process, object_id="5", correlation="second")
                process.drain()
                assert state_of(process, Nested.inside) is State.PARTLY_FAILED
                assert message_of(process, Nested.inside).error_code == ProcessingCode.LOCKED
            return b""

    platform.outside.systems["nested"] = Nested()  # type: ignore[assignment]
    platform.send(process, object_id="5", correlation="first")
    process.drain()
    platform.retry(process)
    assert order == ["first", "second"]
    assert causes_of(process, Nested.inside or 0)[-1] == "succeeded"
