"""The HTTP API of RabbitMQ's management plugin, as far as clients of our own broker need it."""

from __future__ import annotations

import asyncio
import hmac
import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from html import escape
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, Router

from emulator.amqp.broker import USER, Broker
from emulator.amqp.management import NODE, Document, describe_broker
from emulator.amqp.refusals import RefusedError
from emulator.amqp.server_properties import VERSION
from emulator.amqp.turn import StepsTo, Turn
from emulator.amqp.virtual_host import NAME
from emulator.http.asgi import App, HttpScope, Receive, Send
from emulator.listeners.amqp_changes import (
    Change,
    NoSuchNameError,
    NotAllowedError,
    NotePublish,
    build_changes,
    path_name,
)
from emulator.listeners.amqp_fixed_answers import ANSWERS, NEVER_THERE, describe_definitions
from emulator.listeners.amqp_lists import BadQueryError, Listing, Slices, select, write_json
from emulator.listeners.amqp_properties import BadRequestError
from emulator.listeners.amqp_reads import READS, Read
from emulator.listeners.control.endpoint_routing import route_by_segments
from emulator.pages.frame import CONTROL_PLACES, PageFrame, wide

_PORT: Final = re.compile("[0-9]{1,9}")
_HEALTHY: Final[Document] = {"status": "ok"}
_PAGES: Final = (b"", b"/api")
"""Where the page is that says what there is; it needs no login."""
_NOT_FOUND: Final = 404
_REFUSALS: Final = (NoSuchNameError, NotAllowedError, RefusedError, BadRequestError, BadQueryError, OSError)


def _note_nothing(_channel: str, _routing_key: str, _body: bytes, _properties: bytes) -> None:
    """Record no publish."""


class AmqpManagement:
    """The API over the broker that ``find_broker`` returns, None while it is not loaded.

    ``address`` is that of the AMQP port, without a host name. Clients log in as the user guest; where there
    is a ``token``, the guard in front has seen it. ``note_publish`` records what is published here, and
    ``control`` is the address of the control port, to whose pages the page here leads.
    """

    def __init__(
        self,
        find_broker: Callable[[], Broker | None],
        address: tuple[str, int],
        token: str | None = None,
        note_publish: NotePublish = _note_nothing,
        *,
        control: str = "",
    ) -> None:
        self._note_publish = note_publish
        places = {name: f"{control}{path}" for name, path in CONTROL_PLACES.items()}
        self._frame = PageFrame(here="AMQP", places=places)
        self._find_broker = find_broker
        self._slices = Slices()
        self._host, self._port = address
        self._token = token
        router = Router([*self._routes()], redirect_slashes=False, default=_answer_not_found)
        self._app: App = route_by_segments(router)

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        authorization = dict(scope["headers"]).get(b"authorization")
        sent = (scope.get("raw_path") or quote(scope["path"]).encode()).rstrip(b"/")
        if self._token is None and not _is_guest(authorization) and sent not in _PAGES:
            # As RabbitMQ: nothing is said to one that gives no login at all.
            body = b"" if authorization is None else _refusal("not_authorized", "Not_Authorized")
            challenge = {"www-authenticate": 'Basic realm="RabbitMQ Management"'}
            response = Response(body, HTTPStatus.UNAUTHORIZED, challenge, media_type="application/json")
            await response(scope, receive, send)
            return
        await self._app({**scope, "raw_path": sent + b"/" if sent in _PAGES else sent}, receive, send)

    def _routes(self) -> Iterator[Route]:
        reads: dict[str, Read] = {
            "/overview": lambda broker, _: describe_broker(broker, self._host, self._port),
            "/definitions": lambda broker, _: describe_definitions(broker),
            **READS,
            "/health/checks/protocol-listener/{protocol}": self._check_protocol,
            "/health/checks/port-listener/{port}": self._check_port,
            **{path: _answer_always(answer) for path, answer in ANSWERS.items()},
            **dict.fromkeys(NEVER_THERE, _find_nothing),
        }
        paths: dict[str, dict[str, Change]] = {path: {"GET": _without_body(reads[path])} for path in reads}
        for (method, path), change in build_changes(self._note_publish).items():
            paths.setdefault(path, {})[method] = change
        for path, answers in paths.items():
            yield Route(f"/api{path}", self._endpoint(answers), methods=list(answers))
        page = self._frame.render(_TITLE, _describe_paths(paths))
        for path in ("", "/api"):
            yield Route(
                f"{path}/", lambda _: HTMLResponse(page, headers=self._frame.headers()), methods=["GET"]
            )

    def _endpoint(self, answers: Mapping[str, Change]) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            broker = self._find_broker()
            if broker is None:
                body = _refusal("service_unavailable", "the broker is not loaded yet")
                return _respond(body, HTTPStatus.SERVICE_UNAVAILABLE)
            answer = answers["GET" if request.method == "HEAD" else request.method]
            try:
                _check_path(request)
                given = _read_body(await request.body()) if request.method in ("POST", "PUT") else {}
                found = await _finish(answer(broker, request, given))
                if isinstance(found, Listing):
                    return _respond(await found.write(self._slices))
            except _REFUSALS as error:
                return _refuse(error)
            if isinstance(found, Response):
                return found
            return _respond(write_json(select(found, request.query_params)))

        return respond

    def _check_protocol(self, _broker: Broker, asked: Request) -> Any:
        protocol = path_name(asked, "protocol")
        if protocol in {"amqp", "amqp091"}:
            return {**_HEALTHY, "protocol": protocol}
        return _fail_check({"missing": protocol, "protocols": ["amqp"]})

    def _check_port(self, _broker: Broker, asked: Request) -> Any:
        port = path_name(asked, "port")
        if not _PORT.fullmatch(port):
            return _respond(_refusal("bad_request", "Invalid port"), HTTPStatus.BAD_REQUEST)
        if int(port) == self._port:
            return {**_HEALTHY, "port": self._port}
        return _fail_check({"missing": int(port), "ports": [self._port]})


def _is_guest(authorization: bytes | None) -> bool:
    """Whether a request has the login of RabbitMQ's user ``guest``."""
    scheme, _, login = (authorization or b"").partition(b" ")
    if scheme.lower() != b"basic":
        return False
    try:
        return hmac.compare_digest(b64decode(login.strip()), f"{USER}:{USER}".encode())
    except ValueError:
        return False


def _check_path(asked: Request) -> None:
    """Raise NotThereError for a vhost, node or user that is not the one there is."""
    for what, name in (("vhost", NAME), ("node", NODE), ("user", USER)):
        if path_name(asked, what, name) != name:
            raise NoSuchNameError


def _read_body(body: bytes) -> Document:
    """The object in a body; an empty body is an empty object. Raises BadRequestError."""
    try:
        return msgspec.json.decode(body or b"{}", type=dict)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise BadRequestError("not_json") from error


async def _finish(steps: StepsTo[Any]) -> Any:
    """Do all the steps of an answer, in turns, and return what they lead to."""
    turn = Turn()
    turn.begin()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        if turn.is_over:
            await asyncio.sleep(0)
            turn.begin()


def _without_body(read: Read) -> Change:
    def answer(broker: Broker, asked: Request, _given: Document) -> StepsTo[Any]:
        yield
        return read(broker, asked)

    return answer


def _answer_always(answer: Any) -> Read:
    return lambda _broker, _asked: answer


def _find_nothing(_broker: Broker, _asked: Request) -> None:
    raise NoSuchNameError


def _refuse(error: Exception) -> Response:
    """The answer to what cannot be done, in RabbitMQ's words."""
    match error:
        case NoSuchNameError():
            status, what, why = HTTPStatus.NOT_FOUND, "Object Not Found", "Not Found"
        case NotAllowedError():
            status, what, why = HTTPStatus.UNAUTHORIZED, "not_authorised", "Access refused."
        case RefusedError() if error.code == _NOT_FOUND:
            status, what, why = HTTPStatus.NOT_FOUND, "not_found", error.text.partition(" - ")[2]
        case RefusedError():
            status, what, why = HTTPStatus.BAD_REQUEST, "bad_request", error.text.partition(" - ")[2]
        case BadRequestError():
            return _respond(_refusal("bad_request", error.reason), HTTPStatus.BAD_REQUEST)
        case BadQueryError():
            status, what, why = HTTPStatus.BAD_REQUEST, error.error, str(error)
        case _:
            status, what, why = HTTPStatus.INSUFFICIENT_STORAGE, "not_stored", str(error)
    return _respond(_refusal(what, why), status)


def _refusal(error: str, reason: str | list[str]) -> bytes:
    return msgspec.json.encode({"error": error, "reason": reason})


def _respond(body: bytes, status: int = HTTPStatus.OK) -> Response:
    return Response(body, status, {"cache-control": "no-cache"}, media_type="application/json")


def _fail_check(what: Document) -> Response:
    body = msgspec.json.encode({"status": "failed", "reason": "No active listener", **what})
    return _respond(body, HTTPStatus.SERVICE_UNAVAILABLE)


async def _answer_not_found(scope: HttpScope, receive: Receive, send: Send) -> None:
    response = _respond(_refusal("Object Not Found", "Not Found"), HTTPStatus.NOT_FOUND)
    await response(scope, receive, send)


_TITLE: Final = "Management API of the sandbox's AMQP broker"
_BODY: Final = """\
<h1>{title}</h1>
<p>This is RabbitMQ's HTTP API, version {version}, over the broker of the sandbox. There are no pages to click
through; <code>rabbitmqadmin</code>, client libraries and <code>curl</code> use it. The login is
<code>guest</code> with <code>guest</code>, or any user with the sandbox's token. The only virtual host is
<code>/</code>, which is <code>%2F</code> in a path.</p>
<p>A method that is not in the list answers 405, and a path that is not in it 404.</p>
{table}"""


def _describe_paths(paths: Mapping[str, Mapping[str, Change]]) -> str:
    """What the page says of these paths of the API, each with its methods."""
    rows = "\n".join(
        f"<tr><td>{escape(' '.join(paths[path]))}</td><td><code>/api{escape(path)}</code></td></tr>"
        for path in sorted(paths)
    )
    head = "<thead><tr><th scope=col>methods<th scope=col>path</thead>"
    table = wide(f"<table>{head}<tbody>{rows}</tbody></table>", "the paths")
    return _BODY.format(title=escape(_TITLE), version=VERSION, table=table)
