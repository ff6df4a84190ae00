"""What a document was understood to say, for people and programs."""

from __future__ import annotations

from typing import Any

from schemas.asyncapi.contract import AsyncApiContract
from schemas.asyncapi.declarations import Channel, Locations

_PLACES = {
    "id": "identity",
    "source": "source of events",
    "order_key": "order key",
    "published": "published",
    "expires": "expiry",
    "sequence": "part of a sequence",
}


def describe(contract: AsyncApiContract) -> dict[str, Any]:
    """The channels, messages, places of fields, limits and codes; None for what is not declared."""
    declared = contract.declared
    return {
        "name": contract.name,
        "release": contract.release,
        "channels": [_describe_channel(channel) for channel in contract.channels],
        "messages": [
            {
                "name": message.name,
                "types": list(message.values),
                "contentType": message.content_type,
                "judgedAs": f"CloudEvent, {message.cloud_event}" if message.cloud_event else message.content,
                "declares": _list_places(declared.locations[message.name]),
                "examples": len(message.examples),
            }
            for message in declared.messages
        ],
        "toldApartBy": str(declared.type)
        if declared.type
        else "schema"
        if len(declared.messages) > 1
        else None,
        "maxBytes": contract.max_bytes,
        "rejects": contract.rejects,
        "codes": [
            {"code": str(code), "reason": code.reason, "channel": code.queue, "description": code.description}
            for code in declared.codes.values()
            if str(code) in contract.codes
        ],
        "notDeclared": _list_missing(contract),
    }


def _describe_channel(channel: Channel) -> dict[str, Any]:
    stream, amqp = channel.stream, channel.amqp
    described: dict[str, Any] = {
        "name": channel.name,
        "address": channel.address,
        "messages": list(channel.messages),
        "reject": channel.reject,
    }
    if stream:
        described["stream"] = f"shards {stream.shards}, {stream.mode}, records to {stream.max_record_kib} KiB"
    if amqp and amqp.exchange:
        described["exchange"] = f"{amqp.exchange.name or 'the default one'} ({amqp.exchange.type})"
    if amqp and amqp.queue:
        described["queue"] = amqp.queue.name or channel.address or channel.name
    return described


def _list_places(locations: Locations) -> dict[str, str | None]:
    return {
        meaning: str(place) if (place := getattr(locations, name)) else None
        for name, meaning in _PLACES.items()
    }


def _list_missing(contract: AsyncApiContract) -> list[str]:
    """What is not offered, and why: a sentence for each."""
    locations = list(contract.declared.locations.values())
    missing = []
    if not contract.identified:
        missing.append(
            "Messages have no identity that a stream can see: nothing looks for duplicates or lost ones, and "
            "a certificate knows them by the SHA-256 of their bytes. "
            "Declare x-sandbox.id, or a correlationId in the payload."
        )
    elif any("correlation" in str(each.id).lower() for each in locations):
        missing.append(
            "The identity is a correlation id, which answers share with questions: x-sandbox.id is stronger."
        )
    if contract.expired is None:
        missing.append("Messages do not expire: declare x-sandbox.expires.")
    if not contract.rejects:
        missing.append("No channel takes refused messages: declare x-sandbox.reject.")
    if not any(each.order_key for each in locations):
        missing.append("Messages have no order key: declare x-sandbox.orderKey.")
    if contract.declared.type is None and len(contract.declared.messages) > 1:
        missing.append(
            "Each message is tried against all schemas: a constant in each, or x-sandbox.type, is faster."
        )
    undrawn = getattr(contract.samples, "undrawn", {}) if contract.samples else {"": "none could be drawn"}
    missing += [f"No samples of {name or 'any message'}: {why}." for name, why in undrawn.items()]
    return missing
