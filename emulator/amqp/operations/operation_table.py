"""The operations by the methods that ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from emulator.amqp.operations import consuming, exchanges, modes, queues, settling
from emulator.amqp.turn import Steps
from emulator.amqp.wire import methods

if TYPE_CHECKING:
    from emulator.amqp.channel import Channel

OPERATIONS: Final[dict[type, Callable[[Channel, Any], Steps | None]]] = {
    methods.ChannelFlow: modes.set_flow,
    methods.AccessRequest: modes.request_access,
    methods.ExchangeDeclare: exchanges.declare,
    methods.ExchangeDelete: exchanges.delete,
    methods.ExchangeBind: exchanges.bind,
    methods.ExchangeUnbind: exchanges.unbind,
    methods.QueueDeclare: queues.declare,
    methods.QueueBind: queues.bind,
    methods.QueueUnbind: queues.unbind,
    methods.QueuePurge: queues.purge,
    methods.QueueDelete: queues.delete,
    methods.BasicQos: consuming.set_qos,
    methods.BasicConsume: consuming.consume,
    methods.BasicCancel: consuming.cancel,
    methods.BasicGet: consuming.get,
    methods.BasicAck: settling.ack,
    methods.BasicNack: settling.nack,
    methods.BasicReject: settling.reject,
    methods.BasicRecover: settling.recover,
    methods.BasicRecoverAsync: settling.recover_async,
    methods.ConfirmSelect: modes.select_confirms,
    methods.TxSelect: modes.select_transactions,
    methods.TxCommit: modes.commit,
    methods.TxRollback: modes.roll_back,
}
