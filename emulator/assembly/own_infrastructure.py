"""The infrastructure of a sandbox: an engine and moto in this process, or a running upstream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from emulator.assembly.foundation import Foundation
from emulator.assembly.own_services import OwnServices
from emulator.buckets.moto_buckets import MotoBuckets
from emulator.buckets.service import BucketService
from emulator.diagnosis.recorder import Recorder
from emulator.http.asgi import App
from emulator.kinesis import Engine, Scope
from emulator.listeners.aws.aws_app import AwsApp
from emulator.listeners.aws.engine_backend import EngineBackend
from emulator.listeners.aws.interception import Backend
from emulator.services.service_store import ServiceStore
from emulator.streams.stream_service import StreamService
from emulator.streams.wiretap import Wiretap


class UpstreamFailedError(Exception):
    """The upstream cannot be used. The text says which one, why, and what to do."""


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """The streams and buckets under a sandbox, and the functions that the assembly needs of them.

    ``app`` builds the AWS port's application from ``interceptors``, ``version``, ``access`` and ``reset``.
    ``set_endpoint`` receives that port's URL and token. ``finish`` ends a stream's transition at once, so
    that it is ACTIVE or gone; an upstream's streams are left alone. ``unlimited`` gives a context
    without AWS's limits, for the sandbox's own calls. ``stream_of_iterator`` names the stream of a shard
    iterator, or None when it is unknown.

    ``index`` and ``positions`` are the files of the message index and of the checkpoints, or None where
    nothing outlasts the process. A reset may delete the streams and buckets when ``owned``. ``notes``
    gives hints for people. The ``recorder`` has what clients did. ``state`` is what snapshots are made of,
    and None where an upstream has the streams.
    """

    streams: StreamService
    buckets: BucketService
    backend: Backend
    finish: Callable[[str, Scope], None]
    unlimited: Callable[[], AbstractContextManager[None]]
    stream_of_iterator: Callable[[str], str | None]
    app: Callable[..., App]
    set_endpoint: Callable[[str, str | None], None]
    notes: Callable[[], tuple[str, ...]]
    index: Path | None
    positions: Path | None
    owned: bool
    recorder: Recorder
    state: OwnState | None = None


class OwnState:
    """What the engine and moto hold in this process, as snapshots have it."""

    def __init__(self, engine: Engine, store: ServiceStore, buckets: MotoBuckets) -> None:
        self._engine = engine
        self._store = store
        self._buckets = buckets

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no request change anything while the context lasts."""
        with self._store.held(), self._engine.held():
            yield

    def save(self) -> dict[str, list[bytes]]:
        """Return a copy of everything, for ``load``. Raises ``DamagedLogError`` and OSError."""
        return {"streams": self._engine.save(), "services": self._store.save()}

    def load(self, saved: Mapping[str, Sequence[bytes | memoryview]], leap: int) -> None:
        """Replace everything by what was saved, while it is ``held``. Raises OSError."""
        self._engine.load(saved["streams"], leap)
        self._buckets.forget_all()
        self._store.load(saved["services"])


@contextmanager
def own_infrastructure(foundation: Foundation) -> Iterator[Infrastructure]:
    """The engine and moto, in this process. Raises ``DamagedLogError`` and ``OtherVersionError``."""
    settings, clock, directory = foundation.settings, foundation.clock, foundation.directory
    engine = Engine(
        directory.streams if directory else None,
        clock,
        foundation.events,
        fsync=settings.fsync,
        limits=settings.limits,
        transition_seconds=settings.transition_seconds,
    )
    services = OwnServices(foundation)
    backend = EngineBackend(engine, clock)
    recorder = Recorder(clock, Wiretap(clock, engine.stream_of_iterator))

    try:
        yield Infrastructure(
            streams=engine,
            buckets=services.buckets,
            backend=backend,
            finish=engine.finish,
            unlimited=engine.unlimited,
            stream_of_iterator=engine.stream_of_iterator,
            app=partial(
                AwsApp,
                backend,
                foundation.events,
                prepare_services=services.buckets.prepare,
                keep=services.keep,
                calls=services.calls,
                recorder=recorder,
            ),
            set_endpoint=services.set_endpoint,
            notes=lambda: (),
            index=directory.index if directory else None,
            positions=directory.positions if directory else None,
            owned=True,
            recorder=recorder,
            state=OwnState(engine, services.store, services.buckets),
        )
    finally:
        services.close()
        engine.close()
