"""What the broker says of itself. Clients look at the product and parse the version."""

from __future__ import annotations

from typing import Final

from emulator.amqp.wire.field_tables import Field, Table, text

VERSION: Final = "4.0.5"
"""The version of RabbitMQ whose behaviour this is."""
_CAPABILITIES: Final = (
    *("publisher_confirms", "exchange_exchange_bindings", "basic.nack", "consumer_cancel_notify"),
    *("connection.blocked", "consumer_priorities", "authentication_failure_close", "per_consumer_qos"),
    "direct_reply_to",
)
SERVER_PROPERTIES: Final[Table] = {
    "capabilities": Field("F", {name: Field("t", True) for name in _CAPABILITIES}),
    "cluster_name": text("sandbox@localhost"),
    "copyright": text("See the licence of the RDSS sandbox, whose own broker this is"),
    "information": text("Answers as RabbitMQ does"),
    "platform": text("Python"),
    "product": text("RabbitMQ"),
    "version": text(VERSION),
}
