"""What the relay reads in the frames of a command, and what it writes anew."""

from __future__ import annotations

from enum import IntEnum
from struct import Struct, error
from typing import Any, Final, TypeVar

from emulator.amqp.refusals import RefusedError
from emulator.amqp.wire import methods
from emulator.amqp.wire.commands import Command
from emulator.amqp.wire.field_tables import TEXT, BadTableError, plain_table
from emulator.amqp.wire.frames import CONTENT_HEAD_BYTES, PAYLOAD_AT, build_content
from emulator.amqp.wire.method_codec import TruncatedMethodError, UnknownMethodError
from emulator.amqp.wire.methods import IDS, BasicPublish
from emulator.amqp.wire.properties import Properties

_TAG: Final = Struct(">Q")
_KEY_HEADER: Final = "partition-key"
ARGUMENTS: Final = PAYLOAD_AT + 4
"""The offset of the arguments in the frame of a method."""
_PROPERTIES_AT: Final = PAYLOAD_AT + CONTENT_HEAD_BYTES
_Method = TypeVar("_Method", bound=methods.Method)


class Method(IntEnum):
    """The ids of the methods that the relay handles."""

    START_OK = IDS[methods.ConnectionStartOk]
    TUNE_OK = IDS[methods.ConnectionTuneOk]
    CONNECTION_CLOSE = IDS[methods.ConnectionClose]
    CONNECTION_CLOSE_OK = IDS[methods.ConnectionCloseOk]
    CHANNEL_OPEN = IDS[methods.ChannelOpen]
    CHANNEL_CLOSE = IDS[methods.ChannelClose]
    CHANNEL_CLOSE_OK = IDS[methods.ChannelCloseOk]
    QUEUE_DECLARE = IDS[methods.QueueDeclare]
    QUEUE_DECLARE_OK = IDS[methods.QueueDeclareOk]
    QOS = IDS[methods.BasicQos]
    CONSUME = IDS[methods.BasicConsume]
    CONSUME_OK = IDS[methods.BasicConsumeOk]
    CANCEL = IDS[methods.BasicCancel]
    CANCEL_OK = IDS[methods.BasicCancelOk]
    PUBLISH = IDS[methods.BasicPublish]
    RETURN = IDS[methods.BasicReturn]
    DELIVER = IDS[methods.BasicDeliver]
    GET = IDS[methods.BasicGet]
    GET_OK = IDS[methods.BasicGetOk]
    GET_EMPTY = IDS[methods.BasicGetEmpty]
    ACK = IDS[methods.BasicAck]
    REJECT = IDS[methods.BasicReject]
    RECOVER_OK = IDS[methods.BasicRecoverOk]
    NACK = IDS[methods.BasicNack]
    CONFIRM_SELECT = IDS[methods.ConfirmSelect]
    TX_SELECT = IDS[methods.TxSelect]
    TX_COMMIT_OK = IDS[methods.TxCommitOk]
    TX_ROLLBACK_OK = IDS[methods.TxRollbackOk]


class NotAmqpError(ValueError):
    """The arguments of a method are not as AMQP 0-9-1 has them."""


def read_publish(command: Command) -> BasicPublish:
    """The method of a publish; publishers send the same one again and again."""
    return decode_method(command, BasicPublish)


def channel_of(publish: BasicPublish) -> str:
    """The name for faults of what is published to: the queue on the default exchange, else the exchange."""
    return publish.exchange or publish.routing_key


def decode_method(command: Command, wanted: type[_Method]) -> _Method:
    """Decode the method of a command, which is of the class ``wanted``. Raises NotAmqpError."""
    try:
        method = command.decode()
    except (UnknownMethodError, TruncatedMethodError, RefusedError) as why:
        raise NotAmqpError(str(why)) from why
    if not isinstance(method, wanted):
        raise NotAmqpError(f"{type(method).__name__} where {wanted.__name__} was expected")
    return method


def read_headers(command: Command) -> dict[str, Any]:
    """Read the headers of a command's content; none when they are missing or not readable."""
    try:
        return plain_table(Properties(command.frames[1][_PROPERTIES_AT:-1]).headers())
    except (BadTableError, IndexError, error):
        return {}


def read_partition_key(command: Command) -> str:
    """Read the partition key in the headers of a command's content; empty when there is none."""
    return str(read_headers(command).get(_KEY_HEADER, ""))


def replace_body(command: Command, data: bytes, frame_max: int) -> Command:
    """A command with another body, in frames of at most ``frame_max`` bytes (0: no limit)."""
    method, header = command.frames[:2]
    content = build_content(command.channel, header[_PROPERTIES_AT:-1], data, frame_max)
    return Command(command.channel, command.method, [method, *content])


def read_short_string(frame: bytes, at: int) -> tuple[str, int]:
    """Read the short string at an offset in a frame; return it and the offset behind it."""
    end = at + 1 + frame[at]
    return frame[at + 1 : end].decode(*TEXT), end


def read_delivery_tag(frame: bytes, at: int) -> int:
    """Read the delivery tag at an offset in a frame."""
    tag: int = _TAG.unpack_from(frame, at)[0]
    return tag


def replace_tag(frame: bytes, at: int, tag: int, *, redelivered: bool) -> bytes:
    """Replace the tag in a delivery's method; ``redelivered`` sets that flag and never clears it."""
    flag = bytes((frame[at + 8] | redelivered,))
    return b"".join((frame[:at], _TAG.pack(tag), flag, frame[at + 9 :]))
