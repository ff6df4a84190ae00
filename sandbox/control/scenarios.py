"""Scenarios through the control API: list and play them, and read the events of a run."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from emulator.assembly.components import Components
from emulator.events import Events
from emulator.listeners.control.endpoint_routing import ApiError, handles
from emulator.listeners.control.events import flatten
from emulator.rng import new_seed
from rdss_sandbox.api.scenarios import Scenarios
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
    from sandbox.scenarios.backend import Amqp
    from sandbox.scenarios.outcome import Run
    from sandbox.scenarios.scenario import Scenario

_RUNS_KEPT = 20


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

    A scenario plays in a separate emulator, over RabbitMQ with the broker that ``amqp`` names. This sandbox
    only emits events when a run starts and ends.
    """

    def __init__(self, events: Events, runs: Path = RUNS, amqp: Amqp = "embedded") -> None:
        self._events = events
        self._folder = runs
        self._amqp = amqp
        self._begun: deque[_Begun] = deque(maxlen=_RUNS_KEPT)
        self._last = 0
        self._lock = threading.Lock()

    @handles(Scenarios.list)
    def list(self) -> ScenarioList:
        return ScenarioList(tuple(_scenario_shape(scenario) for scenario in _library().values()))

    @handles(Scenarios.runs)
    def runs(self) -> ScenarioRuns:
        return ScenarioRuns(tuple(_summary(begun) for begun in reversed(tuple(self._begun))))

    @handles(Scenarios.begin)
    def begin(self, run: NewRun) -> ScenarioRun:
        from emulator.channels.kind_registry import list_kinds

        scenario = _library().get(run.scenario)
        if scenario is None:
            message = f"no scenario is named {run.scenario!r}; there are: {', '.join(_library())}"
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_scenario", message)
        if run.channel not in (kinds := list_kinds("broker")):
            message = f"a sandbox has no channels of {run.channel!r}; it has those of {', '.join(kinds)}"
            raise ApiError(HTTPStatus.BAD_REQUEST, "no_such_channel", message)
        seed = new_seed() if run.seed is None else run.seed
        with self._lock:
            if self._begun and not self._begun[-1].done:
                message = f"{self._begun[-1].scenario.name} plays now; one scenario plays at a time"
                raise ApiError(HTTPStatus.CONFLICT, "busy", message)
            self._last += 1
            begun = _Begun(self._last, scenario, seed, run.channel)
            self._begun.append(begun)
        self._events.emit("scenario.started", scenario=scenario.name, seed=seed, run=begun.id)
        threading.Thread(target=self._play, args=(begun,), name="scenario", daemon=True).start()
        return _summary(begun)

    def _play(self, begun: _Begun) -> None:
        from sandbox.scenarios.scenario_run import run_scenario

        try:
            run = run_scenario(
                begun.scenario,
                begun.scenario.name,
                seed=begun.seed,
                kind=begun.channel,
                runs=self._folder,
                amqp=self._amqp,
            )
        except Exception as error:  # noqa: BLE001 -- any failure is reported in the run
            begun.problem = f"{type(error).__name__}: {error}"
        else:
            begun.run = run
        shown = _summary(begun)
        texts = {"verdict": shown.verdict or "none", "folder": shown.folder, "problem": shown.problem}
        self._events.emit("scenario.finished", scenario=begun.scenario.name, run=begun.id, **texts)

    @handles(Scenarios.run)
    def run(self, run: int) -> ScenarioRunDetail:
        begun = self._find(run)
        judged = begun.run.judgement.lines if begun.run else ()
        lines = tuple(Line(each.claim, each.expected, each.observed, each.holds) for each in judged)
        summary = msgspec.structs.asdict(_summary(begun))
        return ScenarioRunDetail(**summary, teach=_teaching(begun.scenario), lines=lines)

    @handles(Scenarios.events)
    def events(self, run: int, *, after: int, limit: int) -> EventPage:
        played = self._find(run).run
        events = played.events if played else ()
        found = [flatten(each) for each in events if each.id > after][:limit]
        return EventPage(tuple(found), events[-1].id if events else 0)

    def _find(self, run: int) -> _Begun:
        for begun in self._begun:
            if run == begun.id:
                return begun
        message = f"no run has the id {run}; the last {_RUNS_KEPT} are kept"
        raise ApiError(HTTPStatus.NOT_FOUND, "no_such_run", message)


def scenario_resources(components: Components) -> ScenarioResources:
    """The scenario routes for a sandbox with these components."""
    amqp: Amqp = "server" if components.settings.amqp == "server" else "embedded"
    return ScenarioResources(components.events, amqp=amqp)


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
