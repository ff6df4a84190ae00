"""Snapshots of the whole state of the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.api.endpoint import DELETE, GET, POST, PUT, Mode, Subject
from rdss_sandbox.shapes.snapshots import Loaded, Snapshot, SnapshotList

_ONE: Final = {"bad_name": 400, "no_such_snapshot": 404}


class Snapshots(Subject[Mode], at="/snapshots", errors={"no_snapshots": 409}):
    """Named copies of the whole state of the sandbox, which can be loaded again and again."""

    @GET("")
    def list(self) -> SnapshotList:
        """Every snapshot, by name."""

    @PUT("/{name}", errors={"bad_name": 400})
    def save(self, name: str) -> Snapshot:
        """Save the present state, in place of an earlier snapshot of this name."""

    @POST("/{name}/load", errors={**_ONE, "unreadable": 409})
    def load(self, name: str) -> Loaded:
        """Replace the state of the running sandbox by what was saved."""

    @DELETE("/{name}", errors=_ONE)
    def remove(self, name: str) -> SnapshotList:
        """Remove a snapshot and return those that are left."""
