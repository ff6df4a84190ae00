"""Building a receiver for a Kinesis endpoint; originals of rejected messages go to the endpoint's S3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager

from emulator.channels import Channel, Checkpoints
from emulator.channels.kinesis import KinesisChannel
from emulator.clock import Clock
from sandbox.aws_endpoint import Endpoint
from sandbox.receiver.assembled_receiver import QUEUES, assembled_receiver
from sandbox.receiver.originals import S3Originals
from sandbox.receiver.receiver import Receiver
from sandbox.receiver.receiving_application import Application, Refused
from sandbox.receiver.rejects import Rejected
from sandbox.repository import Repository
from schemas.bound import CONTRACT
from schemas.contract import Contract


def receiver_over_kinesis(
    endpoint: Endpoint,
    stream: str,
    repository: Repository,
    application: Application,
    clock: Clock,
    *,
    queues: Mapping[str, str] = QUEUES,
    contract: Contract = CONTRACT,
    refused: Refused = lambda _arrival, _code, _why: None,
    rejected: Rejected = lambda _data, _code, _why: None,
    absent: Collection[str] = (),
    stopped: Callable[[], bool] = lambda: False,
) -> AbstractContextManager[Receiver]:
    """Build a receiver of ``stream`` as ``assembled_receiver`` does.

    It validates and backs off on ``clock``, and polls for records in real time.
    """
    polling = Clock()

    def open_channel(name: str, checkpoints: Checkpoints) -> Channel:
        client = endpoint.kinesis()
        return KinesisChannel(client, name, clock=clock, checkpoints=checkpoints, polling=polling)

    return assembled_receiver(
        open_channel,
        S3Originals(endpoint.s3()),
        stream=stream,
        repository=repository,
        application=application,
        clock=clock,
        queues=queues,
        contract=contract,
        refused=refused,
        rejected=rejected,
        absent=absent,
        stopped=stopped,
    )
