"""What the request on this thread has touched in moto, so that it can be stored before the answer leaves."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import Any, Final

_local: Final = threading.local()
_DELETING: Final = ("Delete", "Purge", "Abort", "Unsubscribe", "Deregister")


class Touched:
    """One request, and the units that it touched, by service.

    ``action`` is the operation's name, "" when the service has none in its requests. ``own`` says that the
    sandbox's own archives send the request. ``outdated``: what it found was replaced while it ran.
    """

    def __init__(self, service: str, method: str, path: str, action: str, *, own: bool) -> None:
        self.service = service
        self.method = method
        self.path = path
        self.action = action
        self.own = own
        self.outdated = False
        self.units: defaultdict[str, list[Any]] = defaultdict(list)

    @property
    def reading(self) -> bool:
        """Whether the method of the request says that it changes nothing."""
        return self.method in {"GET", "HEAD", "OPTIONS"}

    @property
    def deleting(self) -> bool:
        """Whether the request only takes things away, so that it makes room."""
        return self.method == "DELETE" or self.action.startswith(_DELETING)

    @property
    def receiving(self) -> bool:
        """Whether it hands out what is there: that somebody has it may be forgotten (SQS delivers again)."""
        return self.action in {"ReceiveMessage", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch"}


_stray: Final = Touched("", "", "", "", own=False)
_stray_lock: Final = threading.Lock()


def begin(touched: Touched) -> None:
    """Let this thread's changes belong to ``touched``, until ``end``."""
    _local.now = touched


def end() -> None:
    _local.now = None


def current() -> Touched:
    """The request on this thread; outside of requests, a collector that ``take_stray`` empties."""
    return getattr(_local, "now", None) or _stray


def note_touched(service: str, unit: Any) -> None:
    """Note that ``unit`` of ``service`` is new, changed or gone."""
    current().units[service].append(unit)


def take_stray(service: str) -> list[Any]:
    """Take what moto's own threads have touched."""
    # Mostly there is nothing, and that is seen without the lock.
    if service not in _stray.units:
        return []
    with _stray_lock:
        return _stray.units.pop(service, [])


def has_stray(service: str) -> bool:
    """Whether moto's own threads have touched anything of ``service``."""
    return service in _stray.units
