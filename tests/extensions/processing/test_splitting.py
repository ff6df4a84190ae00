"""Messages that are split into children, and what becomes of them together."""

from __future__ import annotations

import pytest

from extensions.processing import (
    AS_CODED,
    AS_WRITTEN,
    Administration,
    Binding,
    Child,
    Exchange,
    Processing,
    State,
    ValidationError,
)
from extensions.processing.processing_errors import ProcessingCode
from extensions.processing.processing_parameters import Dialect
from tests.extensions.processing.processing_platform import Platform, causes_of, message_of, state_of


def _family(platform: Platform, *bodies: bytes, binding: Binding = Binding.HARD) -> list[bytes]:
    """A route that splits, and one for the children: each calls billing with its body. The order of both."""
    order: list[bytes] = []

    @platform.route("split")
    def split(exchange: Exchange) -> None:
        order.append(b"parent " + exchange.body)
        exchange.split(
            [Child(service="customer", operation="part", body=each, binding=binding) for each in bodies]
        )

    @platform.route("part")
    def part(exchange: Exchange) -> None:
        order.append(exchange.body)
        exchange.call_collecting("billing", exchange.body)

    return order


def _states(process: Processing, number: int) -> list[State]:
    return [state_of(process, number), *(child.state for child in process.store.children(number))]


def test_a_parent_is_ok_when_all_its_children_are(platform: Platform, process: Processing) -> None:
    """Not before the last one is; the source is told of it with the business errors of all."""
    _family(platform, b"1", b"2", b"3")
    platform.script("billing", "business: first", "500", "business: third")
    number = platform.send(process, "split", body=b"whole", source="crm", correlation="c")
    process.drain()
    assert _states(process, number) == [State.WAITING, State.OK, State.PARTLY_FAILED, State.OK]
    platform.retry(process)
    assert _states(process, number) == [State.OK] * 4
    parent = message_of(process, number)
    assert sorted(parent.business_errors) == ["first", "third"]
    for at, child in enumerate(process.store.children(number), 1):
        assert (child.source, child.correlation) == ("CRM", f"c_{at}")
        assert (child.timestamp, child.received, child.process) == (
            parent.timestamp,
            parent.received,
            parent.process,
        )


def test_a_parent_is_failed_when_any_child_is(platform: Platform, process: Processing) -> None:
    """At once, with the child's error, though others are still under way."""
    _family(platform, b"1")

    @platform.route("unlucky")
    def split(exchange: Exchange) -> None:
        parts = [("part", b"1"), ("invalid", b"2"), ("part", b"3")]
        exchange.split([Child(service="customer", operation=name, body=body) for name, body in parts])

    @platform.route("invalid")
    def invalid(_: Exchange) -> None:
        raise ValidationError("no such field")

    platform.script("billing", "500")
    number = platform.send(process, "unlucky")
    process.drain()
    assert _states(process, number) == [State.FAILED, State.PARTLY_FAILED, State.FAILED, State.OK]
    message = message_of(process, number)
    assert message.error_code == ProcessingCode.VALIDATION
    assert str(message.description).endswith("_2 failed: no such field")
    platform.retry(process)
    assert _states(process, number)[:2] == [State.FAILED, State.OK]


def test_children_are_first_processed_one_after_another_in_the_order_given(
    platform: Platform, process: Processing
) -> None:
    """By the worker that split them, before anything else that waits."""
    order = _family(platform, b"c", b"a", b"b")
    platform.routes.add("customer", "set", lambda exchange: order.append(exchange.body))
    platform.send(process, "split")
    platform.send(process, body=b"later")
    process.drain()
    assert order == [b"parent ", b"c", b"a", b"b", b"later"]


def test_a_child_that_fails_holds_up_no_other(platform: Platform, process: Processing) -> None:
    """The second is processed though the first failed; then they go by themselves, in any order."""
    order = _family(platform, b"1", b"2", b"3")
    platform.script("billing", "500", "ok", "500")
    number = platform.send(process, "split")
    process.drain()
    assert order == [b"parent ", b"1", b"2", b"3"]
    assert _states(process, number)[1:] == [State.PARTLY_FAILED, State.OK, State.PARTLY_FAILED]
    platform.retry(process)
    assert _states(process, number) == [State.OK] * 4
    assert sorted(order[4:]) == [b"1", b"3"]


def test_soft_children_decide_nothing(platform: Platform, process: Processing) -> None:
    """The parent is OK as soon as they are handed over, and stays it whatever they come to."""
    _family(platform, b"1", binding=Binding.SOFT)
    platform.script("billing", "500", "500", "500", "500")
    number = platform.send(process, "split")
    process.drain()
    assert _states(process, number) == [State.OK, State.PARTLY_FAILED]
    for _ in range(3):
        platform.retry(process)
    assert _states(process, number) == [State.OK, State.FAILED]


def test_no_children_are_done(platform: Platform, process: Processing) -> None:
    """A message split into nothing is OK."""
    _family(platform)
    number = platform.send(process, "split")
    process.drain()
    assert _states(process, number) == [State.OK]


def test_a_child_can_be_split_and_its_failure_goes_all_the_way_up(
    platform: Platform, process: Processing
) -> None:
    """Parent and grandparent FAILED by one grandchild."""
    _family(platform, b"1")

    @platform.route("grand")
    def grand(exchange: Exchange) -> None:
        exchange.split([Child(service="customer", operation="split")])

    platform.script("billing", "500", "500", "500", "500")
    number = platform.send(process, "grand")
    process.drain()
    assert state_of(process, number) is State.WAITING
    for _ in range(3):
        platform.retry(process)
    (child,) = process.store.children(number)
    assert (state_of(process, number), child.state) == (State.FAILED, State.FAILED)


def test_a_hard_child_that_is_cancelled_ends_the_parents_waiting(
    platform: Platform, process: Processing
) -> None:
    """It would wait for ever: it is FAILED, and says of whom."""
    _family(platform, b"1")
    platform.script("billing", "500")
    number = platform.send(process, "split")
    process.drain()
    (child,) = process.store.children(number)
    Administration(process).cancel(child.number)
    assert state_of(process, number) is State.FAILED
    assert "was cancelled" in str(message_of(process, number).description)


@pytest.mark.parametrize(("ways", "end"), [(AS_WRITTEN, State.OK), (AS_CODED, State.PARTLY_FAILED)])
def test_as_coded_only_a_message_that_has_not_failed_can_be_split(
    platform: Platform, ways: Dialect, end: State
) -> None:
    """By the text, one that failed before it came to the split is split at the next attempt."""
    process = platform.open(ways=ways)

    @platform.route("set")
    def late(exchange: Exchange) -> None:
        exchange.call("billing")
        exchange.split([])

    platform.script("billing", "500")
    number = platform.send(process)
    process.drain()
    platform.retry(process)
    message = message_of(process, number)
    assert message.state is end
    if ways is AS_CODED:
        assert "only one that never failed can be split" in str(message.description)


@pytest.mark.parametrize("binding", Binding)
def test_a_parent_that_is_restarted_takes_up_the_children_that_failed(
    platform: Platform, process: Processing, binding: Binding
) -> None:
    """Those that are OK are left alone, and none is made twice."""
    order = _family(platform, b"1", b"2", binding=binding)
    platform.script("billing", "ok", "500", "500", "500", "500")
    number = platform.send(process, "split")
    process.drain()
    for _ in range(3):
        platform.retry(process)
    Administration(process).restart_partly(number)
    process.queue_due()
    process.drain()
    process.queue_due()
    process.drain()
    assert _states(process, number) == [State.OK] * 3
    assert order.count(b"1") == 1
    assert causes_of(process, process.store.children(number)[1].number).count("restarted") == 1


def test_a_child_does_not_stay_behind_the_one_that_broke_off(platform: Platform, process: Processing) -> None:
    """Something breaks in the first child's turn; the second, which had none, is freed with it and ends."""
    broken: list[bytes] = []

    @platform.route("split")
    def split(exchange: Exchange) -> None:
        exchange.split([Child(service="customer", operation="part", body=each) for each in (b"1", b"2")])

    @platform.route("part")
    def part(exchange: Exchange) -> None:
        if not broken:
            broken.append(exchange.body)
            raise KeyboardInterrupt

    number = platform.send(process, "split")
    with pytest.raises(KeyboardInterrupt):
        process.drain()
    assert _states(process, number) == [State.WAITING, State.PROCESSING, State.NEW]
    platform.clock.advance(process.parameters.lease)
    process.maintain_leases()
    platform.retry(process)
    assert _states(process, number) == [State.OK] * 3
