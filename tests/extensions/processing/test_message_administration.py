"""What people do with messages: find, show, restart, cancel."""

from __future__ import annotations

import pytest

from extensions.processing import Administration, Child, Exchange, Processing, State
from extensions.processing.stored_messages import Search
from extensions.processing.transitions import IllegalTransitionError
from tests.extensions.processing.processing_platform import START, Platform, causes_of, message_of, state_of


@pytest.fixture
def administration(platform: Platform, process: Processing) -> Administration:
    @platform.route("set")
    def work(exchange: Exchange) -> None:
        exchange.custom_data = "seen"
        exchange.call("billing", exchange.body)
        exchange.call("mno", exchange.body)

    return Administration(process)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Search(), [4, 3, 2, 1]),
        (Search(before=3), [2, 1]),
        (Search(source="RP"), [3]),
        (Search(correlation="c-2"), [2]),
        (Search(process="batch"), [4]),
        (Search(state=State.PARTLY_FAILED), [2]),
        (Search(error_code="E103"), [2]),
        (Search(service="custom", operation="se"), [4, 3, 2, 1]),
        (Search(service="_"), []),
        (Search(received_from=START + 20), [4, 3]),
        (Search(received_to=START + 10), [2, 1]),
        (Search(changed_from=START + 30), [4]),
        (Search(changed_to=START), [1]),
        (Search(text="50 %"), [3]),
        (Search(text="answered 500"), [2]),
        (Search(text="100%"), []),
    ],
)
def test_messages_are_found(
    platform: Platform, process: Processing, administration: Administration, wanted: Search, found: list[int]
) -> None:
    """The newest first, by any of what is known of them, together; % and _ stand for themselves."""
    platform.script("billing", "ok", "500")
    for given in ({}, {}, {"source": "ERP", "body": b"at 50 % off"}, {"process": "batch-7"}):
        process.receive(platform.new(**given))
        process.drain()
        platform.clock.advance(10)
    assert [each.number for each in administration.search(wanted)] == found
    assert [each.number for each in administration.search(wanted, limit=1)] == found[:1]


def test_a_message_is_shown_with_all_that_belongs_to_it(
    platform: Platform, process: Processing, administration: Administration
) -> None:
    """Its life, calls, attempts and errors, children, and what can be done with it."""

    @platform.route("split")
    def split(exchange: Exchange) -> None:
        exchange.call("crm")
        exchange.split([Child(service="customer", operation="set")])

    platform.script("billing", "500")
    number = platform.send(process, "split")
    process.drain()
    shown = administration.show(number)
    assert shown.message == message_of(process, number)
    assert [each.cause for each in shown.changes] == ["received", "queued", "started", "split"]
    assert [(each.operation, each.state) for each in shown.calls] == [("crm", "OK")]
    assert shown.actions == ["cancel"]
    (child,) = shown.children
    details = administration.show(child.number)
    assert details.changes[-1].why == "billing answered 500"
    assert details.message.parent == number
    with pytest.raises(LookupError, match="no message 99"):
        administration.show(99)


@pytest.mark.parametrize(("action", "calls"), [("restart_partly", 1), ("restart_wholly", 2)])
def test_a_message_is_restarted_with_its_calls_or_without(
    platform: Platform, process: Processing, administration: Administration, action: str, calls: int
) -> None:
    """Partly, what succeeded is left out; wholly, everything is called anew. Its end is confirmed anew."""
    number = platform.send(process)
    process.drain()
    restarted = getattr(administration, action)(number)
    assert restarted.state is State.PARTLY_FAILED
    process.queue_due()
    process.drain()
    assert state_of(process, number) is State.OK
    assert len(platform.calls_of("billing")) == calls
    assert platform.told.results == ["OK", "OK"]


def test_a_restart_does_not_give_new_attempts(
    platform: Platform, process: Processing, administration: Administration
) -> None:
    """The failed count stays: one more failure is the end again."""
    platform.script("billing", *["500"] * 5)
    number = platform.send(process)
    process.drain()
    for _ in range(3):
        platform.retry(process)
    administration.restart_partly(number)
    process.queue_due()
    process.drain()
    message = message_of(process, number)
    assert (message.state, message.failed) == (State.FAILED, 5)


def test_what_has_not_ended_is_not_restarted_and_what_has_is_not_cancelled(
    platform: Platform, process: Processing, administration: Administration
) -> None:
    """The refusal says which state it is in and which would do."""
    number = platform.send(process)
    with pytest.raises(
        IllegalTransitionError, match="IN_QUEUE cannot be restarted; one that is CANCEL, FAILED"
    ):
        administration.restart_wholly(number)
    process.drain()
    with pytest.raises(IllegalTransitionError, match="OK cannot be cancelled"):
        administration.cancel(number)


def test_a_message_that_is_cancelled_while_it_is_processed_makes_no_other_call(
    platform: Platform, process: Processing
) -> None:
    """The worker notices at the next call, and writes nothing over the end."""
    administration = Administration(process)

    @platform.route("set")
    def work(exchange: Exchange) -> None:
        exchange.call("billing")
        administration.cancel(exchange.message.number)
        exchange.call("mno")

    number = platform.send(process)
    process.drain()
    assert state_of(process, number) is State.CANCEL
    assert causes_of(process, number)[-1] == "cancelled"
    assert platform.calls_of("mno") == []
    assert platform.told.results == ["CANCEL"]


def test_a_message_in_the_queue_can_be_cancelled(
    platform: Platform, process: Processing, administration: Administration
) -> None:
    """Its place in the queue is passed over."""
    number = platform.send(process)
    administration.cancel(number)
    process.drain()
    assert state_of(process, number) is State.CANCEL
    assert platform.calls_of("billing") == []
