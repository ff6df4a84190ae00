"""The power of a simulated sandbox's machine: where it goes, what was not flushed may go too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from emulator.rng import Draws
from tests.power.cut_runs import idle_disk
from tests.power.power_cuts import WAYS, Disk
from tests.power.recorded_disk import RecordedDisk

_WITH_THE_PROCESS: Final = 0.5
_CUTS: Final = sorted(WAYS.keys() - {"kept"})


class PowerSupply:
    """Goes with some of the processes that die. ``cutting`` is called then, before the next start."""

    def __init__(self, folder: Path, draws: Draws, tell: Callable[[str], None]) -> None:
        folder.mkdir()
        self.cutting: list[Callable[[], None]] = []
        self._recorded = RecordedDisk(folder)
        self._disk = Disk()
        self._draws = draws
        self._tell = tell

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Write down what is changed and flushed below the folder while the context lasts."""
        with idle_disk(), self._recorded.recording():
            yield

    def end_with_process(self) -> None:
        """The process has died, and maybe the power has gone: then a cut's remains are the disk."""
        if self._draws.random() >= _WITH_THE_PROCESS:
            return
        way = self._draws.choice(_CUTS)
        self._tell(f"power cut: {way}")
        left = self._take_changes().cut(way, self._draws)
        self._disk = Disk()
        self._recorded.replace(left)
        self._take_changes()
        for each in self.cutting:
            each()

    def _take_changes(self) -> Disk:
        for change in self._recorded.changes:
            self._disk.take(change)
        self._recorded.changes.clear()
        return self._disk
