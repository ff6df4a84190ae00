"""Scenarios and their runs."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.api.endpoint import GET, POST, Mode, Subject
from rdss_sandbox.api.parameters import EventLimit, Id, Position
from rdss_sandbox.shapes.events import Event, EventPage, events_of
from rdss_sandbox.shapes.scenarios import (
    NewRun,
    Scenario,
    ScenarioList,
    ScenarioRun,
    ScenarioRunDetail,
    ScenarioRuns,
)

_NO_RUN: Final = {"no_such_run": 404}


class Scenarios(Subject[Mode], at="/scenarios"):
    """The scenarios of the library and their runs. One scenario plays at a time."""

    @GET("", ScenarioList, lambda found: found.scenarios)
    def list(self) -> tuple[Scenario, ...]:
        """The scenarios, in teaching order."""

    @POST("/runs", status=202, errors={"no_such_scenario": 404, "no_such_channel": 400, "busy": 409})
    def begin(self, run: NewRun) -> ScenarioRun:
        """Start a run and return at once; the run has the verdict when it is done."""

    @GET("/runs", ScenarioRuns, lambda found: found.runs)
    def runs(self) -> tuple[ScenarioRun, ...]:
        """The runs that were started here, newest first."""

    @GET("/runs/{id}", errors=_NO_RUN)
    def run(self, run: Id) -> ScenarioRunDetail:
        """A run and its verdict."""

    @GET("/runs/{id}/events", EventPage, lambda page: tuple(events_of(page)), errors=_NO_RUN)
    def events(self, run: Id, *, after: Position = 0, limit: EventLimit = 5000) -> tuple[Event, ...]:
        """Up to ``limit`` events of a finished run with an id above ``after``, oldest first."""
