"""Every endpoint is declared once: what is declared is served, and both clients have it."""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import httpx
import msgspec
import pytest

from emulator.assembly import embedded as assembly
from emulator.assembly.embedded import Embedded, embedded
from emulator.listeners.control.endpoint_routing import Handler, list_handlers
from emulator.listeners.control.openapi import make_sample
from emulator.settings.settings import DEFAULT_TOPOLOGY, Settings
from rdss_sandbox.api.control_api import SUBJECTS, ControlApi
from rdss_sandbox.api.endpoint import JSON, Endpoint, Subject, list_endpoints
from rdss_sandbox.client import AsyncClient, Client, RefusedError
from sandbox.control.scenarios import ScenarioResources
from tests.taken_out import list_taken_out, needs

ROOT = Path(__file__).parents[3]
Declared = Endpoint[..., Any, Any, Any]
EVERY: dict[Declared, type[Subject[Any]]] = {
    endpoint: subject for subject in SUBJECTS for endpoint in list_endpoints(subject)
}
OF_TAPES = {"recordings", "replays"}
DECLARED = {
    endpoint: subject
    for endpoint, subject in EVERY.items()
    if (name := SUBJECTS[subject].removeprefix("client.")) not in list_taken_out()
    and not (name in OF_TAPES and "tape" in list_taken_out())
}
"""Those that are served: of an extension that was taken out none is."""
NAMES = {endpoint: f"{endpoint.method} {endpoint.path}" for endpoint in DECLARED}
EACH = pytest.mark.parametrize("endpoint", DECLARED, ids=NAMES.values())
HANDLERS = ("emulator/listeners/control", "sandbox/control", "extensions/*/control.py",
            "extensions/*/*_resource*.py")  # fmt: skip
OF_ANOTHER_API = {"hub"}
"""What is no part of a sandbox's control API: tests/extensions/hub holds it to its own."""
PASSED_ON = {("NoSuchKey", 404)}
"""Codes of S3 that no handler writes itself."""
OF_EVERY_ENDPOINT = {("too_large", 413), ("not_found", 404)}
NOT_ENDPOINTS = {"access", "audit", "chaos", "processing", "queues", "recordings", "replays", "scenarios",
                 "snapshots", "topics", "close", "url", "transport", "at", "place", "follow_clock",
                 "follow_events", "follow_news"}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Embedded, dict[str, Handler]]]:
    """A whole sandbox as ``sandbox up`` assembles it, and its handlers by method and path."""
    found: list[Handler] = []
    build = assembly.control_app

    def watched(resources: Any, *more: Any) -> Any:
        resources = list(resources)
        found.extend(list_handlers(resources))
        return build(resources, *more)

    runs = tmp_path_factory.mktemp("runs")
    more: list[Callable[[Any], object]] = [lambda parts: ScenarioResources(parts.events, runs)]
    settings = Settings(aws_port=0, control_port=0, data_dir=None, topology=DEFAULT_TOPOLOGY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assembly, "control_app", watched)
        with embedded(settings, more=more) as emulator:
            names = [f"{each.endpoint.method} {each.endpoint.path}" for each in found]
            assert len(names) == len(set(names)), "two handlers for one endpoint"
            yield emulator, dict(zip(names, found, strict=True))


def test_what_is_declared_is_served_and_what_is_served_is_declared(
    served: tuple[Embedded, dict[str, Handler]],
) -> None:
    assert len(NAMES) > 70
    assert sorted(served[1]) == sorted(NAMES.values())


@EACH
def test_a_handler_takes_and_answers_what_is_declared(
    served: tuple[Embedded, dict[str, Handler]], endpoint: Declared
) -> None:
    """The same parameters with the same types; a handler that passes the query on may do so as a whole."""
    run = served[1][NAMES[endpoint]].run
    takes = inspect.signature(run).parameters
    hints = get_type_hints(run)
    declared = [*endpoint.variables, *endpoint.query, *([endpoint.body] if endpoint.body else [])]

    whole = any(each.kind is each.VAR_KEYWORD for each in takes.values())
    named = {name for name, each in takes.items() if each.kind is not each.VAR_KEYWORD} - {"request"}
    assert named <= {each.name for each in declared}
    assert whole or named == {each.name for each in declared}
    for each in declared:
        if each.name in named:
            assert hints[each.name] == plain(each.type), each.name
    answers = {hints["return"], *get_args(hints["return"])}
    if endpoint.media_type == JSON:
        assert endpoint.shape in answers
    else:
        assert [each for each in answers if each.__name__.endswith("Response")]


def plain(type_: Any) -> Any:
    """A type without what ``Annotated`` adds to it."""
    if get_origin(type_) is Annotated:
        return plain(get_args(type_)[0])
    union = [plain(each) for each in get_args(type_)]
    if type(None) in union:
        result = union[0]
        for each in union[1:]:
            result |= each
        return result
    return type_


@EACH
def test_both_clients_have_a_method_for_it(endpoint: Declared) -> None:
    """Where the documentation says, with the signature of the declaration."""
    expected = [*inspect.signature(endpoint.declared).parameters.values()][1:]
    for made in (Client, AsyncClient):
        of = eval(SUBJECTS[DECLARED[endpoint]], {"client": made("http://127.0.0.1:1"), "place": "stream"})
        assert getattr(type(of), endpoint.name) is endpoint
        method = getattr(of, endpoint.name)
        assert [*inspect.signature(method).parameters.values()] == expected
        assert inspect.getdoc(method) == inspect.getdoc(endpoint.declared)
    summary = (inspect.getdoc(endpoint.declared) or "").partition("\n\n")[0]
    assert summary.endswith(".")


def test_the_clients_have_no_other_requests() -> None:
    """A method that is no endpoint, no part of one and no sub-client would be a second way to declare one."""
    parts = [ControlApi.last_event, ControlApi.fault_settings]
    for subject in (Client, AsyncClient, *SUBJECTS):
        for name in dir(subject):
            member = inspect.getattr_static(subject, name)
            known = name.startswith("_") or name in NOT_ENDPOINTS or member in parts
            assert known or member in EVERY, f"{subject.__name__}.{name}"


def refused_by(node: ast.AST) -> tuple[Any, int] | None:
    """The code and status of ``ApiError(status, code, ...)``, or of an (error, status, code) to translate."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ApiError":
        status, code = node.args[:2]
    elif isinstance(node, ast.Tuple) and len(node.elts) == 3:
        _, status, code = node.elts
    else:
        return None
    if not (isinstance(code, ast.Constant) and isinstance(status, ast.Attribute)):
        return None
    named = isinstance(status.value, ast.Name) and status.value.id == "HTTPStatus"
    return (code.value, HTTPStatus[status.attr].value) if named else None


def test_the_codes_of_refusals_are_those_declared() -> None:
    """With the same status. What S3 and Kinesis refuse keeps their codes, and is not in it."""
    raised = {
        refused
        for place in HANDLERS
        for path in ROOT.glob(place if place.endswith(".py") else f"{place}/*.py")
        if path.parent.name not in OF_ANOTHER_API
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (refused := refused_by(node)) is not None
    }
    declared = {item for endpoint in DECLARED for item in endpoint.errors.items()}

    assert len(raised) > 20
    assert raised - OF_EVERY_ENDPOINT == declared - PASSED_ON - {("bad_filter", 400), ("not_found", 404)}


def arguments(endpoint: Declared) -> list[Any]:
    """The least that a caller must give, made as the documentation's samples are."""
    values: list[Any] = [1 if plain(each.type) is int else "input" for each in endpoint.variables]
    if "{place}" in endpoint.path:
        del values[0]
    if endpoint.body is not None and endpoint.body.default is msgspec.NODEFAULT:
        body = msgspec.convert(make_sample(endpoint.body.type), endpoint.body.type)
        values += body.downstreams if endpoint.wrap else [body]
    return values


def options(endpoint: Declared) -> dict[str, Any]:
    """What a caller must give by name."""
    known = inspect.signature(endpoint.declared).parameters.values()
    return {
        each.name: "input" for each in known if each.kind is each.KEYWORD_ONLY and each.default is each.empty
    }


def called(client: Client, endpoint: Declared) -> Any:
    of = eval(SUBJECTS[DECLARED[endpoint]], {"client": client, "place": "stream"})
    try:
        result = getattr(of, endpoint.name)(*arguments(endpoint), **options(endpoint))
        return type(b"".join(result) if isinstance(result, Iterator) else result)
    except RefusedError as error:
        return error


async def awaited(client: AsyncClient, endpoint: Declared) -> Any:
    of = eval(SUBJECTS[DECLARED[endpoint]], {"client": client, "place": "stream"})
    try:
        result = getattr(of, endpoint.name)(*arguments(endpoint), **options(endpoint))
        if isinstance(result, AsyncIterator):
            return type(b"".join([piece async for piece in result]))
        return type(await result)
    except RefusedError as error:
        return error


def test_each_method_of_both_clients_is_understood_by_the_server(
    served: tuple[Embedded, dict[str, Handler]],
) -> None:
    """Each is answered, or refused with a code that its endpoint declares."""
    answered = 0
    with Client(served[0].control) as client:
        for endpoint in sorted(DECLARED, key=lambda each: each.name == "reset"):

            async def ask(endpoint: Declared = endpoint) -> Any:
                async with AsyncClient(served[0].control) as asking:
                    return await awaited(asking, endpoint)

            for outcome in (called(client, endpoint), asyncio.run(ask())):
                refused = isinstance(outcome, RefusedError)
                if refused:
                    assert (outcome.code, outcome.status) in {*endpoint.errors.items()}, NAMES[endpoint]
                    assert not str(outcome).startswith("there is nothing at"), NAMES[endpoint]
                answered += not refused
    assert answered > len(DECLARED)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/messages/x", "no_such_message"),
        ("/messages/-1", "no_such_message"),
        (f"/messages/{10**30}", "no_such_message"),
        ("/audit/nowhere/messages", "no_audit"),
        ("/scenarios/runs/x", "no_such_run"),
        pytest.param("/processing/messages/1.5", "no_such_message", marks=needs("processing")),
    ],
)
def test_what_cannot_be_in_a_path_is_not_there(
    served: tuple[Embedded, dict[str, Handler]], path: str, code: str
) -> None:
    answer = httpx.get(served[0].control + path, trust_env=False)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, code)
