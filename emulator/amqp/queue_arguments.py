"""The arguments of a queue: what they mean, which are refused, and when two declarations are equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from emulator.amqp.refusals import RefusedError
from emulator.amqp.routing import describe_value, same_value
from emulator.amqp.wire.field_tables import INTEGERS, TEXT, TYPE_NAMES, Field, Table

CLASSIC: Final = "classic"
QUORUM: Final = "quorum"
_STREAM: Final = "stream"
DEFAULT_DELIVERY_LIMIT: Final = 20
# Erlang's timers go no further.
_MOST_MILLISECONDS: Final = 4_294_967_295
_LOCATORS: Final = ("client-local", "balanced", "random", "least-leaders")
_OVERFLOWS: Final = ("drop-head", "reject-publish", "reject-publish-dlx")

Check = Callable[[Field, Table], "str | None"]


class QueueArguments(NamedTuple):
    """The meaning of a queue's arguments. Times are milliseconds."""

    type: str
    message_ttl: int | None
    expires: int | None
    max_length: int | None
    max_bytes: int | None
    overflow: str
    dead_letter_exchange: str | None
    dead_letter_key: str | None
    max_priority: int
    single_active: bool
    delivery_limit: int | None


def read_arguments(table: Table) -> QueueArguments:
    """Read arguments that were checked."""
    type_ = _text(table, "x-queue-type") or CLASSIC
    limit = _number(table, "x-delivery-limit")
    if type_ == QUORUM:
        limit = DEFAULT_DELIVERY_LIMIT if limit is None else limit
    return QueueArguments(
        type=type_,
        message_ttl=_number(table, "x-message-ttl"),
        expires=_number(table, "x-expires"),
        max_length=_number(table, "x-max-length"),
        max_bytes=_number(table, "x-max-length-bytes"),
        overflow=_text(table, "x-overflow") or "drop-head",
        dead_letter_exchange=_text(table, "x-dead-letter-exchange"),
        dead_letter_key=_text(table, "x-dead-letter-routing-key"),
        max_priority=_number(table, "x-max-priority") or 0,
        single_active=bool(table["x-single-active-consumer"].value)
        if "x-single-active-consumer" in table
        else False,
        # RabbitMQ 4 takes a number below 0 for no limit.
        delivery_limit=None if limit is not None and limit < 0 else limit,
    )


def check_arguments(table: Table, queue: str, vhost: str) -> None:
    """Check the arguments of a declaration. Raises RefusedError with RabbitMQ's reason."""
    where = f"for queue '{queue}' in vhost '{vhost}'"
    if (why := _check_type(table)) is not None:
        raise RefusedError(406, f"invalid arg 'x-queue-type' {where}: {why}")
    type_ = _text(table, "x-queue-type") or CLASSIC
    for name in table:
        if name in _TYPES_OF and type_ not in _TYPES_OF[name]:
            raise RefusedError(406, f"invalid arg '{name}' {where} of queue type rabbit_{type_}_queue")
    exchange = table.get("x-dead-letter-exchange")
    if exchange is not None and exchange.tag != "S":
        kind = TYPE_NAMES[exchange.tag]
        place = f"in queue '{queue}' in vhost '{vhost}'"
        raise RefusedError(406, f"invalid type '{kind}' for arg 'x-dead-letter-exchange' {place}")
    for name, check in _CHECKS.items():
        if name in table and (why := check(table[name], table)) is not None:
            raise RefusedError(406, f"invalid arg '{name}' {where}: {why}")


def check_equivalent(declared: Table, existing: Table, queue: str, vhost: str) -> None:
    """Check that a queue is declared again with the same arguments. Raises RefusedError."""
    declared, existing = with_type(declared), with_type(existing)
    for name in _COMPARED:
        compare_argument(declared, existing, name, f"queue '{queue}' in vhost '{vhost}'")


def compare_argument(declared: Table, existing: Table, name: str, where: str) -> None:
    """Check that an argument is equal in two declarations. Raises RefusedError."""
    given, current = declared.get(name), existing.get(name)
    if given is None and current is None:
        return
    if given is not None and current is not None:
        if same_value(given, current):
            return
        received = f"'{describe_value(given)}'"
        present = f"'{describe_value(current)}'"
    else:
        received = _describe_presence(given)
        present = _describe_presence(current)
    raise RefusedError(
        406, f"inequivalent arg '{name}' for {where}: received {received} but current is {present}"
    )


def with_type(table: Table) -> Table:
    """The arguments with the type that a queue has without one."""
    return table if "x-queue-type" in table else {**table, "x-queue-type": Field("S", CLASSIC.encode())}


def _describe_presence(field: Field | None) -> str:
    if field is None:
        return "none"
    return f"the value '{describe_value(field)}' of type '{TYPE_NAMES[field.tag]}'"


def _text(table: Table, name: str) -> str | None:
    return table[name].value.decode(*TEXT) if name in table else None


def _number(table: Table, name: str) -> int | None:
    return int(table[name].value) if name in table else None


def _check_type(table: Table) -> str | None:
    field = table.get("x-queue-type")
    if field is None:
        return None
    if field.tag != "S":
        return f"{{unacceptable_type,{TYPE_NAMES[field.tag]}}}"
    name = field.value.decode(*TEXT)
    return None if name in (CLASSIC, QUORUM) else f"\"unsupported queue type '{name}'\""


def _integer(field: Field, least: int = 0, most: int | None = None, *, beyond: str = "") -> str | None:
    if field.tag not in INTEGERS:
        return f'"expected integer, got {TYPE_NAMES[field.tag]}"'
    if field.value < 0:
        return f"{{value_negative,{field.value}}}"
    if field.value < least:
        return f"{{value_zero,{field.value}}}"
    if most is not None and field.value > most:
        return f"{{{beyond or 'value_too_large'},{field.value}}}"
    return None


def _milliseconds(field: Field, _: Table) -> str | None:
    return _integer(field, 0, _MOST_MILLISECONDS)


def _lifetime(field: Field, _: Table) -> str | None:
    return _integer(field, 1, _MOST_MILLISECONDS)


def _count(field: Field, _: Table) -> str | None:
    return _integer(field)


def _priority(field: Field, _: Table) -> str | None:
    return _integer(field, 0, 255, beyond="max_value_exceeded")


def _group_size(field: Field, _: Table) -> str | None:
    return _integer(field, 1)


def _delivery_limit(field: Field, _: Table) -> str | None:
    return None if field.tag in INTEGERS else f'"expected integer, got {TYPE_NAMES[field.tag]}"'


def _unacceptable(field: Field) -> str:
    return f"{{unacceptable_type,{TYPE_NAMES[field.tag]}}}"


def _overflow(field: Field, _: Table) -> str | None:
    if field.tag != "S":
        return _unacceptable(field)
    return None if field.value.decode(*TEXT) in _OVERFLOWS else "invalid_overflow"


def _one_of(names: tuple[str, ...], why: str) -> Check:
    def check(field: Field, _: Table) -> str | None:
        if field.tag != "S":
            return _unacceptable(field)
        name = field.value.decode(*TEXT)
        return None if name in names else why.format(name)

    return check


def _version(field: Field, _: Table) -> str | None:
    if field.tag not in INTEGERS:
        return f'"expected integer, got {TYPE_NAMES[field.tag]}"'
    return None if field.value in (1, 2) else f"\"unsupported queue version '{field.value}'\""


def _dead_letter_key(field: Field, table: Table) -> str | None:
    if field.tag != "S":
        return _unacceptable(field)
    return None if "x-dead-letter-exchange" in table else "routing_key_but_no_dlx_defined"


def _flag(field: Field, _: Table) -> str | None:
    return None if field.tag == "t" else _unacceptable(field)


_CHECKS: Final[dict[str, Check]] = {
    "x-expires": _lifetime,
    "x-message-ttl": _milliseconds,
    "x-dead-letter-routing-key": _dead_letter_key,
    "x-dead-letter-strategy": _one_of(("at-most-once", "at-least-once"), "invalid_dlx_strategy"),
    "x-max-length": _count,
    "x-max-length-bytes": _count,
    "x-max-priority": _priority,
    "x-overflow": _overflow,
    "x-queue-mode": _one_of(("default", "lazy"), "\"unsupported queue mode '{}'\""),
    "x-queue-version": _version,
    "x-single-active-consumer": _flag,
    "x-quorum-initial-group-size": _group_size,
    "x-delivery-limit": _delivery_limit,
    "x-queue-leader-locator": _one_of(_LOCATORS, "invalid_queue_locator_arg"),
}
"""The checks in RabbitMQ's order, each with the reason for which it refuses a value, or None."""
_COMPARED: Final = (
    *("x-expires", "x-message-ttl", "x-dead-letter-exchange", "x-dead-letter-routing-key"),
    *("x-dead-letter-strategy", "x-max-length", "x-max-length-bytes", "x-max-priority", "x-overflow"),
    *("x-queue-mode", "x-single-active-consumer", "x-queue-type", "x-quorum-initial-group-size"),
    "x-delivery-limit",
)
_TYPES_OF: Final = {
    "x-message-ttl": (CLASSIC, QUORUM),
    "x-expires": (CLASSIC, QUORUM),
    "x-dead-letter-exchange": (CLASSIC, QUORUM),
    "x-dead-letter-routing-key": (CLASSIC, QUORUM),
    "x-max-length": (CLASSIC, QUORUM),
    "x-overflow": (CLASSIC, QUORUM),
    "x-single-active-consumer": (CLASSIC, QUORUM),
    "x-max-priority": (CLASSIC,),
    "x-queue-mode": (CLASSIC,),
    "x-queue-version": (CLASSIC,),
    "x-queue-master-locator": (CLASSIC,),
    "x-delivery-limit": (QUORUM,),
    "x-dead-letter-strategy": (QUORUM,),
    "x-quorum-initial-group-size": (QUORUM, _STREAM),
    "x-max-age": (_STREAM,),
    "x-stream-max-segment-size-bytes": (_STREAM,),
}
"""The arguments that only some types of queues take."""
