"""The app: a mode for each screen, the state of the sandbox, and background work for all screens."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, ClassVar

from textual import work
from textual.reactive import reactive
from textual.screen import Screen

from rdss_sandbox.client import AsyncClient, RefusedError, UnreachableError
from rdss_sandbox.extension import import_place
from rdss_sandbox.shapes.events import News
from rdss_sandbox.shapes.topology import AuditTap, Topology
from tui.dialogs.prompt import Prompt, ask
from tui.keys.actions import SCREENS, places
from tui.keys.preferences import Preferences
from tui.panes.message_browser import MessageBrowser
from tui.screens.audit import AuditScreen
from tui.screens.base import MainScreen
from tui.screens.buckets import BucketsScreen
from tui.screens.error_queues import ErrorsScreen
from tui.screens.faults import FaultsScreen
from tui.screens.scenarios import ScenariosScreen
from tui.screens.sequences import SequencesScreen
from tui.screens.streams import StreamsScreen
from tui.state import goto
from tui.state.feed import follow_sandbox
from tui.state.named_places import find_place, gather_places, is_message_id
from tui.state.worker_messages import (
    ActionDone,
    ActionFailed,
    ConnectionLost,
    NewsArrived,
    ObservedState,
    SnapshotTaken,
)
from tui.themed_app import ThemedApp

_WHERE = (
    "a screen, stream, shard, fault, code, scenario, bucket, queue or topic; a message id; "
    "among messages a sequence number, 14:05, -10m, #123, LATEST, TRIM_HORIZON"
)


def _open_screen(place: str) -> Screen[Any]:
    screen: Screen[Any] = import_place(place)()
    return screen


def _list_screens() -> dict[str, str]:
    """The mode of each screen by its name, as it is written after ``:``."""
    return {label.lower(): mode for _, mode, label in places()}


class SandboxApp(ThemedApp):
    """The TUI of the sandbox behind ``client``; it implements ``Session``."""

    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        "streams": StreamsScreen,
        "sequences": SequencesScreen,
        "audit": AuditScreen,
        "errors": ErrorsScreen,
        "faults": FaultsScreen,
        "buckets": BucketsScreen,
        "scenarios": ScenariosScreen,
        **{screen.name: partial(_open_screen, screen.place) for screen in SCREENS},
    }
    DEFAULT_MODE = "streams"
    # Errors of calls to the sandbox and to files. They are shown as a notification.
    failures: ClassVar[tuple[type[Exception], ...]] = (UnreachableError, RefusedError, OSError, ValueError)

    snapshot: reactive[ObservedState | None] = reactive(None, repaint=False)
    news: reactive[News] = reactive(News(), repaint=False, always_update=True)
    topology: reactive[Topology] = reactive(Topology(audit=AuditTap()), repaint=False)
    lost: reactive[str] = reactive("", repaint=False)
    command: reactive[str] = reactive("", repaint=False)

    def __init__(self, client: AsyncClient, preferences: Preferences) -> None:
        super().__init__(preferences)
        self.client = client

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(follow_sandbox(self.client, self.post_message), group="feed")

    async def on_unmount(self) -> None:
        # A worker that still asks would fail with a closed client.
        self.workers.cancel_all()
        await self.client.close()

    # Going anywhere.

    def action_goto(self) -> None:
        if self.snapshot:
            self._ask_where(self.snapshot)

    @work(group="goto", exclusive=True)
    async def _ask_where(self, snapshot: ObservedState) -> None:
        try:
            named = await gather_places(self.client, snapshot, _list_screens())
        except self.failures as error:
            self.post_message(ActionFailed(str(error)))
            return
        prompt = Prompt("Go to", hint=_WHERE, words=(*named, *goto.WORDS))
        ask(self.screen, prompt, partial(self._go_to, named))

    @work(group="goto", exclusive=True)
    async def _go_to(self, named: Mapping[str, str], text: str) -> None:
        """Show what is named ``text``, the message with such an id, or such a place among the messages."""
        name = find_place(text, named)
        if name is not None:
            mode = named[name]
        elif self.screen.query(MessageBrowser) and not is_message_id(text):
            mode = self.current_mode
        else:
            mode = "streams"
        await self.switch_mode(mode)
        if name is None and is_message_id(text):
            self.screen.query_one(MessageBrowser).show_filter(f"id:{text}*")
        elif name is None:
            self.screen.query_one(MessageBrowser).seek(text)
        elif isinstance(self.screen, MainScreen) and name not in _list_screens():
            self.screen.show_named(name)

    # Messages of workers.

    def on_news_arrived(self, message: NewsArrived) -> None:
        self.news = message.news

    def on_snapshot_taken(self, message: SnapshotTaken) -> None:
        if self.lost:
            self.lost = ""
            self.notify("connected again")
        self.contract = message.snapshot.contract
        self.topology = message.snapshot.status.topology
        self.snapshot = message.snapshot

    def on_connection_lost(self, message: ConnectionLost) -> None:
        if not self.lost:
            self.notify(message.why, severity="error", title="connection lost", timeout=10)
        self.lost = message.why

    def on_action_done(self, message: ActionDone) -> None:
        self.command = message.command or self.command
        if message.said:
            self.notify(message.said, markup=False)

    def on_action_failed(self, message: ActionFailed) -> None:
        self.notify(message.why, severity="error", timeout=10, markup=False)

    @property
    def now(self) -> float:
        """The sandbox's time in the last snapshot, in seconds since the epoch; 0 before the first."""
        return self.snapshot.status.clock.time if self.snapshot else 0.0

    def run_in_background(self, work: Coroutine[Any, Any, str], command: str = "") -> None:
        """Run ``work``, notify the user of its result, and show ``command``, the shell command for it."""
        self._run_and_report(work, command)

    @work(group="background")
    async def _run_and_report(self, work: Coroutine[Any, Any, str], command: str) -> None:
        try:
            self.post_message(ActionDone(await work, command))
        except self.failures as error:
            self.post_message(ActionFailed(str(error)))
