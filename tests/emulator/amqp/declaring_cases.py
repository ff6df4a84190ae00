"""Declarations, bindings and deletions: what is asked in turn, and what comes for the last of it."""

from __future__ import annotations

from typing import Any, Final

from emulator.amqp.wire import methods as m
from emulator.amqp.wire.field_tables import Field
from tests.emulator.amqp.calls import (
    bind,
    bind_exchange,
    cancel,
    closed,
    consume,
    declared,
    delete,
    delete_exchange,
    exchange,
    get,
    purge,
    queue,
    unbind,
    unbind_exchange,
)

Case = tuple[list[Any], Any]
_Q: Final = "queue 'q1' in vhost '/'"
_E: Final = "exchange 'e1' in vhost '/'"
_DECLARE: Final = (50, 10)
_LOCKED: Final = (
    "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue 'q1' in vhost '/'. It could be "
    "originally declared on another connection or the exclusive property value does not match that of the "
    "original declaration."
)


def _invalid(name: str, value: Any, reason: str) -> Case:
    return (
        [queue(durable=True, arguments={name: value})],
        closed(406, f"PRECONDITION_FAILED - invalid arg '{name}' for {_Q}: {reason}", _DECLARE),
    )


def _unequal(first: dict[str, Any], then: dict[str, Any], name: str, what: str) -> Case:
    text = f"PRECONDITION_FAILED - inequivalent arg '{name}' for {_Q}: {what}"
    return [queue(**first), queue(**then)], closed(406, text, _DECLARE)


def _default(asked: Any, at: tuple[int, int]) -> Case:
    return (
        [queue(), exchange("e1"), asked],
        closed(403, "ACCESS_REFUSED - operation not permitted on the default exchange", at),
    )


QUEUES: Final[dict[str, Case]] = {
    "a queue": ([queue()], declared()),
    "a queue again": ([queue(), queue()], declared()),
    "a queue that is not there": (
        [queue(passive=True)],
        closed(404, f"NOT_FOUND - no {_Q}", _DECLARE),
    ),
    "passive asks for nothing else": (
        [queue(), queue(passive=True, durable=True, auto_delete=True, arguments={"x-expires": 1})],
        declared(),
    ),
    "no name, passive": (
        [queue("", passive=True)],
        closed(404, "NOT_FOUND - no queue '' in vhost '/'", _DECLARE),
    ),
    "a reserved name": (
        [queue("amq.foo")],
        closed(403, "ACCESS_REFUSED - queue name 'amq.foo' contains reserved prefix 'amq.*'", _DECLARE),
    ),
    "a reserved name, passive": (
        [queue("amq.foo", passive=True)],
        closed(404, "NOT_FOUND - no queue 'amq.foo' in vhost '/'", _DECLARE),
    ),
    "durable differs": _unequal({}, {"durable": True}, "durable", "received 'true' but current is 'false'"),
    "auto-delete differs": _unequal(
        {"auto_delete": True}, {}, "auto_delete", "received 'false' but current is 'true'"
    ),
    "exclusive differs": ([queue(), queue(exclusive=True)], closed(405, _LOCKED, _DECLARE)),
    "no longer exclusive": ([queue(exclusive=True), queue()], closed(405, _LOCKED, _DECLARE)),
    "an argument differs": _unequal(
        {"arguments": {"x-message-ttl": 1000}},
        {"arguments": {"x-message-ttl": 2000}},
        "x-message-ttl",
        "received '2000' but current is '1000'",
    ),
    "an argument is gone": _unequal(
        {"arguments": {"x-message-ttl": 1000}},
        {},
        "x-message-ttl",
        "received none but current is the value '1000' of type 'signedint'",
    ),
    "an argument is new": _unequal(
        {},
        {"arguments": {"x-dead-letter-exchange": "e"}},
        "x-dead-letter-exchange",
        "received the value 'e' of type 'longstr' but current is none",
    ),
    "another width of a number": (
        [queue(arguments={"x-expires": 60_000}), queue(arguments={"x-expires": Field("l", 60_000)})],
        declared(),
    ),
    "an unknown argument differs": (
        [queue(arguments={"x-foo": 1}), queue(arguments={"x-foo": 2})],
        declared(),
    ),
    "classic is what a queue is": ([queue(), queue(arguments={"x-queue-type": "classic"})], declared()),
    "another type": _unequal(
        {"durable": True},
        {"durable": True, "arguments": {"x-queue-type": "quorum"}},
        "x-queue-type",
        "received 'quorum' but current is 'classic'",
    ),
    "no number": _invalid("x-message-ttl", "1", '"expected integer, got longstr"'),
    "a negative number": _invalid("x-message-ttl", -1, "{value_negative,-1}"),
    "a time too long": _invalid("x-message-ttl", Field("l", 1 << 40), "{value_too_large,1099511627776}"),
    "no lifetime": _invalid("x-expires", 0, "{value_zero,0}"),
    "a negative length": _invalid("x-max-length", -1, "{value_negative,-1}"),
    "a length that is no number": _invalid("x-max-length-bytes", 1.5, '"expected integer, got double"'),
    "too many priorities": _invalid("x-max-priority", 256, "{max_value_exceeded,256}"),
    "no such overflow": _invalid("x-overflow", "bogus", "invalid_overflow"),
    "an overflow that is no text": _invalid("x-overflow", 1, "{unacceptable_type,signedint}"),
    "no such type": _invalid("x-queue-type", "bogus", "\"unsupported queue type 'bogus'\""),
    "a type that is no text": _invalid("x-queue-type", 1, "{unacceptable_type,signedint}"),
    "no such mode": _invalid("x-queue-mode", "bogus", "\"unsupported queue mode 'bogus'\""),
    "no such locator": _invalid("x-queue-leader-locator", "bogus", "invalid_queue_locator_arg"),
    "a flag that is a text": _invalid("x-single-active-consumer", "true", "{unacceptable_type,longstr}"),
    "a key and no exchange": _invalid("x-dead-letter-routing-key", "k", "routing_key_but_no_dlx_defined"),
    "a dead letter exchange that is a number": (
        [queue(arguments={"x-dead-letter-exchange": 5})],
        closed(
            406,
            f"PRECONDITION_FAILED - invalid type 'signedint' for arg 'x-dead-letter-exchange' in {_Q}",
            _DECLARE,
        ),
    ),
    "an argument of quorum queues": (
        [queue(arguments={"x-delivery-limit": 5})],
        closed(
            406,
            f"PRECONDITION_FAILED - invalid arg 'x-delivery-limit' for {_Q} "
            "of queue type rabbit_classic_queue",
            _DECLARE,
        ),
    ),
    "an argument of classic queues": (
        [queue(durable=True, arguments={"x-queue-type": "quorum", "x-max-priority": 5})],
        closed(
            406,
            f"PRECONDITION_FAILED - invalid arg 'x-max-priority' for {_Q} of queue type rabbit_quorum_queue",
            _DECLARE,
        ),
    ),
    "a quorum queue that is not durable": (
        [queue(arguments={"x-queue-type": "quorum"})],
        closed(406, f"PRECONDITION_FAILED - invalid property 'non-durable' for {_Q}", _DECLARE),
    ),
    "an exclusive quorum queue": (
        [queue(durable=True, exclusive=True, arguments={"x-queue-type": "quorum"})],
        closed(406, f"PRECONDITION_FAILED - invalid property 'exclusive-owner' for {_Q}", _DECLARE),
    ),
    "no queue to purge": ([purge()], closed(404, f"NOT_FOUND - no {_Q}", (50, 30))),
    "no queue to delete": ([delete(empty=True, unused=True)], m.QueueDeleteOk(0)),
    "a queue in use": (
        [queue(), consume(), delete(unused=True)],
        closed(406, f"PRECONDITION_FAILED - {_Q} in use", (50, 40)),
    ),
    "no queue declared before": (
        [purge("")],
        closed(404, "NOT_FOUND - no previously declared queue", (50, 30)),
    ),
    "no queue to consume": ([consume()], closed(404, f"NOT_FOUND - no {_Q}", (60, 20))),
    "no queue to get from": ([get()], closed(404, f"NOT_FOUND - no {_Q}", (60, 70))),
    "an empty queue": ([queue(), get()], m.BasicGetEmpty("")),
    "the last declared queue": ([queue(), get("")], m.BasicGetEmpty("")),
    "line ends in a name": ([queue("q\r\n1")], declared()),
}

EXCHANGES: Final[dict[str, Case]] = {
    "an exchange": ([exchange("e1", "topic")], m.ExchangeDeclareOk()),
    "no such exchange": (
        [exchange("e1", passive=True)],
        closed(404, f"NOT_FOUND - no {_E}", (40, 10)),
    ),
    "passive asks for no type": (
        [exchange("e1"), exchange("e1", "zzz", passive=True)],
        m.ExchangeDeclareOk(),
    ),
    "the type differs": (
        [exchange("e1"), exchange("e1", "fanout")],
        closed(
            406,
            f"PRECONDITION_FAILED - inequivalent arg 'type' for {_E}: "
            "received 'fanout' but current is 'direct'",
            (40, 10),
        ),
    ),
    "internal differs": (
        [exchange("e1"), exchange("e1", internal=True)],
        closed(
            406,
            f"PRECONDITION_FAILED - inequivalent arg 'internal' for {_E}: "
            "received 'true' but current is 'false'",
            (40, 10),
        ),
    ),
    "an alternate exchange is new": (
        [exchange("e1"), exchange("e1", arguments={"alternate-exchange": "x"})],
        closed(
            406,
            f"PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for {_E}: "
            "received the value 'x' of type 'longstr' but current is none",
            (40, 10),
        ),
    ),
    "an alternate exchange that is a number": (
        [exchange("e1", arguments={"alternate-exchange": 5})],
        closed(
            406,
            f"PRECONDITION_FAILED - invalid type 'signedint' for arg 'alternate-exchange' in {_E}",
            (40, 10),
        ),
    ),
    "a reserved exchange": (
        [exchange("amq.foo")],
        closed(403, "ACCESS_REFUSED - exchange name 'amq.foo' contains reserved prefix 'amq.*'", (40, 10)),
    ),
    "a reserved exchange that is there": ([exchange("amq.direct", durable=True)], m.ExchangeDeclareOk()),
    "a system exchange": (
        [delete_exchange("amq.direct")],
        closed(
            403,
            "ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost '/' not allowed",
            (40, 20),
        ),
    ),
    "no exchange to delete": ([delete_exchange("e1", unused=True)], m.ExchangeDeleteOk()),
    "an exchange in use": (
        [exchange("e1"), queue(), bind("e1"), delete_exchange("e1", unused=True)],
        closed(406, f"PRECONDITION_FAILED - {_E} in use", (40, 20)),
    ),
    "the default exchange, declared": _default(exchange(""), (40, 10)),
    "the default exchange, deleted": _default(delete_exchange(""), (40, 20)),
    "the default exchange, bound": _default(bind(""), (50, 20)),
    "the default exchange, unbound": _default(unbind(""), (50, 50)),
    "the default exchange, bound to another": _default(bind_exchange("", "e1"), (40, 30)),
    "no exchange to bind": (
        [queue(), bind("e1")],
        closed(404, f"NOT_FOUND - no {_E}", (50, 20)),
    ),
    "no queue to bind": ([exchange("e1"), bind("e1")], closed(404, f"NOT_FOUND - no {_Q}", (50, 20))),
    "nothing to bind": ([bind("e1")], closed(404, f"NOT_FOUND - no {_E}", (50, 20))),
    "no binding to remove": ([exchange("e1"), queue(), unbind("e1", "k")], m.QueueUnbindOk()),
    "no destination": (
        [exchange("e1"), bind_exchange("e1", "e2")],
        closed(404, "NOT_FOUND - no exchange 'e2' in vhost '/'", (40, 30)),
    ),
    "neither source nor destination": (
        [bind_exchange("e1", "e2")],
        closed(404, "NOT_FOUND - no exchange 'e2' in vhost '/'", (40, 30)),
    ),
    "an exchange bound to itself": ([exchange("e1"), bind_exchange("e1", "e1")], m.ExchangeBindOk()),
    "no binding of exchanges to remove": (
        [exchange("e1"), unbind_exchange("e1", "e1")],
        m.ExchangeUnbindOk(),
    ),
    "deletes itself with its last binding": (
        [
            exchange("e1", auto_delete=True),
            queue(),
            bind("e1", "k"),
            unbind("e1", "k"),
            exchange("e1", passive=True),
        ],
        closed(404, f"NOT_FOUND - no {_E}", (40, 10)),
    ),
    "stays before its first binding": (
        [exchange("e1", auto_delete=True), exchange("e1", passive=True)],
        m.ExchangeDeclareOk(),
    ),
    "x-match of no meaning": (
        [exchange("e1", "headers"), queue(), bind("e1", **{"x-match": 5})],
        closed(
            406,
            "PRECONDITION_FAILED - Invalid x-match field type signedint (value 5); expected longstr",
            (50, 20),
        ),
    ),
    "x-match of no known value": (
        [exchange("e1", "headers"), queue(), bind("e1", **{"x-match": "bogus"})],
        closed(
            406,
            'PRECONDITION_FAILED - Invalid x-match field value <<"bogus">>; '
            "expected all, any, all-with-x, or any-with-x",
            (50, 20),
        ),
    ),
}

CONSUMERS: Final[dict[str, Case]] = {
    "deletes itself with its last consumer": (
        [queue(auto_delete=True), consume(), cancel(), queue(passive=True)],
        closed(404, f"NOT_FOUND - no {_Q}", _DECLARE),
    ),
    "stays before its first consumer": ([queue(auto_delete=True), get(), queue(passive=True)], declared()),
    "cancel of no consumer": ([cancel("nobody")], m.BasicCancelOk("nobody")),
    "exclusive beside another": (
        [queue(), consume(tag="a"), consume(tag="b", exclusive=True)],
        closed(403, f"ACCESS_REFUSED - {_Q} in exclusive use", (60, 20)),
    ),
    "beside an exclusive one": (
        [queue(), consume(tag="a", exclusive=True), consume(tag="b")],
        closed(403, f"ACCESS_REFUSED - {_Q} in exclusive use", (60, 20)),
    ),
    "get beside an exclusive one": ([queue(), consume(exclusive=True), get()], m.BasicGetEmpty("")),
    "a tag in use": (
        [queue(), consume(tag="a"), consume(tag="a")],
        m.ConnectionClose(530, "NOT_ALLOWED - attempt to reuse consumer tag 'a'", 60, 20),
    ),
    "a priority that is a text": (
        [queue(), consume(arguments={"x-priority": "1"})],
        closed(
            406,
            f"PRECONDITION_FAILED - invalid arg 'x-priority' for {_Q}: \"expected integer, got longstr\"",
            (60, 20),
        ),
    ),
    "a prefetch in bytes": (
        [m.BasicQos(10, 0, False)],
        m.ConnectionClose(540, "NOT_IMPLEMENTED - prefetch_size!=0 (10)", 60, 10),
    ),
    "recover without requeue": (
        [m.BasicRecover(False)],
        m.ConnectionClose(540, "NOT_IMPLEMENTED - requeue=false", 60, 110),
    ),
    "recover": ([m.BasicRecover(True)], m.BasicRecoverOk()),
    "flow off": (
        [m.ChannelFlow(False)],
        m.ConnectionClose(540, "NOT_IMPLEMENTED - active=false", 20, 20),
    ),
    "flow on": ([m.ChannelFlow(True)], m.ChannelFlowOk(True)),
    "access": ([m.AccessRequest("/data", False, False, True, True, True)], m.AccessRequestOk(1)),
    "confirms": ([m.ConfirmSelect(False), m.ConfirmSelect(False)], m.ConfirmSelectOk()),
    "transactions with confirms": (
        [m.ConfirmSelect(False), m.TxSelect()],
        closed(406, "PRECONDITION_FAILED - cannot switch from confirm to tx mode", (90, 10)),
    ),
    "confirms with transactions": (
        [m.TxSelect(), m.ConfirmSelect(False)],
        closed(406, "PRECONDITION_FAILED - cannot switch from tx to confirm mode", (85, 10)),
    ),
    "commit of nothing": (
        [m.TxCommit()],
        closed(406, "PRECONDITION_FAILED - channel is not transactional", (90, 20)),
    ),
    "rollback of nothing": (
        [m.TxRollback()],
        closed(406, "PRECONDITION_FAILED - channel is not transactional", (90, 30)),
    ),
    "a channel that is open": (
        [m.ChannelOpen("")],
        m.ConnectionClose(504, "CHANNEL_ERROR - second 'channel.open' seen", 20, 10),
    ),
    "what only a server says": (
        [declared()],
        m.ConnectionClose(503, "COMMAND_INVALID - unimplemented method", 50, 11),
    ),
}
