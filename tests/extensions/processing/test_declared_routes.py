"""Routes that the integration file declares do what routes in Python do: the same engine, the same store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from extensions.processing import Administration, NewMessage, Processing, State
from extensions.processing.integration import build_routes
from extensions.processing.integration_file import read_integration
from extensions.processing.stored_messages import Search
from tests.extensions.processing.processing_platform import Platform, causes_of, message_of, state_of

SYSTEMS = "[systems.billing]\n[systems.mno]\n[systems.crm]\n"
Declare: TypeAlias = Callable[..., Processing]


@pytest.fixture
def declare(platform: Platform, tmp_path: Path) -> Declare:
    """A process whose routes are declared: by operation of the service customer, the steps as TOML."""

    def open_with(**parameters: Any) -> Processing:
        routes = {name: steps for name, steps in parameters.items() if isinstance(steps, str)}
        path = tmp_path / "integration.toml"
        path.write_text(
            SYSTEMS
            + "".join(
                f'[[routes]]\nservice = "customer"\noperation = "{name}"\nsteps = [{_one_line(steps)}]\n'
                for name, steps in routes.items()
            )
        )
        platform.routes = build_routes(read_integration(path))
        return platform.open(**{name: each for name, each in parameters.items() if name not in routes})

    return open_with


def _one_line(steps: str) -> str:
    """An inline table of TOML ends with its line."""
    return " ".join(steps.split())


def _send(
    platform: Platform, process: Processing, body: object = None, operation: str = "set", **given: Any
) -> int:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    number = platform.send(process, operation, body=data, **given)
    process.drain()
    return number


OBJECT_ROUTE = """
[systems.crm]
[[routes]]
service = "customer"
operation = "set"
object_id = "/customer/a~1b/0"
steps = [{do = "call", system = "crm", request = "$.message.object_id"}]
"""


@pytest.fixture
def of_objects(platform: Platform, tmp_path: Path) -> Processing:
    """A process with a route that takes the object id from the body."""
    path = tmp_path / "integration.toml"
    path.write_text(OBJECT_ROUTE)
    platform.routes = build_routes(read_integration(path))
    return platform.open()


@pytest.mark.parametrize(
    ("value", "given", "expected"), [("5", {}, "5"), (7, {}, "7"), (7, {"object_id": "8"}, "8")]
)
def test_the_object_id_is_set_from_the_body_when_a_message_is_received(
    platform: Platform, of_objects: Processing, value: object, given: dict[str, str], expected: str
) -> None:
    """By a JSON Pointer; what the source says counts more. Before anything is processed, it is stored."""
    body = json.dumps({"customer": {"a/b": [value]}}).encode()
    number = platform.send(of_objects, "set", body=body, **given)
    assert message_of(of_objects, number).object_id == expected
    of_objects.drain()
    assert platform.calls_of("crm") == [expected.encode()]


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"no JSON",
        b'{"customer": {"a/b": []}}',
        b'{"customer": {"a/b": [null]}}',
        b'{"customer": {"a/b": [{}]}}',
    ],
)
def test_a_message_without_its_object_id_is_refused_when_it_is_received(
    platform: Platform, of_objects: Processing, body: bytes
) -> None:
    """The receipt says FAIL with the code and the place, and nothing is stored."""
    trace: dict[str, Any] = {"source": "CRM", "correlation": "c-1", "timestamp": platform.clock.time()}
    receipt = of_objects.receive(NewMessage(service="customer", operation="set", body=body, **trace))
    why = "the body has no object id at /customer/a~1b/0: a text or a whole number"
    assert (receipt.status, receipt.number, receipt.code, receipt.additional_info) == (
        "FAIL",
        None,
        "E102",
        why,
    )
    assert Administration(of_objects).search(Search()) == []


def test_calls_are_made_once_and_their_answers_can_be_used(platform: Platform, declare: Declare) -> None:
    """What one system answered is in the request to the next, at every attempt."""
    process = declare(
        set="""
        {do = "call", system = "crm", request = {id = "$.message.object_id"}},
        {do = "call", system = "mno", request = {"$text" = ["order ", "$.answers.crm.order"]}},
        {do = "call", system = "billing"}"""
    )
    platform.script("crm", 'ok: {"order": 17}')
    platform.script("billing", "500")
    number = _send(platform, process, {"a": 1}, object_id="5")
    assert state_of(process, number) is State.PARTLY_FAILED
    platform.retry(process)
    assert state_of(process, number) is State.OK
    assert platform.calls_of("crm") == [b'{"id":"5"}']
    assert platform.calls_of("mno") == [b"order 17"]
    assert platform.calls_of("billing") == [b'{"a": 1}']


def test_a_call_is_known_by_what_the_step_says(platform: Platform, declare: Declare) -> None:
    """Message, object or a key of one's own; an operation's name; a key tells two calls apart."""
    process = declare(
        set="""
        {do = "call", system = "crm", known_by = "message"},
        {do = "call", system = "crm", known_by = "message", key = "$.body.line"},
        {do = "call", system = "mno", known_by = "custom", key = "$.body.line", operation = "port"},
        {do = "call", system = "billing"}"""
    )
    number = _send(platform, process, {"line": "L1"}, object_id="5")
    found = {(call.operation, call.key) for call in process.calls.of_message(number)}
    assert found == {
        ("crm", "CRM_c-1"),
        ("crm", "CRM_c-1_L1"),
        ("port", "L1"),
        ("billing", "set_5"),
        ("confirmation", "CRM_c-1"),
    }


def test_an_older_message_of_an_object_is_skipped(platform: Platform, declare: Declare) -> None:
    """As in Python: its call is obsolete once a newer message has made it."""
    process = declare(set='{do = "call", system = "crm"}')
    platform.script("crm", "500")
    older = _send(platform, process, {}, object_id="5")
    platform.clock.advance(1)
    newer = _send(platform, process, {}, object_id="5")
    platform.retry(process)
    assert (state_of(process, older), state_of(process, newer)) == (State.SKIPPED, State.OK)


@pytest.mark.parametrize(
    ("answer", "business_errors", "end"),
    [
        ("business: no such customer", "collect", (State.OK, None)),
        ("business: no such customer", "fail", (State.FAILED, "E109")),
        ("validation: no such customer", "collect", (State.FAILED, "E102")),
    ],
)
def test_what_a_system_says_of_a_message_is_an_answer_or_its_end(
    platform: Platform, declare: Declare, answer: str, business_errors: str, end: tuple[State, str | None]
) -> None:
    """A business error is collected or fails the message; a validation error fails it at once, untried."""
    process = declare(set=f'{{do = "call", system = "crm", business_errors = "{business_errors}"}}')
    platform.script("crm", answer)
    message = message_of(process, _send(platform, process, {}))
    assert (message.state, message.error_code) == end
    (told,) = platform.told.confirmations
    assert (told.result, told.additional_info) == (end[0], "no such customer")
    assert len(platform.calls_of("crm")) <= 1


@pytest.mark.parametrize(
    ("kind", "code", "states"),
    [
        ("validation", "E102", ["FAILED"]),
        ("business", "E109", ["FAILED"]),
        ("nothing found", "E107", ["FAILED"]),
        ("several found", "E108", ["FAILED"]),
        ("technical", "E103", ["PARTLY_FAILED", "PARTLY_FAILED", "PARTLY_FAILED", "FAILED"]),
    ],
)
def test_a_route_fails_a_message(
    platform: Platform, declare: Declare, kind: str, code: str, states: list[str]
) -> None:
    """At once, or, for what may pass, after its attempts; with the reason that was made for it."""
    process = declare(
        set=f"""
        {{do = "fail", as = "{kind}", when = "/body/total < 0",
          why = {{"$text" = ["the total is ", "$.body.total"]}}}},
        {{do = "call", system = "billing"}}"""
    )
    number = _send(platform, process, {"total": -3})
    good = _send(platform, process, {"total": 3})
    for _ in range(3):
        platform.retry(process)
    message = message_of(process, number)
    found = [change.after for change in process.store.changes(number)]
    assert [state for state in found if state in {"PARTLY_FAILED", "FAILED"}] == states
    assert (message.error_code, message.description) == (code, "the total is -3")
    assert state_of(process, good) is State.OK
    assert len(platform.calls_of("billing")) == 1


def test_a_message_is_split_into_an_element_each(platform: Platform, declare: Declare) -> None:
    """In the order of the list; HARD ones decide how their parent ends, SOFT ones do not."""
    process = declare(
        order="""
        {do = "split", children = [
          {service = "customer", operation = "line", each = "$.body.lines", object_id = "$.sku",
           body = {of = "$$.message.correlation", sku = "$.sku"}},
          {service = "customer", operation = "note", binding = "SOFT", body = "$.body.note"},
        ]}""",
        line='{do = "call", system = "billing"}',
        note='{do = "fail", as = "validation", why = "nobody reads notes"}',
    )
    lines = [{"sku": "a"}, {"sku": "b"}]
    number = _send(platform, process, {"lines": lines, "note": "hello"}, "order")
    assert platform.calls_of("billing") == [b'{"of":"c-1","sku":"a"}', b'{"of":"c-1","sku":"b"}']
    children = process.store.children(number)
    assert [(each.operation, each.state, each.object_id) for each in children] == [
        ("line", "OK", "a"),
        ("line", "OK", "b"),
        ("note", "FAILED", None),
    ]
    assert children[2].body == b"hello"
    assert state_of(process, number) is State.OK


def test_a_child_that_fails_fails_its_parent_and_has_retries_of_its_own(
    platform: Platform, declare: Declare
) -> None:
    """A technical error of one is tried again by itself; the other is not made anew."""
    process = declare(
        order='{do = "split", children = [{service = "customer", operation = "line", each = "$.body"}]}',
        line='{do = "call", system = "billing"}',
    )
    platform.script("billing", "ok", "500")
    number = _send(platform, process, ["a", "b"], "order")
    assert state_of(process, number) is State.WAITING
    platform.retry(process)
    assert state_of(process, number) is State.OK
    assert platform.calls_of("billing") == [b"a", b"b"]
    platform.script("billing", "validation: no")
    number = _send(platform, process, ["c"], "order")
    assert message_of(process, number).description == "child c-2_1 failed: no"


@pytest.mark.parametrize(
    ("body", "state"), [({"lines": 5}, "FAILED"), ({"lines": []}, "OK"), ({}, "OK"), (b"x", "OK")]
)
def test_what_is_no_list_cannot_be_split(
    platform: Platform, declare: Declare, body: object, state: str
) -> None:
    """A value of another kind is a validation error; no elements are no children."""
    process = declare(
        order="""
        {do = "split", children = [{service = "customer", operation = "line", each = "$.body.lines"}]}""",
        line='{do = "end", as = "ok"}',
    )
    number = _send(platform, process, body, "order")
    assert state_of(process, number) == state


def test_related_messages_go_through_a_funnel_one_at_a_time(platform: Platform, declare: Declare) -> None:
    """The second is postponed while the first waits for its answer, and goes on when that is done."""
    process = declare(
        set="""
        {do = "funnel", value = "$.body.customer"},
        {do = "wait", when = "/body/slow = 1"},
        {do = "call", system = "crm"}"""
    )
    first = _send(platform, process, {"customer": "7", "slow": 1})
    second, other = _send(platform, process, {"customer": "7"}), _send(platform, process, {"customer": "8"})
    assert state_of(process, first) is State.WAITING_FOR_RES
    assert (state_of(process, second), state_of(process, other)) == (State.POSTPONED, State.OK)
    process.answer(first, b"go on")
    process.drain()
    platform.clock.advance(process.parameters.postponed_interval)
    process.queue_due()
    process.drain()
    assert (state_of(process, first), state_of(process, second)) == (State.OK, State.OK)


def test_a_funnel_in_order_lets_the_earlier_one_go_first(platform: Platform, declare: Declare) -> None:
    """By their sources' times; one that FAILED is waited for, unless the step says otherwise."""
    for without_failed, state in (("false", State.POSTPONED), ("true", State.OK)):
        process = declare(
            set=f"""
            {{do = "funnel", value = "$.body", in_order = true, without_failed = {without_failed}}},
            {{do = "fail", as = "validation", why = "no", when = "/message/object_id = 'bad'"}}"""
        )
        value = f"funnel {without_failed}"
        earlier = _send(platform, process, value, object_id="bad")
        later = _send(platform, process, value, object_id="good")
        assert (state_of(process, earlier), state_of(process, later)) == (State.FAILED, state)


def test_a_funnel_without_a_value_is_a_validation_error(platform: Platform, declare: Declare) -> None:
    """It would let everything through, or nothing."""
    process = declare(set='{do = "funnel", value = "$.body.customer"}')
    message = message_of(process, _send(platform, process, {"customer": None}))
    assert (message.state, message.error_code) == ("FAILED", "E102")
    assert "has nothing there" in str(message.description)


@pytest.mark.parametrize("value", ["x", "7", '"q"', {"a": [1]}, 7, True, ["x"]])
def test_data_is_kept_between_attempts_as_it_was(platform: Platform, declare: Declare, value: object) -> None:
    """The next attempt finds what was kept, of whatever type; here it goes into the request."""
    process = declare(
        set="""
        {do = "call", system = "mno", request = {kept = "$.kept", attempt = "$.attempt"},
         when = "/attempt > 1"},
        {do = "keep", value = "$.body.value", when = "/attempt = 1"},
        {do = "fail", as = "technical", why = "not yet", when = "/attempt = 1"}"""
    )
    number = _send(platform, process, {"value": value})
    platform.retry(process)
    assert state_of(process, number) is State.OK
    (request,) = platform.calls_of("mno")
    assert json.loads(request) == {"kept": value, "attempt": 2}


def test_an_attempt_ends_without_effect_and_is_not_counted(platform: Platform, declare: Declare) -> None:
    """Blank until the system is ready; more often than errors would be allowed."""
    process = declare(
        set="""
        {do = "call", system = "crm", key = {"$text" = ["look ", "$.kept"]}, when = "/kept IS NOT NULL"},
        {do = "keep", value = "1", when = "/kept IS NULL"},
        {do = "end", as = "no effect", when = "/answers/crm != 'ready' OR /answers/crm IS NULL"},
        {do = "call", system = "billing"}"""
    )
    platform.script("crm", "ok: ready")
    number = _send(platform, process, {})
    message = message_of(process, number)
    assert (message.state, message.failed) == ("PARTLY_FAILED", 0)
    platform.retry(process)
    assert state_of(process, number) is State.OK
    assert "no effect" in causes_of(process, number)
    assert len(platform.calls_of("billing")) == 1


def test_a_route_ends_early_as_ok(platform: Platform, declare: Declare) -> None:
    """What follows is not done."""
    process = declare(
        set="""{do = "end", as = "ok", when = "/body/test = 1"}, {do = "call", system = "billing"}"""
    )
    assert state_of(process, _send(platform, process, {"test": 1})) is State.OK
    assert platform.calls_of("billing") == []


def test_business_errors_are_remembered_once_and_told_at_the_end(
    platform: Platform, declare: Declare
) -> None:
    """Over all attempts, by a step or a system; conditions see them."""
    process = declare(
        set="""
        {do = "remember", why = "the address is old"},
        {do = "call", system = "crm"},
        {do = "call", system = "mno"},
        {do = "end", as = "ok", when = "/business_errors IS NOT NULL"},
        {do = "call", system = "billing"}"""
    )
    platform.script("crm", "business: no such street")
    platform.script("mno", "500")
    number = _send(platform, process, {})
    platform.retry(process)
    assert state_of(process, number) is State.OK
    assert platform.told.confirmations[0].additional_info == "the address is old; no such street"
    assert platform.calls_of("billing") == []


def test_a_message_waits_for_its_answer(platform: Platform, declare: Declare) -> None:
    """And goes on with it; a total restart asks anew, a partial one does not."""
    process = declare(
        set="""{do = "wait"}, {do = "call", system = "crm", request = "$.answer.ok", known_by = "message"}"""
    )
    number = _send(platform, process, {})
    assert state_of(process, number) is State.WAITING_FOR_RES
    process.answer(number, b'{"ok": "yes"}')
    process.drain()
    assert platform.calls_of("crm") == [b"yes"]
    Administration(process).restart_partly(number)
    platform.retry(process)
    assert state_of(process, number) is State.OK
    Administration(process).restart_wholly(number)
    platform.retry(process)
    assert state_of(process, number) is State.WAITING_FOR_RES


def test_a_template_that_cannot_be_filled_fails_the_message(platform: Platform, declare: Declare) -> None:
    """A term that its table does not have: no other attempt changes that."""
    process = declare(
        set="""{do = "call", system = "crm", request = {"$term" = "$.body.kind", "$of" = {a = "A"}}}"""
    )
    message = message_of(process, _send(platform, process, {"kind": "z"}))
    assert (message.state, message.error_code) == ("FAILED", "E102")
    assert "'z'; the mapping knows a" in str(message.description)


@pytest.mark.parametrize(
    "body",
    [b"", b"<order/>", b"\xff\xfe", b'{"a":', b"[" * 5000, b"1e400", b"1.10", b"12345678901234567890123"],
)
def test_any_body_is_passed_on_as_it_came(platform: Platform, declare: Declare, body: bytes) -> None:
    """Conditions and templates find nothing in what is no JSON, and the call has the very bytes."""
    process = declare(
        set="""{do = "fail", as = "validation", why = "?", when = "/body/a = 1"},
        {do = "call", system = "crm"}, {do = "call", system = "mno", request = {body = "$.body"}}"""
    )
    number = _send(platform, process, body)
    assert state_of(process, number) is State.OK, message_of(process, number).description
    assert platform.calls_of("crm") == [body]
