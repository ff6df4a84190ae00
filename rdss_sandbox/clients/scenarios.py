"""Scenarios and their runs, through the control API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdss_sandbox.shapes.events import Event, EventPage, event_of
from rdss_sandbox.shapes.scenarios import (
    NewRun,
    Scenario,
    ScenarioList,
    ScenarioRun,
    ScenarioRunDetail,
    ScenarioRuns,
)

_EVENTS_AT_ONCE = 5000


class Scenarios:
    """The scenarios and their runs; methods raise as those of ``Client``."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def list(self) -> tuple[Scenario, ...]:
        found: ScenarioList = self._ask(ScenarioList, "GET", "/scenarios")
        return found.scenarios

    def begin(self, run: NewRun) -> ScenarioRun:
        """Start a run and return at once; ``run`` has the verdict when it is done."""
        begun: ScenarioRun = self._ask(ScenarioRun, "POST", "/scenarios/runs", body=run)
        return begun

    def runs(self) -> tuple[ScenarioRun, ...]:
        found: ScenarioRuns = self._ask(ScenarioRuns, "GET", "/scenarios/runs")
        return found.runs

    def run(self, run: int) -> ScenarioRunDetail:
        found: ScenarioRunDetail = self._ask(ScenarioRunDetail, "GET", f"/scenarios/runs/{run}")
        return found

    def events(self, run: int, *, after: int = 0, limit: int = _EVENTS_AT_ONCE) -> tuple[Event, ...]:
        """Up to ``limit`` events of a finished run with an id above ``after``, oldest first."""
        query = {"after": after, "limit": limit}
        page: EventPage = self._ask(EventPage, "GET", f"/scenarios/runs/{run}/events", query=query)
        return tuple(map(event_of, page.events))


class AsyncScenarios:
    """``Scenarios`` for asyncio."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    async def list(self) -> tuple[Scenario, ...]:
        found: ScenarioList = await self._ask(ScenarioList, "GET", "/scenarios")
        return found.scenarios

    async def begin(self, run: NewRun) -> ScenarioRun:
        begun: ScenarioRun = await self._ask(ScenarioRun, "POST", "/scenarios/runs", body=run)
        return begun

    async def runs(self) -> tuple[ScenarioRun, ...]:
        found: ScenarioRuns = await self._ask(ScenarioRuns, "GET", "/scenarios/runs")
        return found.runs

    async def run(self, run: int) -> ScenarioRunDetail:
        found: ScenarioRunDetail = await self._ask(ScenarioRunDetail, "GET", f"/scenarios/runs/{run}")
        return found

    async def events(self, run: int, *, after: int = 0, limit: int = _EVENTS_AT_ONCE) -> tuple[Event, ...]:
        query = {"after": after, "limit": limit}
        page: EventPage = await self._ask(EventPage, "GET", f"/scenarios/runs/{run}/events", query=query)
        return tuple(map(event_of, page.events))
