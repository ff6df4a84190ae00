"""What RabbitMQ's management API changes: connections closed, messages published, taken and purged, and more.

Each function answers one method of one path. They take the broker, the request and the object in its body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from emulator.amqp.administration import (
    close_connection,
    perform,
    publish_message,
    take_messages,
)
from emulator.amqp.broker import Broker
from emulator.amqp.exchange import EXCHANGE, QUEUE
from emulator.amqp.management import Document, find_binding, name_binding
from emulator.amqp.refusals import RefusedError
from emulator.amqp.turn import StepsTo
from emulator.amqp.wire import methods
from emulator.listeners.amqp_properties import (
    BadRequestError,
    describe_message,
    properties_of_json,
    read_name,
    read_payload,
    table_of_json,
)

DEFAULT_EXCHANGE: Final = "amq.default"
"""The name of the default exchange in a path."""
Change: TypeAlias = Callable[[Broker, Request, Document], StepsTo[Any]]
"""Answers a request in steps, between which others have their turns."""
NotePublish: TypeAlias = Callable[[str, str, bytes, bytes], None]
"""Records a message that was published to a channel, with its routing key, body and encoded properties."""
_ACK_MODES: Final = {
    "ack_requeue_true": (True, False),
    "reject_requeue_true": (True, True),
    "ack_requeue_false": (False, False),
    "reject_requeue_false": (False, True),
}
_BOOLEANS: Final[dict[Any, bool]] = {True: True, False: False, "true": True, "false": False}


class NoSuchNameError(LookupError):
    """There is no such vhost, queue, exchange, connection, page or listener."""


class NotAllowedError(Exception):
    """The name is the broker's own."""


def path_name(asked: Request, what: str, default: str = "") -> str:
    """A name in the path, as it was before it was quoted."""
    return unquote(asked.path_params.get(what, default))


def exchange_name(asked: Request) -> str:
    name = path_name(asked, "exchange")
    return "" if name == DEFAULT_EXCHANGE else name


def build_changes(note_publish: NotePublish) -> dict[tuple[str, str], Change]:
    """What answers each method of each path."""

    def publish(broker: Broker, asked: Request, given: Document) -> StepsTo[Document]:
        return _publish(broker, asked, given, note_publish)

    return {
        ("DELETE", "/connections/{connection}"): _close_connection,
        ("POST", "/exchanges/{vhost}/{exchange}/publish"): publish,
        ("PUT", "/exchanges/{vhost}/{exchange}"): _declare_exchange,
        ("DELETE", "/exchanges/{vhost}/{exchange}"): _delete_exchange,
        ("POST", "/queues/{vhost}/{queue}/get"): _take,
        ("DELETE", "/queues/{vhost}/{queue}/contents"): _purge,
        ("PUT", "/queues/{vhost}/{queue}"): _declare_queue,
        ("DELETE", "/queues/{vhost}/{queue}"): _delete_queue,
        ("POST", "/bindings/{vhost}/e/{exchange}/q/{queue}"): _bind,
        ("POST", "/bindings/{vhost}/e/{exchange}/e/{destination}"): _bind,
        ("DELETE", "/bindings/{vhost}/e/{exchange}/q/{queue}/{key}"): _unbind,
        ("DELETE", "/bindings/{vhost}/e/{exchange}/e/{destination}/{key}"): _unbind,
    }


def _close_connection(broker: Broker, asked: Request, _given: Document) -> StepsTo[Response]:
    why = asked.headers.get("x-reason", "Closed via management plugin")
    if not close_connection(broker, path_name(asked, "connection"), why):
        raise NoSuchNameError
    yield
    return Response(status_code=204)


def _publish(broker: Broker, asked: Request, given: Document, note: NotePublish) -> StepsTo[Document]:
    _demand(given, "properties", "routing_key", "payload", "payload_encoding")
    exchange, key = exchange_name(asked), read_name(given["routing_key"], "routing_key")
    body = read_payload(given["payload"], given["payload_encoding"])
    properties = properties_of_json(given["properties"])
    try:
        routed = yield from publish_message(broker, exchange, key, properties, body)
    except RefusedError as refused:
        raise BadRequestError(f"{refused.code} {refused.text}") from refused
    note(exchange or key, key, body, properties)
    return {"routed": routed}


def _take(broker: Broker, asked: Request, given: Document) -> StepsTo[list[Document]]:
    _demand(given, "count", "ackmode", "encoding")
    count, encoding, most = _integer(given["count"]), given["encoding"], given.get("truncate")
    if encoding not in ("auto", "base64"):
        raise BadRequestError("Unsupported encoding. Please use auto or base64.")
    if given["ackmode"] not in _ACK_MODES:
        raise BadRequestError(["unsupported_ackmode", str(given["ackmode"])])
    requeue, reject = _ACK_MODES[given["ackmode"]]
    taken = yield from take_messages(broker, path_name(asked, "queue"), count, requeue=requeue, reject=reject)
    return [describe_message(each, encoding, None if most is None else _integer(most)) for each in taken]


def _purge(broker: Broker, asked: Request, _given: Document) -> StepsTo[Response]:
    yield from perform(
        broker, methods.QueuePurge(0, _existing(broker.vhost.queues, path_name(asked, "queue")), False)
    )
    return Response(status_code=204)


def _declare_queue(broker: Broker, asked: Request, given: Document) -> StepsTo[Response]:
    name = _own_name(path_name(asked, "queue"))
    is_new = name not in broker.vhost.queues
    yield from perform(
        broker,
        methods.QueueDeclare(
            0,
            name,
            passive=False,
            durable=_boolean(given, "durable"),
            exclusive=False,
            auto_delete=_boolean(given, "auto_delete"),
            nowait=False,
            arguments=table_of_json(given.get("arguments", {})),
        ),
    )
    return Response(status_code=201 if is_new else 204)


def _delete_queue(broker: Broker, asked: Request, _given: Document) -> StepsTo[Response]:
    name = _existing(broker.vhost.queues, path_name(asked, "queue"))
    unused, empty = (asked.query_params.get(each) == "true" for each in ("if-unused", "if-empty"))
    yield from perform(broker, methods.QueueDelete(0, name, unused, empty, False))
    return Response(status_code=204)


def _declare_exchange(broker: Broker, asked: Request, given: Document) -> StepsTo[Response]:
    name = _own_name(exchange_name(asked))
    is_new = name not in broker.vhost.exchanges
    yield from perform(
        broker,
        methods.ExchangeDeclare(
            0,
            name,
            read_name(given.get("type", "direct"), "type"),
            passive=False,
            durable=_boolean(given, "durable"),
            auto_delete=_boolean(given, "auto_delete"),
            internal=_boolean(given, "internal"),
            nowait=False,
            arguments=table_of_json(given.get("arguments", {})),
        ),
    )
    return Response(status_code=201 if is_new else 204)


def _delete_exchange(broker: Broker, asked: Request, _given: Document) -> StepsTo[Response]:
    name = _own_name(_existing(broker.vhost.exchanges, exchange_name(asked)))
    yield from perform(
        broker, methods.ExchangeDelete(0, name, asked.query_params.get("if-unused") == "true", False)
    )
    return Response(status_code=204)


def _bind(broker: Broker, asked: Request, given: Document) -> StepsTo[Response]:
    source, kind, end = binding_ends(asked)
    key, table = (
        read_name(given.get("routing_key", ""), "routing_key"),
        table_of_json(given.get("arguments", {})),
    )
    if kind == QUEUE:
        yield from perform(broker, methods.QueueBind(0, end, source, key, False, table))
    else:
        yield from perform(broker, methods.ExchangeBind(0, end, source, key, False, table))
    where = f"{quote(end, safe='')}/{name_binding(key, table)}"
    return Response(status_code=201, headers={"location": where})


def _unbind(broker: Broker, asked: Request, _given: Document) -> StepsTo[Response]:
    source, kind, end = binding_ends(asked)
    binding = find_binding(broker, source, kind, end, path_name(asked, "key"))
    if binding is None:
        raise NoSuchNameError
    key, table = binding.routing_key, binding.arguments
    if kind == QUEUE:
        yield from perform(broker, methods.QueueUnbind(0, end, source, key, table))
    else:
        yield from perform(broker, methods.ExchangeUnbind(0, end, source, key, False, table))
    return Response(status_code=204)


def binding_ends(asked: Request) -> tuple[str, str, str]:
    """The source, and the kind and the name of the destination, in the path of a binding."""
    kind, end = (QUEUE, "queue") if "queue" in asked.path_params else (EXCHANGE, "destination")
    return exchange_name(asked), kind, path_name(asked, end)


def _existing(named: dict[str, Any], name: str) -> str:
    if name not in named:
        raise NoSuchNameError
    return name


def _own_name(name: str) -> str:
    """A name that clients may declare and delete. Raises NotAllowedError and BadRequestError."""
    if not name or name.startswith("amq."):
        raise NotAllowedError
    return read_name(name, "name")


def _demand(given: Document, *names: str) -> None:
    missing = [f"{{key_missing,{name}}}" for name in names if name not in given]
    if missing:
        raise BadRequestError(f"[{','.join(missing)}]")


def _integer(given: Any) -> int:
    try:
        return int(given)
    except (ValueError, TypeError):
        raise BadRequestError(["not_integer", str(given)]) from None


def _boolean(given: Document, name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool | str) or value not in _BOOLEANS:
        raise BadRequestError(["not_boolean", str(value)])
    return _BOOLEANS[value]
