"""A receiver put together over a Kinesis endpoint: its channel, the two queues, and their buckets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from emulator.channels.kinesis import KinesisChannel
from emulator.clock import Clock
from sandbox.endpoint import Endpoint
from sandbox.gateway import Gateway, Machine
from sandbox.receiver.application import Application
from sandbox.receiver.originals import S3Originals
from sandbox.receiver.receiver import Receiver
from sandbox.receiver.rejects import Rejects
from sandbox.repository import Repository
from schemas.error_codes import Queue

BUCKETS = {Queue.ERROR: "rdss-error", Queue.INVALID: "rdss-invalid"}
_MACHINE = Machine("rdss-sandbox-receiver", "localhost")


@contextmanager
def receiver_over_kinesis(
    endpoint: Endpoint, stream: str, repository: Repository, application: Application, clock: Clock
) -> Iterator[Receiver]:
    """A receiver of ``stream`` that begins where the repository says, while the context lasts."""
    with ExitStack() as stack:

        def opened(name: str) -> KinesisChannel:
            checkpoints = repository.checkpoints(name)
            channel = KinesisChannel(endpoint.kinesis(), name, clock=clock, checkpoints=checkpoints)
            stack.callback(channel.close)
            return channel

        gateways = {queue: Gateway(opened(queue.value), repository, clock) for queue in Queue}
        rejects = Rejects(gateways, BUCKETS, S3Originals(endpoint.s3()), clock, _MACHINE)
        yield Receiver(opened(stream), repository, application, rejects, clock)
