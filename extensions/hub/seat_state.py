"""What a sandbox holds beside its data directory, kept while it is asleep: faults, clock, limited keys."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from emulator.clock import ClockState
from rdss_sandbox.files.rewriting import rewriting
from rdss_sandbox.shapes.access import KeyPermission
from rdss_sandbox.shapes.events import Event

if TYPE_CHECKING:
    from emulator.assembly.components import Components

_CHANGES: Final = frozenset(
    {
        *("fault.added", "fault.changed", "fault.removed", "clock.changed"),
        *("access.permitted", "access.forgotten", "sandbox.reset", "snapshot.loaded", "sandbox.stopped"),
    }
)


class KeptSeat(msgspec.Struct, frozen=True):
    """``faults`` are as the fault engine saves them, with their counts."""

    clock: ClockState
    faults: list[bytes]
    permissions: tuple[KeyPermission, ...]


class SeatState:
    """Restores what the file at ``path`` has, and writes it at each change and at the end.

    A clock that does not show real time stood still while the sandbox was asleep.
    """

    def __init__(self, path: Path, components: Components) -> None:
        self._path = path
        self._components = components
        if path.exists():
            self._restore(msgspec.json.decode(path.read_bytes(), type=KeptSeat))
        self._following = components.events.subscribed(self._note)
        self._following.__enter__()

    def _restore(self, kept: KeptSeat) -> None:
        components, shown = self._components, kept.clock
        if not shown.real:
            now = components.clock.elapsed()
            components.clock.set_state(ClockState(shown.time, shown.speed, real=False, elapsed=now))
        components.access.load(kept.permissions)
        components.fault_engine.load(kept.faults)

    def _note(self, event: Event) -> None:
        if event.kind not in _CHANGES:
            return
        components = self._components
        kept = KeptSeat(
            components.clock.state(),
            components.fault_engine.save(),
            tuple(components.access.permissions()),
        )
        with rewriting(self._path) as draft:
            draft.write_bytes(msgspec.json.encode(kept))


def keeping_state(path: Path) -> partial[SeatState]:
    """Of the components of a sandbox, what keeps their state at ``path``."""
    return partial(SeatState, path)
