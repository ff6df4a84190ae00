"""The control API as HTTP: its description, its refusals, its stream of events."""

from __future__ import annotations

import re
import threading

import httpx
import jsonschema
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.listeners.control import control_app
from emulator.listeners.control.endpoint_routing import handles
from emulator.settings.settings import Settings
from rdss_sandbox.api.sandbox_state import SandboxState
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.status import Health


def test_every_answer_is_as_described(emulator: Embedded, http: httpx.Client) -> None:
    """The description is valid, and what each path without variables answers has the shape that it says."""
    emulator.components.fault_engine.add(NewFault("duplicate"))
    description = http.get("/openapi.json").json()

    assert description["openapi"] == "3.1.0"
    assert {"/status", "/streams/{name}/reshard", "/messages/{id}", "/buckets/{bucket}/objects/{key}"} <= set(
        description["paths"]
    )
    checked = 0
    for path, operations in description["paths"].items():
        content = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        if "{" in path or "application/json" not in content or path == "/buckets":
            continue
        schema = content["application/json"]["schema"] | {"components": description["components"]}
        jsonschema.Draft202012Validator(schema).validate(http.get(path).json())
        checked += 1
    assert checked >= 10


def test_every_operation_is_described_once(http: httpx.Client) -> None:
    """Names of operations, which generated clients use, are unique; every variable of a path is described."""
    paths = http.get("/openapi.json").json()["paths"]

    operations = [(path, operation) for path, each in paths.items() for operation in each.values()]
    names = [operation["operationId"] for _, operation in operations]
    assert len(names) == len(set(names))
    for path, operation in operations:
        variables = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert variables == set(re.findall(r"{(\w+)}", path))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nope", 404),
        ("DELETE", "/status", 405),
        ("GET", "/messages?limit=many", 400),
        ("GET", "/messages?limit=1001", 400),
        ("GET", "/messages?after=-1", 400),
        ("GET", "/messages?colour=blue", 400),
        ("GET", "/events?after=x", 400),
        ("GET", "/streams/%00", 404),
        ("GET", "/faults/nope", 404),
        ("POST", "/faults", 400),
        ("POST", "/clock", 400),
    ],
)
def test_every_refusal_has_the_same_form(http: httpx.Client, method: str, path: str, status: int) -> None:
    """A code for programs and a sentence for people, whatever was wrong."""
    answer = http.request(method, path)

    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"code", "message"}


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("GET", "/messages?limit=many", None, "limit is 'many': it is a whole number"),
        ("GET", "/messages?limit=1001", None, "limit is '1001': it is 1000 at most"),
        (
            "GET",
            "/messages?colour=blue",
            None,
            "there is no key 'colour'; there are: offset, after, limit, filter",
        ),
        (
            "GET",
            "/messages/one",
            None,
            "there is nothing at /messages/one: id is 'one': it is a whole number",
        ),
        ("DELETE", "/clock", None, "/clock takes no DELETE; GET /docs lists what it takes"),
        ("POST", "/clock", None, "the body is empty: it is an object"),
        ("POST", "/clock", b"[", "the body is not JSON: "),
        ("POST", "/clock", b"{}", "there is no action; give one"),
        (
            "POST",
            "/clock",
            b'{"action": "stop"}',
            "action is 'stop': it is one of advance, freeze, real, set",
        ),
        (
            "POST",
            "/clock",
            b'{"action": "set", "tme": 1}',
            "no key 'tme' (did you mean time?); there are: action",
        ),
        ("POST", "/populate", b'{"streams": {"x": "one"}}', "a value in streams: "),
    ],
)
def test_a_refusal_names_what_was_wrong_and_what_to_write(
    http: httpx.Client, method: str, path: str, body: bytes | None, said: str
) -> None:
    """In the words of the API, not in those of the library that reads it."""
    told = http.request(method, path, content=body).json()["error"]["message"]

    assert said in told
    assert "`" not in told


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff\xff", b"[" * 10_000, b'"text"', b"{}" + b" " * 2_000_000],
    ids=["cut off", "no text", "nested", "a text", "long"],
)
def test_a_body_that_cannot_be_read_is_refused(http: httpx.Client, body: bytes) -> None:
    """Not JSON, not text, nested without end, too long: a 4xx, and the server goes on."""
    answer = http.post("/faults", content=body)

    assert answer.status_code in {400, 413}
    assert http.get("/health").status_code == 200


async def test_what_nobody_foresaw_is_a_500_that_tells_nothing_and_an_owner_who_knows() -> None:
    """The client gets a sentence, the sandbox the exception."""

    class Broken:
        @handles(SandboxState.health)
        def health(self) -> Health:
            raise ZeroDivisionError("inside")

    seen: list[Exception] = []
    app = control_app([Broken()], "1", seen.append)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        answer = await client.get("/health")

    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal_error"
    assert "inside" not in answer.text
    assert [str(error) for error in seen] == ["inside"]


def server_sent(http: httpx.Client, headers: dict[str, str], count: int) -> list[tuple[int, str]]:
    """The first ``count`` events of a live stream, as (id line, data line)."""
    found: list[tuple[int, str]] = []
    with http.stream("GET", "/events", headers={"accept": "text/event-stream", **headers}) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        number = 0
        for line in answer.iter_lines():
            if line.startswith("id: "):
                number = int(line[4:])
            if line.startswith("data: "):
                found.append((number, line[6:]))
                if len(found) == count:
                    return found
    raise AssertionError(f"the stream ended after {len(found)} events")


def test_live_events_begin_with_those_that_were(emulator: Embedded, http: httpx.Client) -> None:
    """Past and present in one stream, each with its id as the cursor."""
    last = emulator.components.events.last

    found = server_sent(http, {}, last)
    assert [number for number, _ in found] == list(range(1, last + 1))
    assert '"kind":"sandbox.started"' in found[-1][1]


def test_a_reader_goes_on_where_it_stopped(emulator: Embedded, http: httpx.Client) -> None:
    """Last-Event-ID, as a browser sends it, misses nothing and repeats nothing."""
    before = emulator.components.events.last
    for n in range(3):
        emulator.components.events.emit("test", n=n)

    found = server_sent(http, {"last-event-id": str(before + 1)}, 2)
    assert [number for number, _ in found] == [before + 2, before + 3]


def test_a_cursor_from_another_life_begins_at_the_start(http: httpx.Client) -> None:
    """A sandbox that started afresh counts from 1; a reader of the one before is not left waiting."""
    assert server_sent(http, {"last-event-id": "1000000"}, 1)[0][0] == 1


def test_events_can_be_paged(emulator: Embedded, http: httpx.Client) -> None:
    """Oldest first, after an id, so many."""
    last = emulator.components.events.last
    page = http.get("/events", params={"after": 1, "limit": 2}).json()

    assert [event["id"] for event in page["events"]] == [2, 3]
    assert page["last"] == last


def test_a_live_reader_does_not_hold_up_the_end() -> None:
    """Whoever follows events is told that it is over, instead of being cut off after a while."""
    lines: list[str] = []
    connected = threading.Event()

    def follow(url: str) -> None:
        headers = {"accept": "text/event-stream"}
        with httpx.stream("GET", f"{url}/events", headers=headers, trust_env=False) as answer:
            for line in answer.iter_lines():
                lines.append(line)
                connected.set()

    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        reader = threading.Thread(target=follow, args=(emulator.control,))
        reader.start()
        assert connected.wait(60)
    reader.join(60)

    assert not reader.is_alive()
    assert lines[0] == ": connected"
    assert ": closing" in lines
