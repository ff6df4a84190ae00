"""The channels of a document with their bindings."""

from __future__ import annotations

from typing import Final

from schemas.asyncapi.declarations import Amqp, Exchange, Queue, Stream
from schemas.asyncapi.documents import Documents, Node
from schemas.asyncapi.object_reader import ObjectReader

CHANNEL_FIELDS: Final = (
    "address", "messages", "title", "summary", "description", "servers", "parameters", "tags",
    "externalDocs", "bindings",
)  # fmt: skip
MOST_SHARDS: Final = 10_000
LEAST_RECORD_KIB: Final = 1_024
LARGEST_RECORD_KIB: Final = 10_240
_EXCHANGE_TYPES: Final = ("topic", "direct", "fanout", "default", "headers")


def read_stream(documents: Documents, channel: Node, bindings: Node | None) -> Stream | None:
    """What ``x-kinesis`` says, among the bindings or in the channel itself; None without it."""
    node = (bindings and bindings.get("x-kinesis")) or channel.get("x-kinesis")
    if node is None:
        return None
    reader = ObjectReader(documents, node, ("shards", "mode", "maxRecordKiB"))
    return Stream(
        reader.number("shards", 1, most=MOST_SHARDS),
        reader.choice("mode", ("PROVISIONED", "ON_DEMAND"), "PROVISIONED"),
        reader.number("maxRecordKiB", LEAST_RECORD_KIB, least=LEAST_RECORD_KIB, most=LARGEST_RECORD_KIB),
    )


def read_amqp(documents: Documents, bindings: Node | None) -> Amqp | None:
    """The AMQP binding 0.3.0; None without one."""
    node = documents.follow(bindings.get("amqp")) if bindings else None
    if node is None:
        return None
    reader = ObjectReader(documents, node, ("is", "exchange", "queue", "bindingVersion"))
    version = reader.text("bindingVersion", "latest")
    if version not in ("latest", "0.1.0", "0.2.0", "0.3.0"):
        reader.problem(
            "the versions of the AMQP binding that are known are 0.1.0, 0.2.0 and 0.3.0", "bindingVersion"
        )
    kind = reader.choice("is", ("queue", "routingKey"), "routingKey")
    exchange, queue = reader.within("exchange"), reader.within("queue")
    return Amqp(
        _read_exchange(documents, exchange) if exchange and kind == "routingKey" else None,
        _read_queue(documents, queue) if queue else Queue() if kind == "queue" else None,
    )


def _read_exchange(documents: Documents, node: Node) -> Exchange:
    reader = ObjectReader(documents, node, ("name", "type", "durable", "autoDelete", "vhost"))
    return Exchange(
        _name(reader),
        reader.choice("type", _EXCHANGE_TYPES, "topic"),
        reader.flag("durable", default=True),
        reader.flag("autoDelete", default=False),
        reader.text("vhost", "/"),
    )


def _read_queue(documents: Documents, node: Node) -> Queue:
    reader = ObjectReader(documents, node, ("name", "durable", "exclusive", "autoDelete", "vhost"))
    return Queue(
        _name(reader),
        reader.flag("durable", default=True),
        reader.flag("exclusive", default=False),
        reader.flag("autoDelete", default=False),
        reader.text("vhost", "/"),
    )


def _name(reader: ObjectReader) -> str:
    name = reader.text("name")
    if len(name.encode(errors="replace")) > 255:
        reader.problem("a name in AMQP has 255 bytes at most", "name")
    return name
