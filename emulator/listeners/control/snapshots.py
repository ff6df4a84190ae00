"""``/snapshots``: the whole state of the sandbox, saved and loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final, Protocol

from emulator.listeners.control.routing import ApiError, handles
from emulator.snapshots.snapshot_errors import SnapshotError
from rdss_sandbox.api import snapshots as api
from rdss_sandbox.shapes.snapshots import Loaded, Snapshot, SnapshotList

_STATUS: Final = {
    "bad_name": HTTPStatus.BAD_REQUEST,
    "no_such_snapshot": HTTPStatus.NOT_FOUND,
}


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
        with _translate_errors():
            return self._snapshots.list()

    @handles(api.Snapshots.save)
    def save(self, name: str) -> Snapshot:
        with _translate_errors():
            return self._snapshots.save(name)

    @handles(api.Snapshots.load)
    def load(self, name: str) -> Loaded:
        with _translate_errors():
            return self._snapshots.load(name)

    @handles(api.Snapshots.remove)
    def remove(self, name: str) -> SnapshotList:
        with _translate_errors():
            return self._snapshots.remove(name)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate the errors of snapshots to those of the control API."""
    try:
        yield
    except SnapshotError as error:
        raise ApiError(_STATUS.get(error.code, HTTPStatus.CONFLICT), error.code, str(error)) from error
