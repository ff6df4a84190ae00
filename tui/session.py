"""The interface of the app that screens and widgets use."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, cast

from rdss_sandbox.client import AsyncClient
from rdss_sandbox.shapes.contract import Contract
from rdss_sandbox.shapes.events import News
from rdss_sandbox.shapes.topology import Topology
from tui.keys.preferences import Preferences
from tui.state.worker_messages import ActionFailed, ObservedState

if TYPE_CHECKING:
    from textual.dom import DOMNode


class Session(Protocol):
    """The connection to one sandbox, its last known state, and the user's preferences.

    ``contract`` has no fields and no codes before it is known. ``lost`` is the reason why the sandbox does
    not answer, or is empty. ``command`` is the shell command that does the same as the last action.
    ``failures`` are the errors of calls to the sandbox and to files.
    """

    client: AsyncClient
    preferences: Preferences
    command: str

    @property
    def contract(self) -> Contract: ...
    @property
    def snapshot(self) -> ObservedState | None: ...
    @property
    def news(self) -> News: ...
    @property
    def topology(self) -> Topology: ...
    @property
    def lost(self) -> str: ...
    @property
    def failures(self) -> tuple[type[Exception], ...]: ...

    @property
    def now(self) -> float:
        """The sandbox's time in the last snapshot, in seconds since the epoch; 0 before the first."""

    def run_in_background(self, work: Coroutine[Any, Any, str], command: str = "") -> None:
        """Run ``work``, notify the user of its result, and show ``command``, the shell command for it."""


@contextmanager
def posting_failures(node: DOMNode) -> Iterator[None]:
    """Post a failure of a call to the sandbox, or of what the user wrote, as ``ActionFailed``."""
    try:
        yield
    except session_of(node).failures as error:
        node.post_message(ActionFailed(str(error)))


def session_of(node: DOMNode) -> Session:
    """The session that a screen or widget belongs to."""
    return cast("Session", node.app)
