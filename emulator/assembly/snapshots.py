"""The snapshots of a running sandbox: saved, loaded, listed and removed, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from emulator.assembly import whole_state
from emulator.clock import stopwatch
from emulator.snapshots.snapshot_errors import SnapshotError
from emulator.snapshots.snapshot_store import SnapshotStore, check_name
from rdss_sandbox.shapes.snapshots import Loaded, Snapshot, SnapshotList

if TYPE_CHECKING:
    from emulator.assembly.components import Components
    from emulator.assembly.own_infrastructure import OwnState


class KeptSnapshots:
    """The snapshots in ``folder``; with None they are in memory, and end with the sandbox.

    Those in ``more`` can be loaded too, unless one here has their name.

    Every method raises ``SnapshotError``, also where the sandbox relays to an upstream, and OSError.
    """

    def __init__(self, components: Components, folder: Path | None, more: Path | None = None) -> None:
        self._components = components
        self._folder = folder
        self._store = SnapshotStore(folder, more)

    def list(self) -> SnapshotList:
        """Every snapshot, by name."""
        self._require_state()
        return SnapshotList(self._store.list(), str(self._folder) if self._folder else None)

    def save(self, name: str) -> Snapshot:
        """Save the present state, in place of an earlier snapshot of this name."""
        check_name(name)
        components, state = self._components, self._require_state()
        with components.resetting:
            saved = whole_state.save(components, state)
            records = sum(view.records for view in components.streams.streams(components.home))
            kept = self._store.save(Snapshot(name, components.clock.time(), records), saved)
        components.events.emit("snapshot.saved", snapshot=name, records=kept.records, bytes=kept.bytes)
        return kept

    def load(self, name: str) -> Loaded:
        """Replace the state of the sandbox by what was saved.

        When the process dies meanwhile, the next start finishes it.
        """
        began = stopwatch()
        with self._components.resetting:
            snapshot, left_out = self._load(name)
            self._components.archives.start()
        loaded = Loaded(snapshot, stopwatch() - began, left_out)
        self._emit_loaded(loaded)
        return loaded

    def remove(self, name: str) -> SnapshotList:
        """Remove a snapshot and return those that are left."""
        self._require_state()
        with self._components.resetting:
            self._store.remove(name)
        self._components.events.emit("snapshot.removed", snapshot=name)
        return self.list()

    def finish(self) -> None:
        """Finish the load during which an earlier process died, if there was one. Archives start later."""
        if self._store.unfinished:
            began = stopwatch()
            snapshot, left_out = self._load(self._store.unfinished)
            self._emit_loaded(Loaded(snapshot, stopwatch() - began, left_out))

    def _load(self, name: str) -> tuple[Snapshot, tuple[str, ...]]:
        state = self._require_state()
        # All of it is read and checked before anything changes.
        snapshot, saved = self._store.read(name)
        with self._loading(name) as number:
            return snapshot, whole_state.load(self._components, state, saved, number)

    def _emit_loaded(self, loaded: Loaded) -> None:
        name, records = loaded.snapshot.name, loaded.snapshot.records
        self._components.events.emit(
            "snapshot.loaded",
            snapshot=name,
            records=records,
            seconds=loaded.seconds,
            left_out=loaded.left_out,
        )

    @contextmanager
    def _loading(self, name: str) -> Iterator[int]:
        """Note the begin and the end of a load, and yield its number."""
        number = self._store.begin_load(name)
        try:
            yield number
        except Exception as error:
            why = str(error) or repr(error)
            raise SnapshotError(
                f"the load of the snapshot {name!r} stopped half way ({why}): the state is a mixture. "
                "Load it again, or start anew: the next start finishes the load"
            ) from error
        self._store.end_load()

    def _require_state(self) -> OwnState:
        state = self._components.infrastructure.state
        if state is None:
            where = self._components.settings.upstream_aws or "AWS"
            raise SnapshotError(
                f"this sandbox relays to {where}, whose state it cannot save: use snapshots with the profile "
                "embedded"
            )
        return state
