"""Scenarios through the control API: list and play them, and read the events of a run."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from emulator.assembly.components import Components
from emulator.events import Events
from emulator.faults.fault import Kind
from emulator.listeners.control.events import flatten
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from emulator.rng import new_seed
from rdss_sandbox.shapes.events import EventPage
from rdss_sandbox.shapes.scenarios import (
    Line,
    NewRun,
    ScenarioList,
    ScenarioRun,
    ScenarioRunDetail,
    ScenarioRuns,
    Teaching,
)
from rdss_sandbox.shapes.scenarios import Scenario as Shown
from sandbox.judging.runs import RUNS

if TYPE_CHECKING:
    from sandbox.scenarios.outcome import Run
    from sandbox.scenarios.scenario import Scenario

_RUNS_KEPT = 20
_SUMMARY = ScenarioRun.__struct_fields__


class EventQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Query for events of a run with an id above ``after``."""

    after: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 1000


@dataclass(slots=True)
class _Begun:
    """A run started here. A finished run has ``run``; a failed one has ``problem``."""

    id: int
    scenario: Scenario
    seed: int
    channel: str
    run: Run | None = None
    problem: str = ""

    @property
    def done(self) -> bool:
        return self.run is not None or bool(self.problem)


class ScenarioResources:
    """The routes ``/scenarios`` and ``/scenarios/runs``. One scenario plays at a time.

    A scenario plays in a separate emulator. This sandbox only emits events when a run starts and ends.
    """

    def __init__(self, events: Events, runs: Path = RUNS) -> None:
        self._events = events
        self._folder = runs
        self._begun: deque[_Begun] = deque(maxlen=_RUNS_KEPT)
        self._last = 0
        self._lock = threading.Lock()

    def routes(self) -> list[Route]:
        one, more = "/scenarios/runs/{id}", "/scenarios/runs/{id}/events"
        accepted = HTTPStatus.ACCEPTED
        return [
            Route("GET", "/scenarios", "The scenarios that can be played", self._list, ScenarioList),
            Route("GET", "/scenarios/runs", "The runs, the newest first", self._runs, ScenarioRuns),
            Route(
                "POST",
                "/scenarios/runs",
                "Play a scenario",
                self._begin,
                ScenarioRun,
                body=NewRun,
                status=accepted,
            ),
            Route("GET", one, "A run and its verdict", self._run, ScenarioRunDetail),
            Route("GET", more, "What happened in a run", self._list_events, EventPage, EventQuery),
        ]

    def _list(self, _: Asked[Nothing, None]) -> ScenarioList:
        return ScenarioList(tuple(_scenario_shape(scenario) for scenario in _library().values()))

    def _runs(self, _: Asked[Nothing, None]) -> ScenarioRuns:
        return ScenarioRuns(tuple(_summary(begun) for begun in reversed(tuple(self._begun))))

    def _begin(self, asked: Asked[Nothing, NewRun]) -> ScenarioRun:
        wanted = asked.body
        scenario = _library().get(wanted.scenario)
        if scenario is None:
            message = f"no scenario is named {wanted.scenario!r}; there are: {', '.join(_library())}"
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_scenario", message)
        seed = new_seed() if wanted.seed is None else wanted.seed
        with self._lock:
            if self._begun and not self._begun[-1].done:
                message = f"{self._begun[-1].scenario.name} plays now; one scenario plays at a time"
                raise ApiError(HTTPStatus.CONFLICT, "busy", message)
            self._last += 1
            begun = _Begun(self._last, scenario, seed, wanted.channel)
            self._begun.append(begun)
        self._events.emit("scenario.started", scenario=scenario.name, seed=seed, run=begun.id)
        threading.Thread(target=self._play, args=(begun,), name="scenario", daemon=True).start()
        return _summary(begun)

    def _play(self, begun: _Begun) -> None:
        from sandbox.scenarios.scenario_run import run_scenario

        kind = Kind(begun.channel)
        try:
            run = run_scenario(
                begun.scenario, begun.scenario.name, seed=begun.seed, kind=kind, runs=self._folder
            )
        except Exception as error:  # noqa: BLE001 -- any failure is reported in the run
            begun.problem = f"{type(error).__name__}: {error}"
        else:
            begun.run = run
        shown = _summary(begun)
        said = {"verdict": shown.verdict or "none", "folder": shown.folder, "problem": shown.problem}
        self._events.emit("scenario.finished", scenario=begun.scenario.name, run=begun.id, **said)

    def _run(self, asked: Asked[Nothing, None]) -> ScenarioRunDetail:
        begun = self._find(asked)
        judged = begun.run.judgement.lines if begun.run else ()
        lines = tuple(Line(each.claim, each.expected, each.observed, each.holds) for each in judged)
        summary = {name: getattr(_summary(begun), name) for name in _SUMMARY}
        return ScenarioRunDetail(**summary, teach=_teaching(begun.scenario), lines=lines)

    def _list_events(self, asked: Asked[EventQuery, None]) -> EventPage:
        run = self._find(asked).run
        events = run.events if run else ()
        found = [flatten(each) for each in events if each.id > asked.query.after][: asked.query.limit]
        return EventPage(tuple(found), events[-1].id if events else 0)

    def _find(self, asked: Asked[Any, Any]) -> _Begun:
        given = asked.path["id"]
        for begun in self._begun:
            if given == str(begun.id):
                return begun
        message = f"no run has the id {given}; the last {_RUNS_KEPT} are kept"
        raise ApiError(HTTPStatus.NOT_FOUND, "no_such_run", message)


def scenario_resources(components: Components) -> ScenarioResources:
    """The scenario routes for a sandbox with these components."""
    return ScenarioResources(components.events)


def _library() -> dict[str, Scenario]:
    from sandbox.scenarios.scenario import library

    return library()


def _scenario_shape(scenario: Scenario) -> Shown:
    return Shown(scenario.name, scenario.title, _teaching(scenario), scenario.faults, scenario.expect)


def _teaching(scenario: Scenario) -> Teaching:
    teach = scenario.teach
    return Teaching(teach.happens, teach.why, teach.client)


def _summary(begun: _Begun) -> ScenarioRun:
    scenario, run = begun.scenario, begun.run
    asked = ScenarioRun(begun.id, scenario.name, scenario.title, begun.seed, begun.channel, "running")
    if run is None:
        return (
            msgspec.structs.replace(asked, state="failed", problem=begun.problem) if begun.problem else asked
        )
    return msgspec.structs.replace(
        asked,
        state="done",
        verdict=run.judgement.verdict.value,
        events=len(run.events),
        folder=str(run.folder),
        command=run.command,
        problem=run.judgement.note,
    )
