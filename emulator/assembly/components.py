"""The components of a sandbox besides its listeners, and what is done to all of them at once."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from emulator.archive.archives import Archives
from emulator.archive.audit_log import AuditIndexes
from emulator.archive.pruning import Pruning
from emulator.assembly.component import Component
from emulator.assembly.damage import keep_damage, report_losses
from emulator.assembly.data_directory import DataDirectory
from emulator.assembly.foundation import Foundation, open_foundation
from emulator.assembly.own_infrastructure import Infrastructure, own_infrastructure
from emulator.back_off import back_off
from emulator.buckets.service import BucketService
from emulator.clock import Clock, check_time
from emulator.destinations import Destinations
from emulator.diagnosis.diagnosis_service import DiagnosisService
from emulator.events import Events
from emulator.faults.containers import find_containers
from emulator.faults.fault import FaultRefusedError
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.targets import parse_targets
from emulator.kinesis import KinesisError, Scope
from emulator.listeners.aws.stream_access import BadPermissionError, StreamAccess
from emulator.machine.port_tls import PortTls
from emulator.message_index.index import MessageIndex
from emulator.rng import Chance
from emulator.settings.setting_errors import SettingsError
from emulator.settings.settings import Settings
from emulator.streams.amqp_log import AmqpLog
from emulator.streams.stream_catalogue import Catalogue
from emulator.streams.stream_service import StreamService
from rdss_sandbox.installed_extensions import import_parts
from rdss_sandbox.shapes.status import Reset
from rdss_sandbox.shapes.topology import LEAST_RECORD_KIB, Populated, StreamForm, Topology
from schemas.bound import CONTRACT
from schemas.contract import Contract

_DELETED_AT_ONCE: Final = 8
"""Streams that are deleted at the same time, since an upstream may take a second for each."""
_TRANSITION_SECONDS: Final = 10.0
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True)
class Components:
    """The components of a sandbox, on their ``foundation``.

    The ``extensions``, by name, are built on top, and are reset, saved and loaded with the rest. ``damage``
    has a line for each thing that an earlier process stored and this one could not find.
    """

    foundation: Foundation
    infrastructure: Infrastructure
    catalogue: Catalogue
    fault_engine: FaultEngine
    access: StreamAccess
    index: MessageIndex
    archives: Archives
    audit_log: AuditIndexes | None
    amqp: AmqpLog
    pruning: Pruning
    diagnosis: DiagnosisService
    damage: Sequence[str] = ()
    resetting: threading.Lock = field(default_factory=threading.Lock)
    on_reset: list[Callable[[], None]] = field(default_factory=list)
    extensions: dict[str, Component] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        return self.foundation.settings

    @property
    def contract(self) -> Contract:
        return self.foundation.contract

    @property
    def directory(self) -> DataDirectory | None:
        return self.foundation.directory

    @property
    def clock(self) -> Clock:
        return self.foundation.clock

    @property
    def events(self) -> Events:
        return self.foundation.events

    @property
    def home(self) -> Scope:
        return self.foundation.home

    @property
    def destinations(self) -> Destinations:
        return self.foundation.destinations

    @property
    def tls(self) -> PortTls | None:
        return self.foundation.tls

    @property
    def trust(self) -> Path | None:
        return self.foundation.trust

    @property
    def streams(self) -> StreamService:
        return self.infrastructure.streams

    @property
    def buckets(self) -> BucketService:
        return self.infrastructure.buckets

    def find(self, extension: str) -> Component | None:
        """What an extension has here; None for one that is not installed."""
        return self.extensions.get(extension)

    def report_failure(self, error: Exception) -> None:
        """Tell of a request that failed for no reason that its client could mend."""
        trace = "".join(traceback.format_exception(error))
        self.events.emit("request.failed", error=repr(error), trace=trace)

    def populate(self, topology: Topology | None = None) -> Populated:
        """Create what is missing of ``topology``, by default the sandbox's own. Raises ``KinesisError``."""
        declared = self.settings.topology if topology is None else topology
        existing = {view.name for view in self.streams.streams(self.home)}
        missing = tuple(name for name in declared.streams if name not in existing)
        with self.infrastructure.unlimited():
            for name in missing:
                form = declared.streams[name]
                self._create_stream(name, StreamForm(form) if isinstance(form, int) else form)
        return Populated(missing, self.buckets.want(declared.buckets))

    def reset(self, values: Reset | None = None) -> None:
        """Remove faults, streams, queues, messages and objects, set the clock to real time, and populate.

        ``values`` has another seed, or another time for the clock. What an upstream has stays, unless this
        sandbox owns the upstream. Raises BadTimeError.
        """
        with self.resetting:
            self._reset(values or Reset())

    def _reset(self, values: Reset) -> None:
        if values.time is not None:
            check_time(values.time)
        # What is being copied would arrive in the buckets that are made again.
        self.archives.pause()
        self.fault_engine.clear()
        if values.seed is not None:
            self.fault_engine.reseed(values.seed)
        self.access.reset()
        if self.infrastructure.owned:
            self._delete_everything()
        self.amqp.clear()
        self.index.clear()
        if self.audit_log:
            self.audit_log.clear()
        if not self.clock.state().real:
            self.clock.resume_real_time()
        if values.time is not None:
            # Before the streams are made, which are not to be younger than their records.
            self.clock.set_time(values.time)
        self.populate()
        self.archives.reset()
        self.diagnosis.clear()
        for reset in self.on_reset:
            reset()
        for extension in self.extensions.values():
            extension.reset()
        self.add_faults()
        self.events.emit("sandbox.reset", kept=not self.infrastructure.owned)

    def add_faults(self) -> None:
        """Put the faults of the settings in force. Raises SettingsError for an invalid one."""
        for fault in self.settings.faults:
            try:
                self.fault_engine.add(fault)
            except FaultRefusedError as error:
                raise SettingsError(
                    f"the fault {fault.name or fault.type} (--fault, or the settings): {error}"
                ) from error

    def _create_stream(self, name: str, form: StreamForm) -> None:
        request: dict[str, object] = {"StreamName": name}
        if form.mode == "PROVISIONED":
            request["ShardCount"] = form.shards
        else:
            request["StreamModeDetails"] = {"StreamMode": form.mode}
        # An older upstream does not know the parameter, so it is named only where it says something.
        if form.max_record_kib > LEAST_RECORD_KIB:
            request["MaxRecordSizeInKiB"] = form.max_record_kib
        try:
            self.streams.call("CreateStream", request, self.home)
            self.infrastructure.finish(name, self.home)
        except KinesisError as error:
            # Another user of the upstream created it in the meantime.
            if error.code != "ResourceInUseException":
                raise

    def _delete_everything(self) -> None:
        existing = [
            (scope, view.name) for scope in self.streams.scopes() for view in self.streams.streams(scope)
        ]
        with self.infrastructure.unlimited(), ThreadPoolExecutor(_DELETED_AT_ONCE) as pool:
            list(pool.map(lambda stream: self._delete_stream(*stream), existing))
        self.buckets.empty()

    def _delete_stream(self, scope: Scope, name: str) -> None:
        request = {"StreamName": name, "EnforceConsumerDeletion": True}
        waiting = Clock()
        for pause in back_off(_FIRST_PAUSE, _LONGEST_PAUSE):
            try:
                # A stream that is CREATING, UPDATING or DELETING refuses this, so its transition ends first.
                self.infrastructure.finish(name, scope)
                self.streams.call("DeleteStream", request, scope)
                self.infrastructure.finish(name, scope)
            except KinesisError as error:
                if error.code == "ResourceNotFoundException":  # its owner deleted it in the meantime
                    return
                # The transition of an upstream's stream ends by itself.
                if error.code != "ResourceInUseException" or waiting.elapsed() > _TRANSITION_SECONDS:
                    raise
            else:
                return
            waiting.wait(pause)


@contextmanager
def build_components(
    settings: Settings, clock: Clock | None = None, *, served: bool = False, contract: Contract = CONTRACT
) -> Iterator[Components]:
    """Build the components that the settings describe, populated, and close them at the end.

    Raises ``DirectoryInUseError``, ``DamagedLogError``, ``OtherFormatError``, ``OtherVersionError``,
    ``SettingsError``, and OSError when the data directory cannot be used.
    """
    with ExitStack() as stack:
        foundation = stack.enter_context(open_foundation(settings, clock or Clock(), contract))
        damage: list[str] = []
        with foundation.events.subscribed(partial(keep_damage, damage)):
            if foundation.directory and foundation.log:
                report_losses(foundation.directory, foundation.events, foundation.log)
            components = _build_parts(stack, foundation, damage, served=served)
            for name, build_component in import_parts("component").items():
                component: Component = build_component(components)
                components.extensions[name] = component
                stack.callback(component.close)
        if settings.lambda_loaders and components.archives.find_trouble is None:
            raise SettingsError(
                "lambda_loaders is set, and nothing here runs functions: install the extension functions"
            )
        components.populate()
        components.add_faults()
        yield components


def _build_parts(
    stack: ExitStack, foundation: Foundation, damage: Sequence[str], *, served: bool
) -> Components:
    """Build the components without the extensions; ``stack`` closes them."""
    settings, contract, home = foundation.settings, foundation.contract, foundation.home
    directory, clock, events = foundation.directory, foundation.clock, foundation.events
    infrastructure = stack.enter_context(_choose_infrastructure(settings)(foundation))
    for noted in (infrastructure.recorder.strikes, infrastructure.recorder.batches):
        stack.enter_context(events.subscribed(noted.note_event))
    streams, audit = infrastructure.streams, settings.topology.audit
    wiretap = infrastructure.recorder.wiretap
    log = AmqpLog(directory.amqp if directory else None, clock, home, events, wiretap)
    amqp = stack.enter_context(closing(log))
    catalogue = Catalogue(streams, home, amqp, copies=(audit.stream,) if audit else ())
    index = MessageIndex(catalogue, infrastructure.index, contract=contract, found=events.emit)
    stack.callback(index.close)
    audit_log = None
    if audit:
        client = infrastructure.buckets.client
        audit_log = AuditIndexes(audit, catalogue, client, infrastructure.index, contract=contract)
        stack.callback(audit_log.close)
    fault_engine = stack.enter_context(closing(_build_fault_engine(foundation, streams, served=served)))
    archives = Archives(
        streams=streams,
        amqp=amqp,
        clock=clock,
        events=events,
        scope=home,
        topology=settings.topology,
        buckets=infrastructure.buckets,
        checkpoints=infrastructure.positions,
        deploying=settings.lambda_loaders,
    )
    return Components(
        foundation=foundation,
        infrastructure=infrastructure,
        catalogue=catalogue,
        fault_engine=fault_engine,
        access=_build_access(settings, events, infrastructure),
        index=index,
        archives=archives,
        audit_log=audit_log,
        amqp=amqp,
        pruning=Pruning(infrastructure.buckets, events, clock, settings.topology, settings.retention),
        damage=damage,
        diagnosis=DiagnosisService(infrastructure.recorder, catalogue, clock, events, contract),
    )


def _build_access(settings: Settings, events: Events, infrastructure: Infrastructure) -> StreamAccess:
    try:
        return StreamAccess(events, infrastructure.stream_of_iterator, settings.access)
    except BadPermissionError as error:
        raise SettingsError(f"an access of the settings: {error}") from error


def _build_fault_engine(foundation: Foundation, streams: StreamService, *, served: bool) -> FaultEngine:
    """The fault engine, and all that it may strike but the processes that the sandbox starts later."""
    settings, home = foundation.settings, foundation.home
    try:
        named = parse_targets(settings.targets)
    except ValueError as error:
        raise SettingsError(f"targets: {error}") from error
    return FaultEngine(
        Chance(settings.seed),
        foundation.clock,
        foundation.events,
        contract=foundation.contract,
        control=lambda operation, request: streams.call(operation, request, home),
        streams=lambda: streams.names(home),
        served=served,
        targets=find_containers(settings.containers) | named,
    )


def _choose_infrastructure(
    settings: Settings,
) -> Callable[[Foundation], AbstractContextManager[Infrastructure]]:
    if settings.upstream_aws is None and settings.profile != "aws":
        return own_infrastructure
    from emulator.assembly.upstream_infrastructure import upstream_infrastructure

    return upstream_infrastructure
