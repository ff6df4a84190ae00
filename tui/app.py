"""The app: one mode a screen, the state of the sandbox, and what is common to every screen."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

from textual import work
from textual.reactive import reactive
from textual.screen import Screen

from rdss_sandbox.client import AsyncClient, RefusedError, UnreachableError
from rdss_sandbox.shapes.topology import AuditTap, Topology
from tui.keys.preferences import Preferences
from tui.screens.audit import AuditScreen
from tui.screens.buckets import BucketsScreen
from tui.screens.errors import ErrorsScreen
from tui.screens.faults import FaultsScreen
from tui.screens.processing import ProcessingScreen
from tui.screens.queues import QueuesScreen
from tui.screens.scenarios import ScenariosScreen
from tui.screens.sequences import SequencesScreen
from tui.screens.streams import StreamsScreen
from tui.screens.topics import TopicsScreen
from tui.state.feed import keep_looking
from tui.state.worker_messages import Done, Lost, Seen, Snapshot, Undone
from tui.themed_app import ThemedApp


class SandboxApp(ThemedApp):
    """A look into the sandbox behind ``client``."""

    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        "streams": StreamsScreen,
        "sequences": SequencesScreen,
        "audit": AuditScreen,
        "errors": ErrorsScreen,
        "faults": FaultsScreen,
        "buckets": BucketsScreen,
        "processing": ProcessingScreen,
        "queues": QueuesScreen,
        "topics": TopicsScreen,
        "scenarios": ScenariosScreen,
    }
    DEFAULT_MODE = "streams"
    # What talking to the sandbox and to files can end in; a message says so, and nothing else happens.
    failures: ClassVar[tuple[type[Exception], ...]] = (UnreachableError, RefusedError, OSError, ValueError)

    snapshot: reactive[Snapshot | None] = reactive(None, repaint=False)
    topology: reactive[Topology] = reactive(Topology(audit=AuditTap()), repaint=False)
    lost: reactive[str] = reactive("", repaint=False)
    command: reactive[str] = reactive("", repaint=False)

    def __init__(self, client: AsyncClient, preferences: Preferences) -> None:
        super().__init__(preferences)
        self.client = client

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(keep_looking(self.client, self.post_message), group="feed")

    async def on_unmount(self) -> None:
        await self.client.close()

    # What workers say.

    def on_seen(self, message: Seen) -> None:
        if self.lost:
            self.lost = ""
            self.notify("connected again")
        self.topology = message.snapshot.status.topology
        self.snapshot = message.snapshot

    def on_lost(self, message: Lost) -> None:
        if not self.lost:
            self.notify(message.why, severity="error", title="connection lost", timeout=10)
        self.lost = message.why

    def on_done(self, message: Done) -> None:
        self.command = message.command or self.command
        if message.said:
            self.notify(message.said, markup=False)

    def on_undone(self, message: Undone) -> None:
        self.notify(message.why, severity="error", timeout=10, markup=False)

    @property
    def now(self) -> float:
        """The sandbox's time as last seen, seconds since the epoch; 0 before."""
        return self.snapshot.status.clock.time if self.snapshot else 0.0

    def run_in_background(self, work: Coroutine[Any, Any, str], command: str = "") -> None:
        """Do ``work`` beside the screen, say what it returns, show ``command`` as the way to script it."""
        self._run_in_background(work, command)

    @work(group="errands")
    async def _run_in_background(self, work: Coroutine[Any, Any, str], command: str) -> None:
        try:
            self.post_message(Done(await work, command))
        except self.failures as error:
            self.post_message(Undone(str(error)))
