"""What screens and widgets may use of the app that they are in."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol, cast

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.topology import Topology
from tui.keys.preferences import Preferences
from tui.state.worker_messages import Snapshot

if TYPE_CHECKING:
    from textual.dom import DOMNode


class Session(Protocol):
    """A look into one sandbox: its client, its state as last seen, and what the person set.

    ``lost`` says why the sandbox does not answer, or is empty. ``command`` is the command line that does what
    was just done by hand. ``failures`` are what talking to the sandbox and to files can end in.
    """

    client: AsyncClient
    preferences: Preferences
    command: str

    @property
    def snapshot(self) -> Snapshot | None: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def lost(self) -> str: ...
    @property
    def failures(self) -> tuple[type[Exception], ...]: ...

    @property
    def now(self) -> float:
        """The sandbox's time as last seen, seconds since the epoch; 0 before."""

    def run_in_background(self, work: Coroutine[Any, Any, str], command: str = "") -> None:
        """Do ``work`` beside the screen, say what it returns, show ``command`` as the way to script it."""


def session_of(node: DOMNode) -> Session:
    """The session of the app that a screen or widget is in."""
    return cast("Session", node.app)
