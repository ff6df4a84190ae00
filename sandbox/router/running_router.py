"""The router of a running sandbox: a background worker that is woken when a source has records.

It reads its sources from their checkpoints, and has a gateway to every target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from emulator.background_worker import BackgroundWorker
from emulator.channels.channel import Channel
from emulator.channels.checkpoints import Checkpoints
from emulator.channels.kinesis import KinesisChannel
from emulator.channels.memory import MemoryChannel
from emulator.clock import Clock
from sandbox.aws_endpoint import AwsEndpoint
from sandbox.gateway import Gateway, Machine
from sandbox.receiver import Originals, Rejects, S3Originals
from sandbox.receiver.assembled_receiver import BUCKETS, OpenChannel
from sandbox.repository import Repository
from sandbox.router.router import Router
from sandbox.router.routing_table import RoutingTable

if TYPE_CHECKING:
    from emulator.assembly.embedded import Embedded


@contextmanager
def routing(emulator: Embedded, routes: RoutingTable) -> Iterator[None]:
    """Route while the context lasts.

    Sources are read in this process, without cost while they are empty. Targets are published to over the AWS
    port as by any client, so that faults apply. A failure is an event ``router.failed`` and is retried.
    """
    parts = emulator.components
    with ExitStack() as stack:
        folder = emulator.settings.data_dir or Path(stack.enter_context(TemporaryDirectory()))
        repository = stack.enter_context(closing(Repository(folder / "router.sqlite3", parts.clock)))
        work = stack.enter_context(closing(_Work(emulator, routes, repository)))
        worker = stack.enter_context(closing(BackgroundWorker("router", [work.run_once], work.failed)))

        def wake_for(stream: str, _shard: str) -> None:
            if stream in routes.services:
                worker.wake()

        stack.callback(parts.streams.on_records(wake_for))
        worker.wake()
        yield


class _Work:
    """Runs a router; builds a new one after a source stream was deleted and created again."""

    def __init__(self, emulator: Embedded, routes: RoutingTable, repository: Repository) -> None:
        self._parts = emulator.components
        self._endpoint = AwsEndpoint(
            emulator.aws, emulator.settings.region, emulator.settings.token, self._parts.trust
        )
        self._routes = routes
        self._repository = repository
        self._generations: dict[str, str] = {}
        self._stack = ExitStack()
        self._router: Router | None = None

    def run_once(self) -> int:
        views = self._parts.streams.streams(self._parts.home)
        generations = {view.name: view.generation for view in views if view.name in self._routes.services}
        if self._router is None or generations != self._generations:
            self._stack.close()
            self._router = self._stack.enter_context(self._build(generations))
            self._generations = generations
        return self._router.run_once()

    def failed(self, error: Exception) -> None:
        self._parts.events.emit("router.failed", why=str(error) or repr(error))

    def close(self) -> None:
        self._stack.close()

    @contextmanager
    def _build(self, generations: dict[str, str]) -> Iterator[Router]:
        parts, client = self._parts, self._endpoint.kinesis()

        def source(name: str, checkpoints: Checkpoints) -> Channel:
            streams, clock = parts.streams, parts.clock
            return MemoryChannel(streams, name, clock=clock, checkpoints=checkpoints, scope=parts.home)

        def target(name: str) -> Channel:
            return KinesisChannel(client, name, clock=parts.clock)

        originals = S3Originals(self._endpoint.s3())
        with assembled_router(
            self._routes,
            source,
            target,
            originals,
            repository=self._repository,
            clock=parts.clock,
            generations=generations,
        ) as router:
            yield router


MACHINE: Final = Machine("rdss-institutional-content-based-router", "localhost")


@contextmanager
def assembled_router(
    routes: RoutingTable,
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
        queues: dict[str, Gateway] = {queue: gateway(name) for queue, name in routes.queues.items()}
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
