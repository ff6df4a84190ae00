"""Confirm mode, transactions, flow and the access request of older clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulator.amqp.confirms import Confirms
from emulator.amqp.refusals import RefusedError
from emulator.amqp.transaction import Transaction
from emulator.amqp.turn import Steps
from emulator.amqp.wire import methods

if TYPE_CHECKING:
    from emulator.amqp.channel import Channel


def set_flow(channel: Channel, asked: methods.ChannelFlow) -> None:
    # RabbitMQ stops no channel at its client's word: a prefetch is for that.
    if not asked.active:
        raise RefusedError(540, "active=false")
    channel.send(methods.ChannelFlowOk(active=True))


def request_access(channel: Channel, _asked: methods.AccessRequest) -> None:
    # Older clients send this number as the ticket of each method, and nothing reads it.
    channel.send(methods.AccessRequestOk(1))


def select_confirms(channel: Channel, asked: methods.ConfirmSelect) -> None:
    if channel.transaction is not None:
        raise RefusedError(406, "cannot switch from tx to confirm mode")
    # A second select must not begin the count again.
    channel.confirms = channel.confirms or Confirms()
    if not asked.nowait:
        channel.send(methods.ConfirmSelectOk())


def select_transactions(channel: Channel, _asked: methods.TxSelect) -> None:
    if channel.confirms is not None:
        raise RefusedError(406, "cannot switch from confirm to tx mode")
    channel.transaction = channel.transaction or Transaction()
    channel.send(methods.TxSelectOk())


def commit(channel: Channel, _asked: methods.TxCommit) -> Steps:
    yield from _transaction_of(channel).commit()
    channel.send(methods.TxCommitOk())


def roll_back(channel: Channel, _asked: methods.TxRollback) -> None:
    channel.unacked = _transaction_of(channel).roll_back(channel.unacked)
    channel.send(methods.TxRollbackOk())


def _transaction_of(channel: Channel) -> Transaction:
    if channel.transaction is None:
        raise RefusedError(406, "channel is not transactional")
    return channel.transaction
