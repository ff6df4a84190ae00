"""Building a receiver: the channel that it reads, the error and invalid queues, and their buckets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final, TypeAlias

from emulator.channels.channel import Channel
from emulator.channels.checkpoints import Checkpoints
from emulator.clock import Clock
from emulator.settings.topologies import message_stream, name_bucket
from sandbox.gateway import Gateway, Machine
from sandbox.receiver.originals import Originals
from sandbox.receiver.receiver import Receiver
from sandbox.receiver.receiving_application import Application, Refused
from sandbox.receiver.rejects import Rejected, Rejects
from sandbox.repository import Repository
from schemas.bound import CONTRACT
from schemas.contract import Contract, list_queues

QUEUES: Final[Mapping[str, str]] = {queue: queue for queue in list_queues(CONTRACT)}
BUCKETS: Final[Mapping[str, str]] = {queue: name_bucket(queue) for queue in QUEUES}
OpenChannel: TypeAlias = Callable[[str, Checkpoints], Channel]
"""Opens a channel by name; it is read from its checkpoints on."""
_MACHINE: Final = Machine("rdss-sandbox-receiver", "localhost")


def queues_among(streams: Collection[str]) -> dict[str, str]:
    """The names of the error and invalid queue in a sandbox with these streams, in either topology."""
    deployed = {queue: message_stream(queue) for queue in QUEUES}
    return {queue: name if name in streams else QUEUES[queue] for queue, name in deployed.items()}


@contextmanager
def assembled_receiver(
    open_channel: OpenChannel,
    originals: Originals,
    *,
    stream: str,
    repository: Repository,
    application: Application,
    clock: Clock,
    queues: Mapping[str, str] = QUEUES,
    contract: Contract = CONTRACT,
    refused: Refused = lambda _arrival, _code, _why: None,
    rejected: Rejected = lambda _data, _code, _why: None,
    absent: Collection[str] = (),
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Receiver]:
    """Build a receiver of ``stream`` that starts at the repository's checkpoints, for the context's time.

    What is rejected to an ``absent`` queue waits in the repository for a receiver that finds the queue. A
    queue that does not take its messages is tried again until ``stopped`` (see ``Gateway``).
    """
    with ExitStack() as stack:

        def open_by_name(name: str) -> Channel:
            channel = open_channel(name, repository.transactional_checkpoints(name))
            stack.callback(channel.close)
            return channel

        gateways: dict[str, Gateway] = {
            queue: Gateway(open_by_name(queues[queue]), repository, clock, contract=contract, stopped=stopped)
            for queue in list_queues(contract)
        }
        rejects = Rejects(
            gateways,
            BUCKETS,
            originals,
            clock,
            _MACHINE,
            contract=contract,
            rejected=rejected,
            absent=absent,
        )
        receiver = Receiver(
            open_by_name(stream),
            repository,
            application,
            rejects,
            clock,
            contract=contract,
            refused=refused,
        )
        stack.callback(receiver.close)
        yield receiver
