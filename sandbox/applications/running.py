"""Running an application: what it receives, what it answers, and what it did, as it happens."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.applications.activity_log import ActivityLogEntry, entries_after
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import Receiver
from sandbox.repository import Repository


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
    """Receive and answer until nothing has come for ``wait`` seconds and ``finished`` says that is all.

    ``work`` is what an application does between receiving; how many messages it worked on. Each deed is shown
    once it can no longer be undone. Raises as ``Receiver.step`` and ``Gateway.flush`` do.
    """
    shown = _last(repository)
    outbox.flush()
    while True:
        came = receiver.step(limit=1, wait=wait) + work()
        outbox.flush()
        for deed in entries_after(repository, shown):
            show(deed)
            shown = deed.row
        if not came and finished():
            return


def _last(repository: Repository) -> int:
    deeds = entries_after(repository, 0)
    return deeds[-1].row if deeds else 0
