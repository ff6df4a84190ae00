"""The queues of a running sandbox: engine, views on streams, port, subscribers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

from emulator.assembly.component import Component, ExtensionPort, Saved
from emulator.channels.checkpoints.checkpoint_file import CheckpointFile
from emulator.http.asgi import App
from emulator.journal import put_aside
from extensions.queues import queue_access_policy
from extensions.queues.control import QueueResources
from extensions.queues.engine import QueueEngine
from extensions.queues.settings import USUAL_PORT, QueueSettings
from extensions.queues.stream_views import StreamViewSource, attach_views
from extensions.queues.view_arrivals import Arrivals
from extensions.queues.webhooks.notifier import Notifier

if TYPE_CHECKING:
    from emulator.assembly.components import Components
    from emulator.assembly.data_directory import DataDirectory

LOG = "queues.log"
POSITIONS = "queue-positions.log"


class QueueComponent(Component):
    """The ``engine`` has all queues; those that are views go on in their streams at their ``checkpoints``."""

    def __init__(self, components: Components) -> None:
        settings, directory = components.settings, components.directory
        self._components = components
        self._settings = settings.of(QueueSettings)
        if directory is not None:
            _forget_positions(components, directory)
        self.engine = QueueEngine(
            directory.path / LOG if directory else None,
            components.clock,
            components.events,
            fsync=settings.fsync,
            destinations=components.destinations,
        )
        positions = directory.path / POSITIONS if directory else None
        self.checkpoints = CheckpointFile(positions)
        if self.checkpoints.torn_bytes:
            components.events.emit("journal.cut", file=str(positions), bytes=self.checkpoints.torn_bytes)
        topology = settings.topology
        attach_views(self.engine, {*topology.archives, *topology.claimable}, self._open_source)
        self._working = ExitStack()

    def _open_source(self, stream: str) -> StreamViewSource:
        components = self._components
        return StreamViewSource(
            components.streams,
            stream,
            clock=components.clock,
            checkpoints=self.checkpoints,
            fault_engine=components.fault_engine,
            scope=components.home,
        )

    def ports(self) -> Sequence[ExtensionPort]:
        asked = self._settings.queues_port
        return [ExtensionPort("queues", USUAL_PORT, asked, self._build_app, queue_access_policy.POLICY)]

    def _build_app(self) -> App:
        from extensions.queues.http import QueuesApp

        components = self._components
        return QueuesApp(self.engine, components.events, components.settings.token)

    def resources(self) -> Sequence[object]:
        return [QueueResources(self.engine)]

    def start(self) -> None:
        components = self._components
        self.engine.watch()
        notifier = Notifier(
            self.engine,
            components.clock,
            components.events,
            confirming=self._settings.confirm_subscriptions,
        )
        self._working.callback(notifier.close)
        self._working.enter_context(components.events.subscribed(notifier.note_event))
        self._working.callback(Arrivals(self.engine, components.streams, components.events).close)

    def stop(self) -> None:
        self._working.close()

    def close(self) -> None:
        self.checkpoints.close()
        self.engine.close()

    def held(self) -> AbstractContextManager[object]:
        return self.engine.held()

    def save(self) -> Mapping[str, Sequence[bytes]]:
        # Checkpoints first: one that is behind only repeats work, one that is ahead would lose some.
        return {"checkpoints": self.checkpoints.save(), "queues": self.engine.save()}

    def load(self, saved: Saved, number: int) -> None:
        del number
        self.checkpoints.load(saved.get("checkpoints", ()))
        self.engine.load(saved.get("queues", ()))

    def reset(self) -> None:
        self.engine.clear()


def _forget_positions(components: Components, directory: DataDirectory) -> None:
    """Where the queues are lost, put aside how far they had read: they read their streams again."""
    positions = directory.path / POSITIONS
    if directory.inventory.loss_of(directory.path / LOG) is not None and positions.exists():
        to = put_aside(positions, directory.path)
        why = "the queues that had read so far are lost: they read their streams again"
        components.events.emit("journal.put_aside", file=str(positions), to=str(to), why=why)
