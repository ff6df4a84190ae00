"""The HTTP API of RabbitMQ's management plugin, as far as clients need it to look at our own broker."""

from __future__ import annotations

import hmac
import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router

from emulator.amqp.broker import USER, Broker
from emulator.amqp.exchange import EXCHANGE, QUEUE
from emulator.amqp.management import (
    NODE,
    Document,
    describe_broker,
    describe_exchange,
    describe_queue,
    describe_queue_with_consumers,
    list_bindings,
)
from emulator.amqp.virtual_host import NAME
from emulator.http.asgi import App, HttpScope, Receive, Send
from emulator.listeners.amqp_lists import BadQueryError, paginate, select, sort
from emulator.listeners.control.routing import route_by_segments

_DEFAULT: Final = "amq.default"
"""The name of the default exchange in a path."""
_PORT: Final = re.compile("[0-9]{1,9}")
_HEALTHY: Final[Document] = {"status": "ok"}
_CHECKS: Final = ("alarms", "local-alarms", "virtual-hosts", "node-is-quorum-critical")
Answer: TypeAlias = Callable[[Broker, Request], Any]


class _NotThereError(LookupError):
    """There is no such vhost, queue, exchange, page or listener."""


class AmqpManagement:
    """The API over the broker that ``find_broker`` returns, None while it is not loaded.

    ``address`` is that of the AMQP port, without a host name. Clients log in as the user guest; where there
    is a ``token``, the guard in front has seen it.
    """

    def __init__(
        self, find_broker: Callable[[], Broker | None], address: tuple[str, int], token: str | None = None
    ) -> None:
        self._find_broker = find_broker
        self._host, self._port = address
        self._token = token
        router = Router([*self._routes()], redirect_slashes=False, default=_answer_not_found)
        self._app: App = route_by_segments(router)

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        authorization = dict(scope["headers"]).get(b"authorization")
        if self._token is None and not _is_guest(authorization):
            # As RabbitMQ: nothing is said to one that gives no login at all.
            body = b"" if authorization is None else _refusal("not_authorized", "Not_Authorized")
            challenge = {"www-authenticate": 'Basic realm="RabbitMQ Management"'}
            response = Response(body, HTTPStatus.UNAUTHORIZED, challenge, media_type="application/json")
            await response(scope, receive, send)
            return
        sent = (scope.get("raw_path") or quote(scope["path"]).encode()).rstrip(b"/")
        await self._app({**scope, "raw_path": sent}, receive, send)

    def _routes(self) -> Iterator[Route]:
        paths: dict[str, Answer] = {
            "/overview": lambda broker, _: describe_broker(broker, self._host, self._port),
            "/whoami": lambda _broker, _: {
                "name": USER,
                "tags": ["administrator"],
                "is_internal_user": True,
            },
            "/vhosts": lambda _broker, _: [_VHOST],
            "/vhosts/{vhost}": lambda _broker, _: _VHOST,
            "/nodes": lambda _broker, _: [{"name": NODE, "type": "disc", "running": True}],
            "/queues": _list_queues,
            "/queues/{vhost}": _list_queues,
            "/queues/{vhost}/{queue}": lambda broker, asked: describe_queue_with_consumers(
                _find(broker.vhost.queues, asked, "queue")
            ),
            "/queues/{vhost}/{queue}/bindings": _list_bindings_to_queue,
            "/exchanges": _list_exchanges,
            "/exchanges/{vhost}": _list_exchanges,
            "/exchanges/{vhost}/{exchange}": lambda broker, asked: describe_exchange(
                _find(broker.vhost.exchanges, asked, "exchange")
            ),
            "/exchanges/{vhost}/{exchange}/bindings/source": _list_bindings_from,
            "/exchanges/{vhost}/{exchange}/bindings/destination": _list_bindings_to_exchange,
            "/bindings": _list_all_bindings,
            "/bindings/{vhost}": _list_all_bindings,
            "/bindings/{vhost}/e/{exchange}/q/{queue}": _list_bindings_between,
            "/bindings/{vhost}/e/{exchange}/e/{destination}": _list_bindings_between,
            "/aliveness-test/{vhost}": lambda _broker, _: _HEALTHY,
            "/healthchecks/node": lambda _broker, _: _HEALTHY,
            "/healthchecks/node/{node}": _check_node,
            "/health/checks/protocol-listener/{protocol}": self._check_protocol,
            "/health/checks/port-listener/{port}": self._check_port,
            **{f"/health/checks/{name}": lambda _broker, _: _HEALTHY for name in _CHECKS},
        }
        for path, answer in paths.items():
            yield Route(f"/api{path}", self._endpoint(answer), methods=["GET"])

    def _endpoint(self, answer: Answer) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            broker = self._find_broker()
            if broker is None:
                body = _refusal("service_unavailable", "the broker is not loaded yet")
                return _respond(body, HTTPStatus.SERVICE_UNAVAILABLE)
            try:
                _check_vhost(request)
                found = answer(broker, request)
            except _NotThereError:
                return _respond(_refusal("Object Not Found", "Not Found"), HTTPStatus.NOT_FOUND)
            except BadQueryError as error:
                return _respond(_refusal(error.error, str(error)), HTTPStatus.BAD_REQUEST)
            if isinstance(found, Response):
                return found
            chosen = select(found, request.query_params)
            # Names may have bytes that are no UTF-8, which only this encoder takes.
            return _respond(json.dumps(chosen, separators=(",", ":")).encode())

        return respond

    def _check_protocol(self, _broker: Broker, asked: Request) -> Any:
        protocol = _name(asked, "protocol")
        if protocol in {"amqp", "amqp091"}:
            return {**_HEALTHY, "protocol": protocol}
        return _fail_check({"missing": protocol, "protocols": ["amqp"]})

    def _check_port(self, _broker: Broker, asked: Request) -> Any:
        port = _name(asked, "port")
        if not _PORT.fullmatch(port):
            return _respond(_refusal("bad_request", "Invalid port"), HTTPStatus.BAD_REQUEST)
        if int(port) == self._port:
            return {**_HEALTHY, "port": self._port}
        return _fail_check({"missing": int(port), "ports": [self._port]})


_VHOST: Final[Document] = {
    "name": NAME,
    "description": "Default virtual host",
    "tags": [],
    "default_queue_type": "classic",
    "tracing": False,
    "cluster_state": {NODE: "running"},
}


def _is_guest(authorization: bytes | None) -> bool:
    """Whether a request has the login of RabbitMQ's user ``guest``."""
    scheme, _, login = (authorization or b"").partition(b" ")
    if scheme.lower() != b"basic":
        return False
    try:
        return hmac.compare_digest(b64decode(login.strip()), f"{USER}:{USER}".encode())
    except ValueError:
        return False


def _name(asked: Request, what: str, default: str = "") -> str:
    return unquote(asked.path_params.get(what, default))


def _check_node(_broker: Broker, asked: Request) -> Document:
    if _name(asked, "node") != NODE:
        raise _NotThereError
    return _HEALTHY


def _check_vhost(asked: Request) -> None:
    if _name(asked, "vhost", NAME) != NAME:
        raise _NotThereError


def _exchange_name(asked: Request) -> str:
    name = _name(asked, "exchange")
    return "" if name == _DEFAULT else name


def _find(named: dict[str, Any], asked: Request, what: str) -> Any:
    found = named.get(_exchange_name(asked) if what == "exchange" else _name(asked, what))
    if found is None:
        raise _NotThereError
    return found


def _list_queues(broker: Broker, asked: Request) -> Any:
    query = asked.query_params
    return paginate(sort([describe_queue(queue) for queue in broker.vhost.queues.values()], query), query)


def _list_exchanges(broker: Broker, asked: Request) -> Any:
    query = asked.query_params
    found = [describe_exchange(exchange) for exchange in broker.vhost.exchanges.values()]
    return paginate(sort(found, query), query)


def _list_all_bindings(broker: Broker, asked: Request) -> list[Document]:
    return sort(tuple(list_bindings(broker)), asked.query_params)


def _list_bindings_to_queue(broker: Broker, asked: Request) -> list[Document]:
    name = _find(broker.vhost.queues, asked, "queue").name
    return _choose_bindings(broker, asked, destination=name, destination_type=QUEUE)


def _list_bindings_to_exchange(broker: Broker, asked: Request) -> list[Document]:
    name = _find(broker.vhost.exchanges, asked, "exchange").name
    return _choose_bindings(broker, asked, destination=name, destination_type=EXCHANGE)


def _list_bindings_from(broker: Broker, asked: Request) -> list[Document]:
    return _choose_bindings(broker, asked, source=_find(broker.vhost.exchanges, asked, "exchange").name)


def _list_bindings_between(broker: Broker, asked: Request) -> list[Document]:
    """None between what is not there: RabbitMQ does not look."""
    kind, end = (QUEUE, "queue") if "queue" in asked.path_params else (EXCHANGE, "destination")
    source = _exchange_name(asked)
    return _choose_bindings(
        broker, asked, source=source, destination=_name(asked, end), destination_type=kind
    )


def _choose_bindings(broker: Broker, asked: Request, **wanted: str) -> list[Document]:
    found = [
        each for each in list_bindings(broker) if all(each[name] == value for name, value in wanted.items())
    ]
    return sort(found, asked.query_params)


def _refusal(error: str, reason: str) -> bytes:
    return msgspec.json.encode({"error": error, "reason": reason})


def _respond(body: bytes, status: int = HTTPStatus.OK) -> Response:
    return Response(body, status, {"cache-control": "no-cache"}, media_type="application/json")


def _fail_check(what: Document) -> Response:
    body = msgspec.json.encode({"status": "failed", "reason": "No active listener", **what})
    return _respond(body, HTTPStatus.SERVICE_UNAVAILABLE)


async def _answer_not_found(scope: HttpScope, receive: Receive, send: Send) -> None:
    response = _respond(_refusal("Object Not Found", "Not Found"), HTTPStatus.NOT_FOUND)
    await response(scope, receive, send)
