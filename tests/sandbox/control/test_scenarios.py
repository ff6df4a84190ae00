"""Scenarios played through the control API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.scenarios import NewRun, ScenarioRunDetail
from sandbox.control.scenarios import ScenarioResources
from sandbox.scenarios.scenario import library
from tests.waiting import wait_until


@pytest.fixture
def emulator(tmp_path: Path) -> Iterator[Embedded]:
    settings = Settings(aws_port=0, control_port=0, amqp="none", data_dir=None)
    with embedded(
        settings, more=[lambda parts: ScenarioResources(parts.events, tmp_path / "runs")]
    ) as emulator:
        yield emulator


@pytest.fixture
def api(emulator: Embedded) -> Iterator[Client]:
    with Client(emulator.control) as client:
        yield client


def ended(api: Client, run: int) -> ScenarioRunDetail:
    """The run once it is over."""

    def look() -> ScenarioRunDetail | None:
        found = api.scenarios.run(run)
        return None if found.state == "running" else found

    return wait_until(look)


def test_the_library_is_listed_with_what_it_teaches(api: Client) -> None:
    """Who looks from outside sees what each scenario does and what a correct client must do."""
    listed = api.scenarios.list()
    assert [each.name for each in listed] == list(library())
    assert all(each.teach.happens and each.teach.why and each.teach.client for each in listed)


def test_a_scenario_is_played_and_its_events_can_be_read(api: Client, emulator: Embedded) -> None:
    """The verdict, its lines, every event, the folder it left and the command that repeats it."""
    begun = api.scenarios.begin(NewRun("producer-retry", seed=7))
    assert (begun.state, begun.seed) == ("running", 7)
    run = ended(api, begun.id)
    assert (run.state, run.verdict) == ("done", "pass")
    assert run.command == "sandbox scenario run producer-retry --seed 7"
    assert (Path(run.folder) / "summary.json").exists()
    assert any(line.claim == "lost" and line.holds for line in run.lines)
    events = [each for after in (0, 100) for each in api.scenarios.events(run.id, after=after, limit=100)]
    assert [each.id for each in events] == list(range(1, len(events) + 1))
    assert "message.offered" in {each.kind for each in events}
    assert [each.id for each in api.scenarios.runs()] == [run.id]
    kinds = [event.kind for event in emulator.components.events.since(0, 100)]
    assert kinds.index("scenario.started") < kinds.index("scenario.finished")


def test_one_scenario_plays_at_a_time_and_unknown_ones_do_not(api: Client) -> None:
    """A second one is refused while one plays; a name that is not known is refused with those there are."""
    with pytest.raises(RefusedError, match="there are: happy-path"):
        api.scenarios.begin(NewRun("no-such-thing"))
    with pytest.raises(RefusedError, match="no run has the id 9"):
        api.scenarios.run(9)
    begun = api.scenarios.begin(NewRun("slow-consumer"))
    with pytest.raises(RefusedError, match="plays at a time"):
        api.scenarios.begin(NewRun("happy-path"))
    assert ended(api, begun.id).verdict == "pass"


def test_a_scenario_that_cannot_be_played_says_why(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure of the machinery is told in the run, and the next one can begin."""

    def broken(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("sandbox.scenarios.scenario_run.run_scenario", broken)
    run = ended(api, api.scenarios.begin(NewRun("happy-path")).id)
    assert (run.state, run.problem) == ("failed", "OSError: the disk is full")
