"""The methods of AMQP 0-9-1 with RabbitMQ's extensions, and their arguments in the order of the wire."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias, TypeVar

from emulator.amqp.wire.field_tables import Table

Octet: TypeAlias = int
Short: TypeAlias = int
Long: TypeAlias = int
LongLong: TypeAlias = int
Bit: TypeAlias = bool
ShortString: TypeAlias = str
LongString: TypeAlias = bytes
FieldTable: TypeAlias = Table

MethodClass = TypeVar("MethodClass", bound=type[tuple[object, ...]])
CLASSES: dict[int, type[tuple[object, ...]]] = {}
"""The methods by their ids: the class id in the upper 16 bits, the method id in the lower."""
IDS: dict[type, int] = {}


def _method(class_id: int, method_id: int) -> Callable[[MethodClass], MethodClass]:
    def register(cls: MethodClass) -> MethodClass:
        CLASSES[class_id << 16 | method_id] = cls
        IDS[cls] = class_id << 16 | method_id
        return cls

    return register


@_method(10, 10)
class ConnectionStart(NamedTuple):
    version_major: Octet
    version_minor: Octet
    server_properties: FieldTable
    mechanisms: LongString
    locales: LongString


@_method(10, 11)
class ConnectionStartOk(NamedTuple):
    client_properties: FieldTable
    mechanism: ShortString
    response: LongString
    locale: ShortString


@_method(10, 30)
class ConnectionTune(NamedTuple):
    channel_max: Short
    frame_max: Long
    heartbeat: Short


@_method(10, 31)
class ConnectionTuneOk(NamedTuple):
    channel_max: Short
    frame_max: Long
    heartbeat: Short


@_method(10, 40)
class ConnectionOpen(NamedTuple):
    virtual_host: ShortString
    capabilities: ShortString
    insist: Bit


@_method(10, 41)
class ConnectionOpenOk(NamedTuple):
    known_hosts: ShortString


@_method(10, 50)
class ConnectionClose(NamedTuple):
    reply_code: Short
    reply_text: ShortString
    class_id: Short
    method_id: Short


@_method(10, 51)
class ConnectionCloseOk(NamedTuple): ...


@_method(10, 60)
class ConnectionBlocked(NamedTuple):
    reason: ShortString


@_method(10, 61)
class ConnectionUnblocked(NamedTuple): ...


@_method(10, 70)
class ConnectionUpdateSecret(NamedTuple):
    new_secret: LongString
    reason: ShortString


@_method(10, 71)
class ConnectionUpdateSecretOk(NamedTuple): ...


@_method(20, 10)
class ChannelOpen(NamedTuple):
    out_of_band: ShortString


@_method(20, 11)
class ChannelOpenOk(NamedTuple):
    channel_id: LongString


@_method(20, 20)
class ChannelFlow(NamedTuple):
    active: Bit


@_method(20, 21)
class ChannelFlowOk(NamedTuple):
    active: Bit


@_method(20, 40)
class ChannelClose(NamedTuple):
    reply_code: Short
    reply_text: ShortString
    class_id: Short
    method_id: Short


@_method(20, 41)
class ChannelCloseOk(NamedTuple): ...


@_method(30, 10)
class AccessRequest(NamedTuple):
    realm: ShortString
    exclusive: Bit
    passive: Bit
    active: Bit
    write: Bit
    read: Bit


@_method(30, 11)
class AccessRequestOk(NamedTuple):
    ticket: Short


@_method(40, 10)
class ExchangeDeclare(NamedTuple):
    ticket: Short
    exchange: ShortString
    type: ShortString
    passive: Bit
    durable: Bit
    auto_delete: Bit
    internal: Bit
    nowait: Bit
    arguments: FieldTable


@_method(40, 11)
class ExchangeDeclareOk(NamedTuple): ...


@_method(40, 20)
class ExchangeDelete(NamedTuple):
    ticket: Short
    exchange: ShortString
    if_unused: Bit
    nowait: Bit


@_method(40, 21)
class ExchangeDeleteOk(NamedTuple): ...


@_method(40, 30)
class ExchangeBind(NamedTuple):
    ticket: Short
    destination: ShortString
    source: ShortString
    routing_key: ShortString
    nowait: Bit
    arguments: FieldTable


@_method(40, 31)
class ExchangeBindOk(NamedTuple): ...


@_method(40, 40)
class ExchangeUnbind(NamedTuple):
    ticket: Short
    destination: ShortString
    source: ShortString
    routing_key: ShortString
    nowait: Bit
    arguments: FieldTable


@_method(40, 51)
class ExchangeUnbindOk(NamedTuple): ...


@_method(50, 10)
class QueueDeclare(NamedTuple):
    ticket: Short
    queue: ShortString
    passive: Bit
    durable: Bit
    exclusive: Bit
    auto_delete: Bit
    nowait: Bit
    arguments: FieldTable


@_method(50, 11)
class QueueDeclareOk(NamedTuple):
    queue: ShortString
    message_count: Long
    consumer_count: Long


@_method(50, 20)
class QueueBind(NamedTuple):
    ticket: Short
    queue: ShortString
    exchange: ShortString
    routing_key: ShortString
    nowait: Bit
    arguments: FieldTable


@_method(50, 21)
class QueueBindOk(NamedTuple): ...


@_method(50, 30)
class QueuePurge(NamedTuple):
    ticket: Short
    queue: ShortString
    nowait: Bit


@_method(50, 31)
class QueuePurgeOk(NamedTuple):
    message_count: Long


@_method(50, 40)
class QueueDelete(NamedTuple):
    ticket: Short
    queue: ShortString
    if_unused: Bit
    if_empty: Bit
    nowait: Bit


@_method(50, 41)
class QueueDeleteOk(NamedTuple):
    message_count: Long


@_method(50, 50)
class QueueUnbind(NamedTuple):
    ticket: Short
    queue: ShortString
    exchange: ShortString
    routing_key: ShortString
    arguments: FieldTable


@_method(50, 51)
class QueueUnbindOk(NamedTuple): ...


@_method(60, 10)
class BasicQos(NamedTuple):
    prefetch_size: Long
    prefetch_count: Short
    global_: Bit


@_method(60, 11)
class BasicQosOk(NamedTuple): ...


@_method(60, 20)
class BasicConsume(NamedTuple):
    ticket: Short
    queue: ShortString
    consumer_tag: ShortString
    no_local: Bit
    no_ack: Bit
    exclusive: Bit
    nowait: Bit
    arguments: FieldTable


@_method(60, 21)
class BasicConsumeOk(NamedTuple):
    consumer_tag: ShortString


@_method(60, 30)
class BasicCancel(NamedTuple):
    consumer_tag: ShortString
    nowait: Bit


@_method(60, 31)
class BasicCancelOk(NamedTuple):
    consumer_tag: ShortString


@_method(60, 40)
class BasicPublish(NamedTuple):
    ticket: Short
    exchange: ShortString
    routing_key: ShortString
    mandatory: Bit
    immediate: Bit


@_method(60, 50)
class BasicReturn(NamedTuple):
    reply_code: Short
    reply_text: ShortString
    exchange: ShortString
    routing_key: ShortString


@_method(60, 60)
class BasicDeliver(NamedTuple):
    consumer_tag: ShortString
    delivery_tag: LongLong
    redelivered: Bit
    exchange: ShortString
    routing_key: ShortString


@_method(60, 70)
class BasicGet(NamedTuple):
    ticket: Short
    queue: ShortString
    no_ack: Bit


@_method(60, 71)
class BasicGetOk(NamedTuple):
    delivery_tag: LongLong
    redelivered: Bit
    exchange: ShortString
    routing_key: ShortString
    message_count: Long


@_method(60, 72)
class BasicGetEmpty(NamedTuple):
    cluster_id: ShortString


@_method(60, 80)
class BasicAck(NamedTuple):
    delivery_tag: LongLong
    multiple: Bit


@_method(60, 90)
class BasicReject(NamedTuple):
    delivery_tag: LongLong
    requeue: Bit


@_method(60, 100)
class BasicRecoverAsync(NamedTuple):
    requeue: Bit


@_method(60, 110)
class BasicRecover(NamedTuple):
    requeue: Bit


@_method(60, 111)
class BasicRecoverOk(NamedTuple): ...


@_method(60, 120)
class BasicNack(NamedTuple):
    delivery_tag: LongLong
    multiple: Bit
    requeue: Bit


@_method(85, 10)
class ConfirmSelect(NamedTuple):
    nowait: Bit


@_method(85, 11)
class ConfirmSelectOk(NamedTuple): ...


@_method(90, 10)
class TxSelect(NamedTuple): ...


@_method(90, 11)
class TxSelectOk(NamedTuple): ...


@_method(90, 20)
class TxCommit(NamedTuple): ...


@_method(90, 21)
class TxCommitOk(NamedTuple): ...


@_method(90, 30)
class TxRollback(NamedTuple): ...


@_method(90, 31)
class TxRollbackOk(NamedTuple): ...


Method: TypeAlias = tuple[object, ...]
