"""The topology of a contract that declares its channels: streams, exchanges and queues with their bindings.

What is refused goes to the streams of the contract's codes, and is kept in a bucket each; every stream is
audited.
"""

from __future__ import annotations

import msgspec

from emulator.settings.topologies import name_bucket
from rdss_sandbox.shapes.topology import (
    AmqpBinding,
    AmqpExchange,
    AmqpQueue,
    AuditTap,
    StreamForm,
    Topology,
)
from schemas.asyncapi.contract import AsyncApiContract
from schemas.asyncapi.declarations import Channel
from schemas.contract import list_queues


def build_topology(contract: AsyncApiContract) -> Topology:
    """A channel without a binding is a stream of one shard."""
    streams: dict[str, int | StreamForm] = {
        channel.label: _form(channel) for channel in contract.channels if channel.stream or not channel.amqp
    }
    rejects = list_queues(contract)
    taps = tuple(dict.fromkeys((*streams, *rejects)))
    archives = {name: name_bucket(name) for name in rejects}
    audit = AuditTap(taps=taps)
    return Topology(
        streams=streams | dict.fromkeys({*rejects, audit.stream} - streams.keys(), 1),
        buckets=(audit.bucket, *dict.fromkeys(archives.values())),
        audit=audit,
        archives=archives,
        exchanges=dict(each for channel in contract.channels for each in _exchanges(channel)),
        queues=dict(each for channel in contract.channels for each in _queues(channel)),
    )


def _form(channel: Channel) -> int | StreamForm:
    return msgspec.convert(channel.stream, StreamForm, from_attributes=True) if channel.stream else 1


def _exchanges(channel: Channel) -> list[tuple[str, AmqpExchange]]:
    """The exchange, if it is not the default one, which is there without a declaration."""
    found = channel.amqp and channel.amqp.exchange
    if not found or not found.name or found.type == "default":
        return []
    return [(found.name, msgspec.convert(found, AmqpExchange, from_attributes=True))]


def _queues(channel: Channel) -> list[tuple[str, AmqpQueue]]:
    """The queue, bound to the channel's exchange by its address, which is the routing key."""
    if not channel.amqp or not (found := channel.amqp.queue):
        return []
    bindings = tuple(AmqpBinding(name, channel.address or "") for name, _ in _exchanges(channel))
    return [(found.name or channel.label, AmqpQueue(found.durable, found.auto_delete, bindings))]
