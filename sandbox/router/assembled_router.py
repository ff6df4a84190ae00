"""Building a router: sources that are read from their checkpoints, and a gateway to every target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from emulator.channels import Channel
from emulator.clock import Clock
from sandbox.gateway import Gateway, Machine
from sandbox.receiver import Originals, Rejects
from sandbox.receiver.assembled_receiver import BUCKETS, OpenChannel
from sandbox.repository import Repository
from sandbox.router.router import Router
from sandbox.router.routes import Routes

MACHINE: Final = Machine("rdss-institutional-content-based-router", "localhost")


@contextmanager
def assembled_router(
    routes: Routes,
    open_source: OpenChannel,
    open_target: Callable[[str], Channel],
    originals: Originals,
    *,
    repository: Repository,
    clock: Clock,
    generations: Mapping[str, str] | None = None,
) -> Iterator[Router]:
    """Build a router for the time of the context.

    ``generations`` distinguish a stream from deleted ones of the same name, by the source's name.
    """
    checkpoints = {name: f"{name}@{(generations or {}).get(name, '')}" for name in routes.sources}
    with ExitStack() as stack:

        def source(name: str) -> Channel:
            channel = open_source(name, repository.transactional_checkpoints(checkpoints[name]))
            stack.callback(channel.close)
            return channel

        def gateway(name: str) -> Gateway:
            channel = open_target(name)
            stack.callback(channel.close)
            return Gateway(channel, repository, clock)

        targets = {name for targets in routes.services.values() for name in targets}
        gateways = {name: gateway(name) for name in sorted(targets | set(routes.tenants.values()))}
        queues = {queue: gateway(name) for queue, name in routes.queues.items()}
        rejects = Rejects(queues, BUCKETS, originals, clock, MACHINE)
        yield Router(
            routes,
            {name: source(name) for name in routes.sources},
            gateways,
            rejects,
            repository=repository,
            clock=clock,
            machine=MACHINE,
            checkpoint_names=checkpoints,
        )
