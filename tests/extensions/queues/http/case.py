"""Cases of the messaging API: requests that lead somewhere, one request, and what it is to be answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

CLIENT = "3381af92-2b9e-11e3-b191-71861300734c"
OTHER = "b5a4b2f0-0c9e-4a3c-8c4e-0d3b5f3f6f11"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Ask:
    """A request under the version's path. In ``path`` and ``body`` ``{m0}`` is the id of the first message
    that was posted, ``{c0}`` that of the first claim, ``{s0}`` that of the first subscription.

    ``headers`` come on top of Client-ID and X-Project-ID; None takes one away.
    """

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Wait:
    """Seconds of the clock that pass."""

    seconds: float


@dataclass(frozen=True)
class Case:
    """``given`` is done first; then ``ask`` is answered with ``status``, ``body``, and ``headers`` at least.

    ``body`` is the whole document, with ids as in ``Ask`` and with ``Like`` for what is not known beforehand;
    b"" is no body at all. ``real`` says how a real Zaqar differs, where it does.
    """

    name: str
    ask: Ask
    status: int
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    given: tuple[Ask | Wait, ...] = ()
    real: str = ""


@dataclass(frozen=True)
class Like:
    """What a value must be like."""

    what: str
    holds: Callable[[Any], bool]

    def __repr__(self) -> str:
        return self.what


ANYTHING = Like("<anything>", lambda _: True)
UUID = Like("<a UUID>", lambda value: isinstance(value, str) and bool(_UUID.fullmatch(value)))
LINK = Like("<a link to the next page>", lambda value: [link["rel"] for link in value] == ["next"])


def error(title: str, description: Any = ANYTHING) -> dict[str, Any]:
    """The body of an error."""
    return {"title": title, "description": description}


BAD_REQUEST = error("Invalid API request")
BAD_BODY = error("Invalid request body")
NOT_FOUND = error("Not found")
NO_PATH = {"title": "404 Not Found"}
WRONG_METHOD = {"title": "405 Method Not Allowed"}


class Reply(Protocol):
    """An answer as it came."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Server(Protocol):
    """Whoever is asked."""

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply: ...
    def wait(self, seconds: float) -> None: ...


class Conversation:
    """Requests to one server in a project of their own, with the ids that its answers gave."""

    def __init__(self, server: Server, version: str, project: str) -> None:
        self._server = server
        self._version = version
        self._project = project
        self._ids: dict[str, str] = {}

    def check(self, case: Case) -> None:
        """Play the case. AssertionError says what was expected and what came."""
        for step in case.given:
            if isinstance(step, Wait):
                self._server.wait(step.seconds)
            else:
                reply = self._send(step)
                assert reply.status < 400, f"given {step}: {reply.status} {reply.body!r}"
        reply = self._send(case.ask)
        assert reply.status == case.status, f"{reply.status} {reply.body!r}"
        body = _document(reply.body)
        expected = self._filled(case.body)
        assert _same(expected, body), f"expected {expected}\n  but came {body}"
        for name, value in case.headers.items():
            assert reply.headers.get(name) == self._text(value), f"{name}: {reply.headers}"

    def _send(self, ask: Ask) -> Reply:
        headers = {"Client-ID": CLIENT, "X-Project-ID": self._project, **ask.headers}
        body = ask.body
        if body is not None and not isinstance(body, str | bytes):
            body = msgspec.json.encode(self._filled(body))
        reply = self._server.send(
            ask.method,
            f"/{self._version}{self._text(ask.path)}",
            {name: value for name, value in headers.items() if value is not None},
            body.encode() if isinstance(body, str) else body or b"",
        )
        self._note(reply)
        return reply

    def _note(self, reply: Reply) -> None:
        where = reply.headers.get("location", "")
        if "?ids=" in where:
            self._number("m", where.partition("?ids=")[2].split(","))
        elif match := re.search(r"/claims/(.+)$", where):
            self._number("c", [match[1]])
        elif where.endswith("/subscriptions") and reply.status == 201:
            self._number("s", [msgspec.json.decode(reply.body)["subscription_id"]])

    def _number(self, letter: str, ids: list[str]) -> None:
        for id_ in ids:
            known = sum(1 for name in self._ids if name[0] == letter)
            self._ids[f"{letter}{known}"] = id_

    def _text(self, text: str) -> str:
        for name, id_ in self._ids.items():
            text = text.replace("{" + name + "}", id_)
        return text.replace("{v}", f"/{self._version}").replace("{project}", self._project)

    def _filled(self, value: Any) -> Any:
        match value:
            case str():
                return self._text(value)
            case dict():
                return {key: self._filled(each) for key, each in value.items()}
            case list():
                return [self._filled(each) for each in value]
            case _:
                return value


def _document(body: bytes) -> Any:
    """The JSON of a body; the body itself where it is none."""
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body


def _same(expected: Any, came: Any) -> bool:
    match expected:
        case Like():
            return expected.holds(came)
        case dict():
            keys = isinstance(came, dict) and came.keys() == expected.keys()
            return keys and all(_same(value, came[key]) for key, value in expected.items())
        case list():
            length = isinstance(came, list) and len(came) == len(expected)
            return length and all(map(_same, expected, came))
        case _:
            return type(expected) is type(came) and expected == came
