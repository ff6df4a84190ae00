"""What RabbitMQ's management API tells of our own broker: one function for each path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, TypeVar

from starlette.requests import Request

from emulator.amqp.broker import Broker
from emulator.amqp.exchange import EXCHANGE, QUEUE
from emulator.amqp.management import (
    Document,
    describe_binding,
    describe_exchange,
    describe_queue,
    describe_queue_with_consumers,
    find_binding,
    list_bindings,
)
from emulator.amqp.open_connections import (
    OpenConnection,
    describe_channel,
    describe_channel_with_consumers,
    describe_connection,
    list_channels,
    list_connections,
    list_consumers,
)
from emulator.listeners.amqp_changes import NoSuchNameError, binding_ends, exchange_name, path_name
from emulator.listeners.amqp_lists import Listing

Read: TypeAlias = Callable[[Broker, Request], Any]
_Each = TypeVar("_Each")


def _find(named: dict[str, Any], asked: Request, what: str) -> Any:
    found = named.get(exchange_name(asked) if what == "exchange" else path_name(asked, what))
    if found is None:
        raise NoSuchNameError
    return found


def _page(found: Iterable[Document], asked: Request) -> Listing:
    """A list that has pages, if one is asked for."""
    return Listing(found, asked.query_params, has_pages=True)


def _all(found: Iterable[Document], asked: Request) -> Listing:
    return Listing(found, asked.query_params, has_pages=False)


def _list_queues(broker: Broker, asked: Request) -> Listing:
    return _page(map(describe_queue, tuple(broker.vhost.queues.values())), asked)


def _list_exchanges(broker: Broker, asked: Request) -> Listing:
    return _page(map(describe_exchange, tuple(broker.vhost.exchanges.values())), asked)


def _list_connections(broker: Broker, asked: Request) -> Listing:
    return _page(map(describe_connection, list_connections(broker)), asked)


def _find_connection(broker: Broker, asked: Request) -> OpenConnection:
    name = path_name(asked, "connection")
    return _first(each for each in list_connections(broker) if each.name == name)


def _list_channels(broker: Broker, asked: Request) -> Listing:
    return _page(map(describe_channel, list_channels(list_connections(broker))), asked)


def _list_channels_of(broker: Broker, asked: Request) -> Listing:
    return _all(map(describe_channel, list_channels([_find_connection(broker, asked)])), asked)


def _find_channel(broker: Broker, asked: Request) -> Document:
    name = path_name(asked, "channel")
    found = list_channels(list_connections(broker))
    return describe_channel_with_consumers(_first(each for each in found if each.name == name))


def _list_consumers(broker: Broker, asked: Request) -> Listing:
    return _all(list_consumers(broker), asked)


def _list_all_bindings(broker: Broker, asked: Request) -> Listing:
    return _all(list_bindings(broker), asked)


def _list_bindings_to_queue(broker: Broker, asked: Request) -> Listing:
    name = _find(broker.vhost.queues, asked, "queue").name
    return _choose_bindings(broker, asked, destination=name, destination_type=QUEUE)


def _list_bindings_to_exchange(broker: Broker, asked: Request) -> Listing:
    name = _find(broker.vhost.exchanges, asked, "exchange").name
    return _choose_bindings(broker, asked, destination=name, destination_type=EXCHANGE)


def _list_bindings_from(broker: Broker, asked: Request) -> Listing:
    return _choose_bindings(broker, asked, source=_find(broker.vhost.exchanges, asked, "exchange").name)


def _list_bindings_between(broker: Broker, asked: Request) -> Listing:
    """None between what is not there: RabbitMQ does not look."""
    source, kind, end = binding_ends(asked)
    return _choose_bindings(broker, asked, source=source, destination=end, destination_type=kind)


def _find_named_binding(broker: Broker, asked: Request) -> Document:
    source, kind, end = binding_ends(asked)
    binding = find_binding(broker, source, kind, end, path_name(asked, "key"))
    if binding is None:
        raise NoSuchNameError
    return describe_binding(source, binding)


def _choose_bindings(broker: Broker, asked: Request, **wanted: str) -> Listing:
    found = (
        each for each in list_bindings(broker) if all(each[name] == value for name, value in wanted.items())
    )
    return _all(found, asked)


def _first(found: Iterable[_Each]) -> _Each:
    for each in found:
        return each
    raise NoSuchNameError


READS: Final[dict[str, Read]] = {
    "/connections": _list_connections,
    "/connections/{connection}": lambda broker, asked: describe_connection(_find_connection(broker, asked)),
    "/connections/{connection}/channels": _list_channels_of,
    "/vhosts/{vhost}/connections": _list_connections,
    "/channels": _list_channels,
    "/channels/{channel}": _find_channel,
    "/vhosts/{vhost}/channels": _list_channels,
    "/consumers": _list_consumers,
    "/consumers/{vhost}": _list_consumers,
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
    "/bindings/{vhost}/e/{exchange}/q/{queue}/{key}": _find_named_binding,
    "/bindings/{vhost}/e/{exchange}/e/{destination}": _list_bindings_between,
    "/bindings/{vhost}/e/{exchange}/e/{destination}/{key}": _find_named_binding,
}
"""What answers ``GET`` at each path."""
