"""The rates and lags of a minute, made of fixed figures."""

from __future__ import annotations


class CannedReadings:
    """The rate or the lag of a minute, as ``Readings`` has it."""

    def __init__(self) -> None:
        self._last: dict[str, float] = {}

    def note(self, name: str, at: float, value: float) -> None:
        """Keep the last reading: how often a test looked is no matter."""
        self._last[name] = value

    def latest_rates(self, _name: str, _most: int) -> list[float]:
        return []

    def latest_levels(self, name: str, _most: int) -> list[float]:
        return [self._last[name]] if self._last.get(name) else []

    def rates(self, _name: str, _now: float, cells: int) -> list[float | None]:
        return [None if cell < cells // 6 else float(40 + cell * 37 % 60) for cell in range(cells)]

    def levels(self, name: str, _now: float, cells: int) -> list[float | None]:
        read = name.partition("/")[0] == "input"
        return [float(max(0, cell * 29 // cells - 12)) if read else None for cell in range(cells)]
