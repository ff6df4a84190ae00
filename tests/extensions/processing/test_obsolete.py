"""Obsolete messages: those of an object that a newer message has changed already."""

from __future__ import annotations

import pytest

from extensions.processing import AS_CODED, Administration, Exchange, KeyKind, Processing, State
from extensions.processing.processing_parameters import Dialect
from extensions.processing.transitions import IllegalTransitionError
from tests.extensions.processing.processing_site import START, Site, causes_of, message_of, state_of


def _route(site: Site, operation: str = "set", kind: KeyKind = KeyKind.ENTITY) -> None:
    @site.route(operation)
    def change(exchange: Exchange) -> None:
        exchange.call("crm", exchange.body, kind=kind, key="5" if kind is KeyKind.CUSTOM else None)
        exchange.call("mno", b"told")


def _three(site: Site, process: Processing, **given: str) -> list[int]:
    """The three messages of the description, a second apart: the second one fails at first."""
    numbers = []
    for script in ("ok", "500", "ok"):
        site.script("crm", script)
        numbers.append(site.send(process, body=script.encode(), **given))
        process.drain()
        site.clock.advance(1)
    return numbers


def test_a_message_is_skipped_when_a_newer_one_of_the_same_object_succeeded(
    site: Site, process: Processing
) -> None:
    """MSG1 OK, MSG2 PARTLY_FAILED, MSG3 OK: MSG2 ends SKIPPED, and nothing is called for it any more."""
    _route(site)
    numbers = _three(site, process, object_id="5")
    assert [state_of(process, each) for each in numbers] == [State.OK, State.PARTLY_FAILED, State.OK]
    called = len(site.calls_of("crm")), len(site.calls_of("mno"))
    site.retry(process)
    assert state_of(process, numbers[1]) is State.SKIPPED
    assert (len(site.calls_of("crm")), len(site.calls_of("mno"))) == called
    assert process.store.changes(numbers[1])[-1].why == (
        f"message {numbers[2]} is newer, and has made the same call"
    )


def test_a_skipped_message_is_never_processed_again(site: Site, process: Processing) -> None:
    """Neither by itself nor by hand; and its source is told that it was, and why."""
    _route(site)
    _, second, _ = _three(site, process, object_id="5")
    site.retry(process)
    site.retry(process)
    assert causes_of(process, second)[-1] == "obsolete"
    for action in (Administration(process).restart_partly, Administration(process).cancel):
        with pytest.raises(IllegalTransitionError):
            action(second)
    assert site.told.results == ["OK", "OK", "SKIPPED"]
    assert "is newer" in str(site.told.confirmations[-1].additional_info)


def test_another_object_makes_nothing_obsolete(site: Site, process: Processing) -> None:
    """The identifiers differ: both are processed."""
    _route(site)
    site.script("crm", "500")
    second = site.send(process, object_id="5")
    process.drain()
    site.clock.advance(1)
    site.send(process, object_id="6")
    process.drain()
    site.retry(process)
    assert state_of(process, second) is State.OK


@pytest.mark.parametrize(
    ("kind", "end"),
    [(KeyKind.ENTITY, State.SKIPPED), (KeyKind.CUSTOM, State.SKIPPED), (KeyKind.MESSAGE, State.OK)],
)
def test_the_check_is_the_calls_and_by_its_kind_of_key(
    site: Site, process: Processing, kind: KeyKind, end: State
) -> None:
    """Known by its message, as where objects are made, a call is never obsolete and needs no object id."""
    _route(site, kind=kind)
    given = {} if kind is KeyKind.MESSAGE else {"object_id": "5"}
    _, second, _ = _three(site, process, **given)
    site.retry(process)
    assert state_of(process, second) is end


def test_the_object_id_is_mandatory_where_a_call_is_known_by_its_object(
    site: Site, process: Processing
) -> None:
    """A message that was received without one is FAILED at once, and says what is missing."""
    _route(site)
    number = site.send(process)
    process.drain()
    message = message_of(process, number)
    assert message.state is State.FAILED
    assert "has no object id" in str(message.description)
    assert site.calls_of("crm") == []


def _two_operations(site: Site, process: Processing, **given: str) -> State:
    for operation in ("setCustomerExt", "createCustomerExtAll"):
        _route(site, operation)
    site.script("crm", "500")
    first = site.send(process, "setCustomerExt", object_id="5", **given)
    process.drain()
    site.clock.advance(1)
    site.send(process, "createCustomerExtAll", object_id="5", **given)
    process.drain()
    site.retry(process)
    return state_of(process, first)


def test_by_default_the_operation_is_a_part_of_the_object(site: Site, process: Processing) -> None:
    """The same id in two operations is two objects."""
    assert _two_operations(site, process) is State.OK


def test_an_entity_type_makes_the_objects_of_two_operations_one(site: Site, process: Processing) -> None:
    """Both change the customer: the newer makes the older obsolete."""
    assert _two_operations(site, process, entity_type="customer") is State.SKIPPED


def test_newer_is_what_was_received_later(site: Site, process: Processing) -> None:
    """Whatever the sources' clocks say; of two received at once, the second."""
    _route(site)
    site.script("crm", "500")
    first = site.send(process, object_id="5", timestamp=START + 900)
    second = site.send(process, object_id="5", timestamp=START)
    process.drain()
    site.retry(process)
    assert (state_of(process, first), state_of(process, second)) == (State.SKIPPED, State.OK)


def test_a_newer_message_that_failed_makes_nothing_obsolete(site: Site, process: Processing) -> None:
    """Only one that succeeded does; the older is called again, and then the newer."""
    _route(site)
    site.script("crm", "500", "500")
    older = site.send(process, object_id="5")
    site.clock.advance(1)
    newer = site.send(process, object_id="5")
    process.drain()
    site.retry(process)
    assert (state_of(process, older), state_of(process, newer)) == (State.OK, State.OK)


def test_an_older_message_repeats_no_call_that_succeeded(site: Site, process: Processing) -> None:
    """Even when a newer one has failed at the same call since."""
    _route(site)
    site.script("mno", "500")
    older = site.send(process, object_id="5", body=b"older")
    process.drain()
    site.clock.advance(1)
    site.script("crm", "500")
    site.send(process, object_id="5", body=b"newer")
    process.drain()
    site.retry(process)
    assert state_of(process, older) is State.OK
    assert site.calls_of("crm").count(b"older") == 1


# As the published code has it


def test_as_coded_an_obsolete_call_alone_is_left_out(site: Site) -> None:
    """There is no SKIPPED in the code: the message goes on after the call, and is OK."""
    process = site.open(ways=AS_CODED)
    _route(site)
    _, second, _ = _three(site, process, object_id="5")
    site.retry(process)
    assert state_of(process, second) is State.OK
    assert (len(site.calls_of("crm")), len(site.calls_of("mno"))) == (2, 3)


def test_as_coded_newer_is_what_its_source_dated_later(site: Site) -> None:
    """By the time in the trace header; one of the same time will do."""
    process = site.open(ways=Dialect(newer_by_receipt=False, only_success_outdates=False))
    _route(site)
    for later, end in ((900.0, State.OK), (0.0, State.SKIPPED), (-1.0, State.SKIPPED)):
        object_id = f"dated {later}"
        site.script("crm", "500")
        first = site.send(process, object_id=object_id, timestamp=START + later)
        site.send(process, object_id=object_id, timestamp=START)
        process.drain()
        site.retry(process)
        assert state_of(process, first) is end


def test_as_coded_a_newer_message_that_failed_will_do(site: Site) -> None:
    """The older is left out though the newer one's call failed."""
    process = site.open(ways=Dialect(only_success_outdates=False))
    _route(site)
    site.script("crm", "500", "500")
    older = site.send(process, object_id="5")
    site.clock.advance(1)
    newer = site.send(process, object_id="5")
    process.drain()
    site.retry(process)
    assert (state_of(process, older), state_of(process, newer)) == (State.SKIPPED, State.OK)


def test_as_coded_objects_of_two_operations_are_one_without_an_entity_type(site: Site) -> None:
    """The code's key has the entity type or nothing before the object id."""
    process = site.open(ways=Dialect(entity_by_operation=False))
    assert _two_operations(site, process) is State.SKIPPED
    assert process.calls.of_message(1)[0].key == "5"
