"""Obsolete messages: those of an object that a newer message has changed already."""

from __future__ import annotations

import pytest

from extensions.processing import AS_CODED, Administration, Exchange, KeyKind, Processing, State
from extensions.processing.processing_parameters import Dialect
from extensions.processing.transitions import IllegalTransitionError
from tests.extensions.processing.processing_platform import START, Platform, causes_of, message_of, state_of


def _route(platform: Platform, operation: str = "set", kind: KeyKind = KeyKind.ENTITY) -> None:
    @platform.route(operation)
    def change(exchange: Exchange) -> None:
        exchange.call("crm", exchange.body, kind=kind, key="5" if kind is KeyKind.CUSTOM else None)
        exchange.call("mno", b"told")


def _three(platform: Platform, process: Processing, **given: str) -> list[int]:
    """The three messages of the description, a second apart: the second one fails at first."""
    numbers = []
    for script in ("ok", "500", "ok"):
        platform.script("crm", script)
        numbers.append(platform.send(process, body=script.encode(), **given))
        process.drain()
        platform.clock.advance(1)
    return numbers


def test_a_message_is_skipped_when_a_newer_one_of_the_same_object_succeeded(
    platform: Platform, process: Processing
) -> None:
    """MSG1 OK, MSG2 PARTLY_FAILED, MSG3 OK: MSG2 ends SKIPPED, and nothing is called for it any more."""
    _route(platform)
    numbers = _three(platform, process, object_id="5")
    assert [state_of(process, each) for each in numbers] == [State.OK, State.PARTLY_FAILED, State.OK]
    called = len(platform.calls_of("crm")), len(platform.calls_of("mno"))
    platform.retry(process)
    assert state_of(process, numbers[1]) is State.SKIPPED
    assert (len(platform.calls_of("crm")), len(platform.calls_of("mno"))) == called
    assert process.store.changes(numbers[1])[-1].why == (
        f"message {numbers[2]} is newer, and has made the same call"
    )


def test_a_skipped_message_is_never_processed_again(platform: Platform, process: Processing) -> None:
    """Neither by itself nor by hand; and its source is told that it was, and why."""
    _route(platform)
    _, second, _ = _three(platform, process, object_id="5")
    platform.retry(process)
    platform.retry(process)
    assert causes_of(process, second)[-1] == "obsolete"
    for action in (Administration(process).restart_partly, Administration(process).cancel):
        with pytest.raises(IllegalTransitionError):
            action(second)
    assert platform.told.results == ["OK", "OK", "SKIPPED"]
    assert "is newer" in str(platform.told.confirmations[-1].additional_info)


def test_another_object_makes_nothing_obsolete(platform: Platform, process: Processing) -> None:
    """The identifiers differ: both are processed."""
    _route(platform)
    platform.script("crm", "500")
    second = platform.send(process, object_id="5")
    process.drain()
    platform.clock.advance(1)
    platform.send(process, object_id="6")
    process.drain()
    platform.retry(process)
    assert state_of(process, second) is State.OK


@pytest.mark.parametrize(
    ("kind", "end"),
    [(KeyKind.ENTITY, State.SKIPPED), (KeyKind.CUSTOM, State.SKIPPED), (KeyKind.MESSAGE, State.OK)],
)
def test_the_check_is_the_calls_and_by_its_kind_of_key(
    platform: Platform, process: Processing, kind: KeyKind, end: State
) -> None:
    """Known by its message, as where objects are made, a call is never obsolete and needs no object id."""
    _route(platform, kind=kind)
    given = {} if kind is KeyKind.MESSAGE else {"object_id": "5"}
    _, second, _ = _three(platform, process, **given)
    platform.retry(process)
    assert state_of(process, second) is end


def test_the_object_id_is_mandatory_where_a_call_is_known_by_its_object(
    platform: Platform, process: Processing
) -> None:
    """A message that was received without one is FAILED at once, and says what is missing."""
    _route(platform)
    number = platform.send(process)
    process.drain()
    message = message_of(process, number)
    assert message.state is State.FAILED
    assert "has no object id" in str(message.description)
    assert platform.calls_of("crm") == []


def _two_operations(platform: Platform, process: Processing, **given: str) -> State:
    for operation in ("setCustomerExt", "createCustomerExtAll"):
        _route(platform, operation)
    platform.script("crm", "500")
    first = platform.send(process, "setCustomerExt", object_id="5", **given)
    process.drain()
    platform.clock.advance(1)
    platform.send(process, "createCustomerExtAll", object_id="5", **given)
    process.drain()
    platform.retry(process)
    return state_of(process, first)


def test_by_default_the_operation_is_a_part_of_the_object(platform: Platform, process: Processing) -> None:
    """The same id in two operations is two objects."""
    assert _two_operations(platform, process) is State.OK


def test_an_entity_type_makes_the_objects_of_two_operations_one(
    platform: Platform, process: Processing
) -> None:
    """Both change the customer: the newer makes the older obsolete."""
    assert _two_operations(platform, process, entity_type="customer") is State.SKIPPED


def test_newer_is_what_was_received_later(platform: Platform, process: Processing) -> None:
    """Whatever the sources' clocks say; of two received at once, the second."""
    _route(platform)
    platform.script("crm", "500")
    first = platform.send(process, object_id="5", timestamp=START + 900)
    second = platform.send(process, object_id="5", timestamp=START)
    process.drain()
    platform.retry(process)
    assert (state_of(process, first), state_of(process, second)) == (State.SKIPPED, State.OK)


def test_a_newer_message_that_failed_makes_nothing_obsolete(platform: Platform, process: Processing) -> None:
    """Only one that succeeded does; the older is called again, and then the newer."""
    _route(platform)
    platform.script("crm", "500", "500")
    older = platform.send(process, object_id="5")
    platform.clock.advance(1)
    newer = platform.send(process, object_id="5")
    process.drain()
    platform.retry(process)
    assert (state_of(process, older), state_of(process, newer)) == (State.OK, State.OK)


def test_an_older_message_repeats_no_call_that_succeeded(platform: Platform, process: Processing) -> None:
    """Even when a newer one has failed at the same call since."""
    _route(platform)
    platform.script("mno", "500")
    older = platform.send(process, object_id="5", body=b"older")
    process.drain()
    platform.clock.advance(1)
    platform.script("crm", "500")
    platform.send(process, object_id="5", body=b"newer")
    process.drain()
    platform.retry(process)
    assert state_of(process, older) is State.OK
    assert platform.calls_of("crm").count(b"older") == 1


# As the published code has it


def test_as_coded_an_obsolete_call_alone_is_left_out(platform: Platform) -> None:
    """There is no SKIPPED in the code: the message goes on after the call, and is OK."""
    process = platform.open(ways=AS_CODED)
    _route(platform)
    _, second, _ = _three(platform, process, object_id="5")
    platform.retry(process)
    assert state_of(process, second) is State.OK
    assert (len(platform.calls_of("crm")), len(platform.calls_of("mno"))) == (2, 3)


def test_as_coded_newer_is_what_its_source_dated_later(platform: Platform) -> None:
    """By the time in the trace header; one of the same time will do."""
    process = platform.open(ways=Dialect(newer_by_receipt=False, only_success_outdates=False))
    _route(platform)
    for later, end in ((900.0, State.OK), (0.0, State.SKIPPED), (-1.0, State.SKIPPED)):
        object_id = f"dated {later}"
        platform.script("crm", "500")
        first = platform.send(process, object_id=object_id, timestamp=START + later)
        platform.send(process, object_id=object_id, timestamp=START)
        process.drain()
        platform.retry(process)
        assert state_of(process, first) is end


def test_as_coded_a_newer_message_that_failed_will_do(platform: Platform) -> None:
    """The older is left out though the newer one's call failed."""
    process = platform.open(ways=Dialect(only_success_outdates=False))
    _route(platform)
    platform.script("crm", "500", "500")
    older = platform.send(process, object_id="5")
    platform.clock.advance(1)
    newer = platform.send(process, object_id="5")
    process.drain()
    platform.retry(process)
    assert (state_of(process, older), state_of(process, newer)) == (State.SKIPPED, State.OK)


def test_as_coded_objects_of_two_operations_are_one_without_an_entity_type(platform: Platform) -> None:
    """The code's key has the entity type or nothing before the object id."""
    process = platform.open(ways=Dialect(entity_by_operation=False))
    assert _two_operations(platform, process) is State.SKIPPED
    assert process.calls.of_message(1)[0].key == "5"
