"""What everyone in a run shares: the sandbox, the tasks, the chance, the log, and what must hold."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from emulator.channels.checkpoints import Checkpoints
from emulator.channels.memory import MemoryChannel
from emulator.rng import Chance, Draws
from tests.simulation.mortal_disk import MortalDisk
from tests.simulation.power_supply import PowerSupply
from tests.simulation.simulated_sandbox import DistantStreams, SimulatedSandbox
from tests.simulation.virtual_time import SeededTasks


class BrokenInvariantError(Exception):
    """The run has shown that something does not hold: ``invariant`` names it."""

    def __init__(self, invariant: str, why: str) -> None:
        super().__init__(f"{invariant}: {why}")
        self.invariant = invariant


@dataclass
class SimulatedWorld:
    """One run; ``is_ending`` from when clients begin nothing new. ``lines`` is the run's event log."""

    root: Path
    chance: Chance
    fsync: bool
    is_ending: bool = False
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tasks = SeededTasks(self.chance.draws("order"))
        self.clock = self.tasks.clock
        self.disk = MortalDisk(self.chance.draws("disk"), self.tell)
        self.sandbox = SimulatedSandbox(
            self.root / "data", self.tasks, self.disk, self.chance, self.tell, fsync=self.fsync
        )

    def connect_power(self) -> AbstractContextManager[None]:
        """Have the sandbox on a machine whose power goes with some of its processes."""
        power = PowerSupply(self.root / "data", self.chance.draws("power"), self.tell)
        self.sandbox.power, self.disk.passes_syncs = power, True
        return power.installed()

    def tell(self, what: str) -> None:
        """Add a line to the run's log, with the time."""
        self.lines.append(f"{self.clock.elapsed():.3f} {what}")

    def require(self, holds: object, invariant: str, why: str) -> None:
        """Raise BrokenInvariantError unless something holds."""
        if not holds:
            self.fail(invariant, why)

    def fail(self, invariant: str, why: str) -> NoReturn:
        self.tell(f"BROKEN {invariant}: {why}")
        raise BrokenInvariantError(invariant, why)

    def distant_streams(self, draws: Draws) -> DistantStreams:
        return DistantStreams(self.sandbox, draws)

    def open_channel(
        self, name: str, draws: Draws, checkpoints: Checkpoints | None = None, *, faulted: bool = False
    ) -> MemoryChannel:
        """A client's channel, over a network to the sandbox, with the faults in force on it or without."""
        faults = self.sandbox.faults if faulted else None
        return MemoryChannel(
            self.distant_streams(draws), name, clock=self.clock, checkpoints=checkpoints, fault_engine=faults
        )
