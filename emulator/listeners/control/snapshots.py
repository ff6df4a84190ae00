"""``/snapshots``: the whole state of the sandbox, saved and loaded."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final, Protocol

from emulator.listeners.control.endpoint_routing import handles, translate_errors
from emulator.snapshots.snapshot_errors import BadNameError, NoSnapshotError, SnapshotError, UnreadableError
from rdss_sandbox.api import snapshots as api
from rdss_sandbox.shapes.snapshots import Loaded, Snapshot, SnapshotList

_REFUSED: Final = (
    (BadNameError, HTTPStatus.BAD_REQUEST, "bad_name"),
    (NoSnapshotError, HTTPStatus.NOT_FOUND, "no_such_snapshot"),
    (UnreadableError, HTTPStatus.CONFLICT, "unreadable"),
    (SnapshotError, HTTPStatus.CONFLICT, "no_snapshots"),
)


class Snapshots(Protocol):
    """The snapshots of the running sandbox. Every method raises ``SnapshotError`` and OSError."""

    def list(self) -> SnapshotList: ...
    def save(self, name: str) -> Snapshot: ...
    def load(self, name: str) -> Loaded: ...
    def remove(self, name: str) -> SnapshotList: ...


class SnapshotResources:
    """The resources under ``/snapshots``."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    @handles(api.Snapshots.list)
    def list(self) -> SnapshotList:
        with translate_errors(*_REFUSED):
            return self._snapshots.list()

    @handles(api.Snapshots.save)
    def save(self, name: str) -> Snapshot:
        with translate_errors(*_REFUSED):
            return self._snapshots.save(name)

    @handles(api.Snapshots.load)
    def load(self, name: str) -> Loaded:
        with translate_errors(*_REFUSED):
            return self._snapshots.load(name)

    @handles(api.Snapshots.remove)
    def remove(self, name: str) -> SnapshotList:
        with translate_errors(*_REFUSED):
            return self._snapshots.remove(name)
