"""Scenario files: what is wrong with one is told with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from sandbox.scenarios.condition import ConditionError, read_condition
from sandbox.scenarios.play import START, play
from sandbox.scenarios.scenario import (
    Scenario,
    ScenarioError,
    find_scenario,
    library,
    read_scenario,
    schema,
)
from sandbox.scenarios.workload import make_messages
from tests.docs.scenarios_page import renew
from tests.taken_out import needs

ROOT = Path(__file__).parents[3]
WHOLE = {
    "name": "mine",
    "title": "Mine",
    "teach": {"happens": "a", "why": "b", "client": "c"},
    "expect": {"processed": "== offered"},
}


def written(**changes: object) -> str:
    return yaml.safe_dump(WHOLE | changes)


def test_a_file_of_ones_own_is_found_and_played(tmp_path: Path) -> None:
    """Where no name of the library fits, the argument is a file; JSON is YAML too."""
    path = tmp_path / "mine.yaml"
    path.write_text(written(workload={"messages": 3}))
    scenario = find_scenario(str(path))
    assert len(play(scenario, tmp_path, seed=1).offered) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- a\n- b", "the whole file"),
        ("name: [", "is not YAML"),
        (written(workload={"messages": "many"}), "workload/messages"),
        (written(workload={"mesages": 3}), "mesages"),
        (written(expect={"processed": "about 3"}), "expect/processed"),
        (written(expect={"procesed": 3}), "procesed"),
        (written(expect={"processed": ">= x y"}), "expect/processed"),
        (written(workload={"every": "soon"}), "workload/every"),
        (written(faults=[{"type": "latency"}, {"type": "fog"}]), "faults/1: no fault type 'fog'"),
        (
            written(faults=[{"type": "latency", "attributes": {"dely": 1}}]),
            "faults/0: latency has no attribute",
        ),
        (written(faults=[{"type": "latency", "when": {"sometimes": 1}}]), "sometimes"),
        (written(workload={"bad": {"GENERR006": 1}}), "workload/bad"),
        (written(teach={"happens": "a"}), "teach"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, told: str) -> None:
    """The file, the place in it, and what is wrong there; in one line."""
    with pytest.raises(ScenarioError) as caught:
        read_scenario("mine.yaml", text)
    assert str(caught.value).startswith("mine.yaml")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_name_that_is_neither_is_told_with_those_there_are(tmp_path: Path) -> None:
    """A misspelt name gets the list of names."""
    with pytest.raises(ScenarioError, match="happy-path"):
        find_scenario(str(tmp_path / "hapy-path"))


def test_the_published_schema_is_one_and_the_library_keeps_to_it() -> None:
    """Editors that know JSON Schema complete and check scenario files as the sandbox does."""
    Draft202012Validator.check_schema(schema())
    check = Draft202012Validator(schema())
    for path in (ROOT / "sandbox" / "scenarios" / "library").glob("*.yaml"):
        assert not list(check.iter_errors(yaml.safe_load(path.read_text().replace("{on:", "{'on':")))), path


def test_a_workload_is_the_same_for_the_same_seed() -> None:
    """Messages, their ids and their order come from the seed."""
    workload = library()["poison-message"].workload
    assert make_messages(workload, 7, START) == make_messages(workload, 7, START)
    assert make_messages(workload, 7, START) != make_messages(workload, 8, START)


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        (3, 3, True), (3, 4, False), (">= 3", 3, True), ("< 3", 3, False), ("!= 3", 4, True),
        ("<= 1m", 60, True), ("<= 1m", 61, False), ("> 500ms", 1, True), ("== offered", 40, True),
        ("< offered", 40, False), ("== rejected.GENERR003", 0, True),
    ],
)  # fmt: skip
def test_conditions(text: float | str, value: float, holds: bool) -> None:
    """Numbers, lengths of time and other facts can be compared with; a fact that is not there is 0."""
    assert read_condition(text).holds(value, {"offered": 40}) is holds


def test_what_is_no_condition_is_told() -> None:
    """A sign alone, or nonsense behind it, is refused."""
    for text in ("", ">=", "about 3", "== 3 or so"):
        with pytest.raises(ConditionError):
            read_condition(text)


@needs("queues")
def test_the_page_is_up_to_date() -> None:
    """docs/scenarios.md says what the library says; its example is a scenario.

    python -m tests.docs.scenarios_page docs/scenarios.md renews it.
    """
    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    assert renew(page) == page
    example = page.partition("```yaml\n")[2].partition("```")[0]
    assert isinstance(read_scenario("docs/scenarios.md", example), Scenario)


def test_the_pages_example_is_true(tmp_path: Path) -> None:
    """The scenario that the page shows as one's own passes, its reshard by the clock included."""
    from sandbox.scenarios.facts import compute_facts
    from sandbox.scenarios.judgement import judge_facts

    page = (ROOT / "docs" / "scenarios.md").read_text(encoding="utf-8")
    scenario = read_scenario("docs/scenarios.md", page.partition("```yaml\n")[2].partition("```")[0])
    judgement = judge_facts(scenario, compute_facts(play(scenario, tmp_path, seed=5)))
    assert judgement.verdict == "pass", judgement.lines
