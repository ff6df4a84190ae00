"""The embedded emulator: all components and their listeners in one process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from typing import Any, Final, Self, TypeAlias
from urllib.parse import urlsplit

from emulator.assembly.components import Components, build_components
from emulator.assembly.damage import describe_put_aside, describe_takeover, keep_damage
from emulator.assembly.declared_queues import QueuesNotDeclaredError, declare_queues
from emulator.assembly.embedded_broker import EmbeddedBroker
from emulator.assembly.missing_extras import note_missing
from emulator.assembly.sidecar_broker import Broker, SidecarBroker
from emulator.assembly.snapshots import KeptSnapshots
from emulator.clock import Clock, stopwatch
from emulator.diagnosis.lab_trace import Trace
from emulator.http.admission import access_policies
from emulator.http.admission.guard import AccessPolicy, Guard
from emulator.http.asgi import App
from emulator.http.fallback_port import FallbackPort, serve_at
from emulator.http.lazy_app import LazyApp
from emulator.http.server import Server, serve
from emulator.journal import DamagedLogError
from emulator.journal.checking import Checking
from emulator.listeners.aws import access_policy
from emulator.listeners.aws.interception import Interceptor, call_through
from emulator.listeners.aws.kinesis_faults import KinesisFaults
from emulator.listeners.aws.tapped_calls import tap_puts
from emulator.listeners.control import control_app
from emulator.listeners.control.access import AccessResources
from emulator.listeners.control.audit import AuditResources
from emulator.listeners.control.buckets import BucketResources
from emulator.listeners.control.chaos import ChaosResources
from emulator.listeners.control.contract import ContractResources
from emulator.listeners.control.diagnosis import DiagnosisResources
from emulator.listeners.control.events import EventResources
from emulator.listeners.control.faults import FaultResources
from emulator.listeners.control.live_answers import LiveAnswers
from emulator.listeners.control.message_reads import MessageReadResources
from emulator.listeners.control.messages import MessageResources, find_origin
from emulator.listeners.control.metrics import EventCounts, MetricsResources
from emulator.listeners.control.pruning import PruneResources
from emulator.listeners.control.readers import ReaderResources
from emulator.listeners.control.same_commands import SameCommandResources
from emulator.listeners.control.sandbox_state import StateResources, read_clock
from emulator.listeners.control.sending import SendResources
from emulator.listeners.control.sequences import SequenceResources
from emulator.listeners.control.snapshots import SnapshotResources
from emulator.listeners.control.streams import StreamResources, summarise_streams
from emulator.listeners.control.watch.page_access import admit_pages
from emulator.listeners.control.watch.picture_maker import PictureMaker, PictureSources
from emulator.listeners.control.watch.resources import PictureResources
from emulator.settings.settings import MANAGEMENT_PORT, Settings
from rdss_sandbox.admission import Admission
from rdss_sandbox.installed_extensions import find_installed
from rdss_sandbox.shapes.status import Doors, Port, Reset, Status, Version
from rdss_sandbox.shapes.topology import Populated, Topology
from rdss_sandbox.version import VERSION
from schemas.bound import CONTRACT
from schemas.contract import Contract, describe_contract

_OWN_PORTS: Final = ("aws", "control", "amqp_management")
MakeResources: TypeAlias = Callable[[Components], object]


class Embedded:
    """A whole emulator, which runs while its context lasts.

    ``urls`` are those of its ports by name: ``aws``, ``control``, ``amqp_management`` where the broker is our
    own, and what extensions have. Each function in ``more`` builds further resources of the control API from
    the components, for what is built on top of the emulator. The
    ``interceptors`` stand in front of the faults on the AWS port, and see what the client sees. All that
    clients do is written to the ``trace``. The messages are of the ``contract``.
    Entering raises ``DirectoryInUseError``, ``SnapshotError``, and OSError for a port or directory that
    cannot be used.
    """

    components: Components

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        more: Iterable[MakeResources] = (),
        interceptors: Iterable[Interceptor] = (),
        trace: Trace | None = None,
        *,
        contract: Contract = CONTRACT,
    ) -> None:
        self.settings = settings
        self._contract = contract
        self._clock = clock
        self._more = tuple(more)
        self._interceptors = tuple(interceptors)
        self._trace = trace
        self._stack = AsyncExitStack()
        self.urls: dict[str, str] = {}
        self._notes: list[str] = []
        self._damaged: list[str] = []

    async def __aenter__(self) -> Self:
        self._started_at = stopwatch()
        try:
            self.components = self._stack.enter_context(
                build_components(self.settings, self._clock, served=True, contract=self._contract)
            )
            self._stack.enter_context(self.components.events.subscribed(partial(keep_damage, self._damaged)))
            if self._trace is not None:
                self.components.diagnosis.trace_into(self._trace)
            data_dir = self.settings.data_dir
            self._snapshots = KeptSnapshots(
                self.components, data_dir / "snapshots" if data_dir else None, self.settings.snapshots_from
            )
            self._more_resources = [make(self.components) for make in self._more]
            await asyncio.to_thread(self._snapshots.finish)
            self.urls["aws"] = await self._listen(self._build_aws_app(), self.settings.aws_port)
            self.components.infrastructure.set_endpoint(self.aws, self.settings.token)
            for extension in self.components.extensions.values():
                extension.set_endpoint(self.aws)
            self._live = LiveAnswers()
            # Whoever asks as soon as the port answers is told of it, too.
            self.broker = self._build_broker()
            self.urls["control"] = await self._listen(self._build_control_app(), self.settings.control_port)
            self._stack.callback(self._live.close)
            await self._open_extensions()
            self._stack.push_async_callback(asyncio.to_thread, self.components.archives.close)
            self.components.archives.start()
            self._stack.push_async_callback(asyncio.to_thread, self.components.pruning.close)
            self.components.pruning.start()
            self._stack.push_async_callback(asyncio.to_thread, self.components.diagnosis.close)
            self.components.diagnosis.start()
            self._check_files()
            self._stack.push_async_callback(self.broker.stop)
            self.broker.start(os.environ)
            if isinstance(self.broker, EmbeddedBroker):
                if data_dir is not None and any(data_dir.glob("broker/*.log")):
                    # What is wrong with them is said by the start.
                    await self.broker.wait_for_files()
                if self.broker.answers:
                    await self._listen_for_management(self.broker)
            if self.broker.url is not None:
                self.components.destinations.add_port(urlsplit(self.broker.url).port or 0)
            if self.settings.topology.queues or self.settings.topology.exchanges:
                await asyncio.to_thread(self._declare_queues)
                self.components.on_reset.append(self._declare_queues)
        except BaseException:
            await self._stack.aclose()
            raise
        self.components.events.emit(
            "sandbox.started", version=VERSION, pid=os.getpid(), seed=self.settings.seed
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self.components.events.emit("sandbox.stopped")
        await self._stack.aclose()

    @property
    def aws(self) -> str:
        """The URL of the AWS port."""
        return self.urls["aws"]

    @property
    def control(self) -> str:
        """The URL of the control API."""
        return self.urls["control"]

    @property
    def notes(self) -> tuple[str, ...]:
        """Hints for people about the state of the sandbox."""
        components, place = self.components, self.settings.data_dir
        aside = describe_put_aside(place) if place else None
        return (
            *(describe_takeover(components.directory) if components.directory else ()),
            *((aside,) if aside else ()),
            *components.infrastructure.notes(),
            *self.broker.notes,
            *self._notes,
            *note_missing(),
            *find_installed().failures,
        )

    @property
    def damage(self) -> tuple[str, ...]:
        """A line for each thing that was stored and that the start or later work could not find whole."""
        return (*self.components.damage, *self._damaged)

    def status(self) -> Status:
        """The status that the control API shows. Messages that are not indexed are counted, and left so."""
        components, settings = self.components, self.settings
        notes = [*self.damage, *self.notes]
        indexed, read_up_to = components.index.progress()
        if components.events.trouble:
            notes.append(components.events.trouble)
        return Status(
            version=VERSION,
            profile=settings.profile,
            pid=os.getpid(),
            uptime=stopwatch() - self._started_at,
            amqp=self.broker.url if self.broker.answers else None,
            data_dir=str(settings.data_dir.resolve()) if settings.data_dir else ":memory:",
            seed=components.fault_engine.seed,
            clock=read_clock(components.clock),
            streams=summarise_streams(components.catalogue),
            messages=indexed + components.catalogue.count_waiting(read_up_to),
            events=components.events.last,
            topology=settings.topology,
            notes=tuple(notes),
            doors=self.doors,
            contract=describe_contract(components.contract),
            **self.addresses,
        )

    @property
    def addresses(self) -> dict[str, Any]:
        """The URLs of its own ports, and those of extensions as ``ports``: fields of ``Status``."""
        own = {name: url for name, url in self.urls.items() if name in _OWN_PORTS}
        return {**own, "ports": {name: url for name, url in self.urls.items() if name not in own}}

    @property
    def doors(self) -> Doors:
        """What the sandbox listens on, and who may come in."""
        settings = self.settings
        urls = {**self.urls, "amqp": self.broker.url}
        admission = self._admission
        found = ((name, urlsplit(url).port) for name, url in urls.items() if url)
        return Doors(
            ports=tuple(Port(name, settings.host, port) for name, port in found if port),
            hosts=tuple(sorted(admission.hosts)),
            origins=tuple(sorted(admission.origins)),
            token=admission.token is not None,
        )

    def reset(self, values: Reset | None = None) -> None:
        self.components.reset(values)

    def populate(self, topology: Topology | None) -> Populated:
        return self.components.populate(topology)

    def _declare_queues(self) -> None:
        missing = "nothing answers on the AMQP port"
        try:
            if self.broker.url is not None:
                declare_queues(self.broker.url, self.settings.topology, self.components.trust)
                return
        except (QueuesNotDeclaredError, ModuleNotFoundError) as error:
            missing = str(error)
        self._notes.append(f"the topology's queues are not declared: {missing}")

    def _check_files(self) -> None:
        """Check in the background what the start did not read. What is found is an event, and a note."""
        if self.settings.data_dir is None:
            return

        def tell(error: DamagedLogError) -> None:
            self.components.events.emit(
                "journal.damaged", file=str(error.path), position=error.position, why=str(error)
            )

        checking = Checking(self.settings.data_dir, tell)
        self._stack.push_async_callback(asyncio.to_thread, checking.close)
        checking.start()

    def _build_broker(self) -> Broker:
        components = self.components
        make = choose_broker(self.settings)
        broker = make(
            self.settings, components.clock, components.events, components.fault_engine, components.amqp
        )
        broker.tls = components.tls
        if isinstance(broker, (EmbeddedBroker, SidecarBroker)):
            broker.watch = components.diagnosis.watch_queues
        if isinstance(broker, EmbeddedBroker):
            components.on_reset.append(broker.reset)
        return broker

    async def _listen(self, app: App, port: int) -> str:
        server = await serve(
            app,
            self.settings.host,
            port,
            on_failure=self.components.report_failure,
            clock=self.components.clock,
            tls=self.components.tls,
        )
        return self._register_server(server)

    async def _open_extensions(self) -> None:
        for extension in self.components.extensions.values():
            for port in extension.ports():
                app = self._guard(LazyApp(port.build), port.policy)
                self.urls[port.name] = await self._listen_at(
                    FallbackPort(port.name, port.usual, port.asked), app
                )
            # Off the loop, since what an extension waits for may be an answer of one of the ports.
            self._stack.push_async_callback(asyncio.to_thread, extension.stop)
        for extension in self.components.extensions.values():
            await asyncio.to_thread(extension.start)

    async def _listen_for_management(self, broker: EmbeddedBroker) -> None:
        def build() -> App:
            from emulator.listeners.amqp_management import AmqpManagement

            return AmqpManagement(
                lambda: broker.engine,
                broker.address,
                self.settings.token,
                broker.note_publish,
                control=self.control,
            )

        port = FallbackPort(
            "clients of AMQP's management", MANAGEMENT_PORT, self.settings.amqp_management_port
        )
        app = self._guard(LazyApp(build), access_policies.AMQP_MANAGEMENT)
        self.urls["amqp_management"] = await self._listen_at(port, app)

    async def _listen_at(self, port: FallbackPort, app: App) -> str:
        server, note = await serve_at(
            port,
            app,
            self.settings.host,
            on_failure=self.components.report_failure,
            clock=self.components.clock,
            tls=self.components.tls,
        )
        self._notes += [note] if note else []
        return self._register_server(server)

    def _register_server(self, server: Server) -> str:
        self._stack.push_async_callback(server.close)
        self.components.destinations.add_port(server.port)
        return server.url

    def _build_aws_app(self) -> App:
        components, infrastructure = self.components, self.components.infrastructure
        faults = KinesisFaults(components.fault_engine, components.clock, infrastructure.stream_of_iterator)
        interceptors = [*self._interceptors, faults]
        put = partial(call_through, interceptors, infrastructure.backend, "PutRecord")
        self._put_record = tap_puts(infrastructure.recorder.wiretap, put)
        services = {
            name: app
            for extension in components.extensions.values()
            for name, app in extension.aws_services().items()
        }
        app = infrastructure.app(
            interceptors=interceptors,
            version=VERSION,
            access=components.access,
            reset=self.reset,
            **({"services": services} if services else {}),
        )
        return self._guard(app, access_policy.AWS)

    def _build_control_app(self) -> App:
        components, settings, contract = self.components, self.settings, self.components.contract
        counts = EventCounts()
        self._stack.enter_context(components.events.subscribed(counts))
        readers = ReaderResources(components.streams, components.catalogue, components.diagnosis)
        pictured = PictureSources(
            clock=components.clock,
            events=components.events,
            catalogue=components.catalogue,
            streams=components.streams,
            amqp=components.amqp,
            readers=lambda: readers.readers(None),
            faults=components.fault_engine.list,
            counts=counts.by_kind,
            queues={*settings.topology.archives, *(code.queue for code in contract.codes.values())},
            contract=contract,
        )
        buckets = BucketResources(components.buckets.client)
        messages = partial(
            MessageResources,
            events=components.events,
            contract=contract,
            read_object=buckets.read,
            find_origin=lambda message_id: find_origin(components.index, settings.topology.apart, message_id),
        )
        in_streams = messages(lambda: components.index)
        resources: list[object] = [
            StateResources(
                self, Version(VERSION, contract.release), components.clock, components.events, self._live
            ),
            StreamResources(components.streams, components.catalogue),
            readers,
            PictureResources(PictureMaker(pictured), self._live),
            DiagnosisResources(components.diagnosis),
            in_streams,
            MessageReadResources(components.index, components.diagnosis),
            SendResources(
                self._put_record,
                components.catalogue,
                components.diagnosis.note_own,
                contract,
                components.clock,
                messages=in_streams,
            ),
            SequenceResources(components.index, contract),
            ContractResources(contract, components.clock),
            EventResources(components.events, self._live, (components.streams, components.amqp)),
            FaultResources(components.fault_engine),
            AccessResources(components.access, components.events),
            ChaosResources(components.fault_engine, settings.region),
            buckets,
            AuditResources(components.archives, components.audit_log, messages),
            PruneResources(components.pruning),
            *(each for extension in components.extensions.values() for each in extension.resources()),
            MetricsResources(self.status, components.fault_engine.list, counts),
            SnapshotResources(self._snapshots),
            SameCommandResources(components.fault_engine),
            *self._more_resources,
        ]
        return self._guard(
            control_app(resources, VERSION, self.components.report_failure, settings.token),
            admit_pages(access_policies.CONTROL, settings.token),
        )

    def _guard(self, app: App, policy: AccessPolicy) -> App:
        return Guard(app, policy, self._admission, self.components.events)

    @property
    def _admission(self) -> Admission:
        settings, tls = self.settings, self.components.tls
        hosts = (settings.host, *settings.allowed_hosts, *([tls.host.strip("[]")] if tls else []))
        return Admission.of(hosts, settings.allowed_origins, settings.token)


def choose_broker(settings: Settings) -> Callable[..., Broker]:
    """Choose what answers on the AMQP port: an upstream, our own broker, RabbitMQ beside us, or nothing."""
    if settings.upstream_amqp is not None:
        from emulator.assembly.relayed_broker import RelayedBroker

        return RelayedBroker
    return EmbeddedBroker if settings.amqp in {None, "embedded"} else SidecarBroker


@contextmanager
def embedded(
    settings: Settings,
    clock: Clock | None = None,
    more: Iterable[MakeResources] = (),
    interceptors: Iterable[Interceptor] = (),
    trace: Trace | None = None,
    *,
    contract: Contract = CONTRACT,
) -> Iterator[Embedded]:
    """Run an emulator on its own thread while the context lasts, for callers without an event loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="emulator", daemon=True)
    thread.start()
    emulator = Embedded(settings, clock, more, interceptors, trace, contract=contract)

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    try:
        run(emulator.__aenter__())
        try:
            yield emulator
        finally:
            run(emulator.__aexit__())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
