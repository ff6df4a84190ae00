"""Dead letters: a message that leaves a queue unwanted, with the history of its deaths in its headers."""

from __future__ import annotations

from emulator.amqp.message import Death, Message
from emulator.amqp.wire.field_tables import Field, Table, text
from emulator.amqp.wire.properties import Properties


def is_cycle(message: Message, target: str) -> bool:
    """Whether a dead letter was in the queue ``target`` before, and no consumer rejected it since."""
    for death in message.deaths:
        if death.reason == "rejected":
            return False
        if death.queue == target:
            return True
    return False


def bury(message: Message, queue: str, reason: str, *, exchange: str, key: str | None, now: float) -> Message:
    """The message as it goes to the dead letter ``exchange``, with ``key`` or its own routing keys."""
    properties = Properties(message.properties)
    deaths = _add_death(message, queue, reason, properties.text("expiration"), int(now))
    latest = deaths[0]
    first = message.first_death or (latest.exchange, queue, reason)
    # Else it would expire again where it goes.
    properties.remove("expiration")
    headers = properties.headers()
    headers["x-death"] = Field("A", [Field("F", _describe(death)) for death in deaths])
    for name, value in zip(("exchange", "queue", "reason"), first, strict=True):
        headers[f"x-first-death-{name}"] = text(value)
    for name, value in zip(("exchange", "queue", "reason"), (message.exchange, queue, reason), strict=True):
        headers[f"x-last-death-{name}"] = text(value)
    properties.set_headers(headers)
    return Message(
        exchange=exchange,
        routing_keys=message.routing_keys if key is None else (key,),
        properties=properties.encode(),
        body=message.body,
        priority=message.priority,
        ttl=None,
        persistent=message.persistent,
        deaths=deaths,
        first_death=first,
    )


def _add_death(
    message: Message, queue: str, reason: str, expiration: str | None, now: int
) -> tuple[Death, ...]:
    """The deaths with this one in front. A queue and reason that were there before count on."""
    before = next((each for each in message.deaths if (each.queue, each.reason) == (queue, reason)), None)
    others = tuple(each for each in message.deaths if each is not before)
    latest = Death(
        queue=queue,
        reason=reason,
        count=before.count + 1 if before else 1,
        time=before.time if before else now,
        exchange=message.exchange,
        routing_keys=message.routing_keys,
        expiration=expiration,
    )
    return (latest, *others)


def _describe(death: Death) -> Table:
    table: Table = {}
    if death.expiration is not None:
        table["original-expiration"] = text(death.expiration)
    return table | {
        "count": Field("l", death.count),
        "reason": text(death.reason),
        "queue": text(death.queue),
        "time": Field("T", death.time),
        "exchange": text(death.exchange),
        "routing-keys": Field("A", [text(key) for key in death.routing_keys]),
    }
