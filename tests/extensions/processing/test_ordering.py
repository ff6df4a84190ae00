"""Funnels and guaranteed order."""

from __future__ import annotations

import pytest

from extensions.processing import Exchange, Processing, State, ValidationError
from extensions.processing.processing_errors import ProcessingCode
from tests.extensions.processing.processing_platform import START, Platform, message_of, state_of


def _funnel(platform: Platform) -> list[str]:
    through: list[str] = []

    @platform.route("set")
    def pass_through(exchange: Exchange) -> None:
        exchange.funnel("customer 5", "msg-funnel")
        if exchange.message.answer is None:
            through.append(exchange.message.correlation)
            exchange.wait_for_answer()

    return through


def test_one_message_of_a_funnel_value_is_processed_at_a_time(
    platform: Platform, process: Processing
) -> None:
    """While the first waits for its answer the second is postponed; then it is its turn."""
    through = _funnel(platform)
    first = platform.send(process, correlation="1")
    process.drain()
    second = platform.send(process, correlation="2")
    process.drain()
    assert (state_of(process, first), state_of(process, second)) == (State.WAITING_FOR_RES, State.POSTPONED)
    process.resume(first, b"")
    assert state_of(process, first) is State.OK
    platform.clock.advance(process.parameters.postponed_interval)
    assert process.queue_due() == 1
    process.drain()
    assert through == ["1", "2"]
    assert state_of(process, second) is State.WAITING_FOR_RES


def test_a_message_that_is_idle_too_long_leaves_the_funnel(platform: Platform, process: Processing) -> None:
    """Ten minutes after it began, others may pass it."""
    through = _funnel(platform)
    platform.send(process, correlation="1")
    process.drain()
    platform.clock.advance(process.parameters.funnel_idle)
    platform.send(process, correlation="2")
    process.drain()
    assert through == ["1", "2"]


def test_funnels_of_different_values_know_nothing_of_one_another(
    platform: Platform, process: Processing
) -> None:
    """Both messages go through at once."""

    @platform.route("set")
    def through(exchange: Exchange) -> None:
        exchange.funnel(str(exchange.message.object_id), "here")
        exchange.wait_for_answer()

    numbers = [platform.send(process, object_id=each) for each in "56"]
    process.drain()
    assert {state_of(process, each) for each in numbers} == {State.WAITING_FOR_RES}


@pytest.mark.parametrize("place", ["route", "funnel"])
def test_messages_in_guaranteed_order_are_processed_by_the_time_of_their_source(
    platform: Platform, process: Processing, place: str
) -> None:
    """In whatever order they come, and though the first one fails at first."""
    done: list[float] = []

    @platform.route("set")
    def work(exchange: Exchange) -> None:
        if place == "funnel":
            exchange.funnel_in_order("customer 5", "here")
        exchange.call("billing")
        done.append(exchange.message.timestamp - START)

    given = {"funnel": "customer 5", "guaranteed_order": place == "route"}
    platform.script("billing", "500")
    for at in (1, 3, 2):
        platform.send(process, timestamp=START + at, **given)
        process.drain()
    for _ in range(4):
        platform.retry(process)
    assert done == [1, 2, 3]


def test_of_messages_of_the_same_time_the_later_received_goes_first(
    platform: Platform, process: Processing
) -> None:
    """As the published code orders them."""
    given = {"timestamp": START, "funnel": "f", "guaranteed_order": True}
    first, second = platform.send(process, **given), platform.send(process, **given)
    assert (state_of(process, first), state_of(process, second)) == (State.IN_QUEUE, State.IN_QUEUE)
    third = platform.send(process, timestamp=START + 1, funnel="f", guaranteed_order=True)
    assert state_of(process, third) is State.POSTPONED


@pytest.mark.parametrize(("without_failed", "end"), [(False, State.FAILED), (True, State.OK)])
def test_one_that_failed_blocks_those_behind_it_unless_failed_ones_are_left_out(
    platform: Platform, process: Processing, without_failed: bool, end: State
) -> None:
    """Postponed for five minutes, and still out of order, the second fails with E121."""

    @platform.route("set")
    def work(exchange: Exchange) -> None:
        if exchange.body:
            raise ValidationError("bad")

    given = {"funnel": "f", "guaranteed_order": True, "without_failed": without_failed}
    first = platform.send(process, body=b"bad", **given)
    process.drain()
    assert state_of(process, first) is State.FAILED
    second = platform.send(process, **given)
    process.drain()
    assert state_of(process, second) is (State.OK if without_failed else State.POSTPONED)
    platform.clock.advance(process.parameters.postponed_limit + 1)
    process.queue_due()
    process.drain()
    message = message_of(process, second)
    assert message.state is end
    assert message.error_code == (None if without_failed else ProcessingCode.POSTPONED_TOO_LONG)


def test_guaranteed_order_needs_a_funnel_value(platform: Platform, process: Processing) -> None:
    """Without one the message is answered FAIL."""
    receipt = process.receive(platform.new(guaranteed_order=True))
    assert (receipt.status, receipt.code) == ("FAIL", ProcessingCode.VALIDATION)
