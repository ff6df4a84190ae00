"""The main loop of an application: it receives, works, answers and shows the activity log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sandbox.applications.activity_log import ActivityLogEntry, entries_after
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import Receiver
from sandbox.repository import Repository

_AT_ONCE: Final = 100


def run_application(
    receiver: Receiver,
    outbox: Outbox,
    repository: Repository,
    show: Callable[[ActivityLogEntry], None],
    finished: Callable[[], bool],
    *,
    work: Callable[[], int] = lambda: 0,
    wait: float = 0.6,
) -> None:
    """Receive and answer until nothing arrived for ``wait`` seconds and ``finished`` is true.

    ``work`` is called after each batch and returns the number of messages that it worked on. A log entry is
    shown after its transaction is committed. Raises as ``Receiver.step`` and ``Gateway.flush``.
    """
    shown = max((entry.row for entry in entries_after(repository, 0)), default=0)
    outbox.flush()
    while True:
        came = receiver.step(limit=_AT_ONCE, wait=wait) + work()
        outbox.flush()
        for entry in entries_after(repository, shown):
            show(entry)
            shown = entry.row
        if not came and finished():
            return
