"""The population holds together: what a kind names is there, and its changes fit the right programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.certify.clause import Group, Role
from sandbox.certify.clauses import CLAUSES, clauses
from tests.sandbox.certify.population.kind import Part, build_trial
from tests.sandbox.certify.population.page import renew_population
from tests.sandbox.certify.population.population import PARTS, SHAPES, WRONG, WrongClient, find_changes
from tests.taken_out import needs

_LEAST = {Role.CONSUMER: 20, Role.PRODUCER: 12}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.role}s, {part.channel}")
def test_what_a_kind_names_is_there(part: Part) -> None:
    """Its clause, its stages, and two shapes or more; what knows the specification has fewer shapes."""
    asked = clauses(part.role, channel=part.channel, contract=None)
    by_id = {each.id: each for each in asked}
    shape = next(each for each in SHAPES if (each.role, each.channel) == (part.role, part.channel))
    declared = build_trial(shape, shape.program).certified.stages
    stages = {each.name for each in declared[part.role]}
    for kind in part.kinds:
        assert {kind.clause} | kind.also <= by_id.keys(), kind.name
        assert set(kind.stages) <= stages, kind.name
        shapes = [each for each in WRONG if each.kind is kind and each.shape.channel is part.channel]
        assert len(shapes) >= (2 if by_id[kind.clause].group is Group.DELIVERY else 1), kind.name


@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: f"{each.shape.id}, {each.kind.name}")
def test_the_changes_fit(wrong: WrongClient, tmp_path: Path) -> None:
    """What a change takes away is in the right program, once; a program in Python compiles with it."""
    program = wrong.write(tmp_path)
    if program.suffix == ".py":
        compile(program.read_text(encoding="utf-8"), program.name, "exec")


def test_every_change_is_one_of_a_kind() -> None:
    """No section of ``changes/`` has a name that no kind of the role and the channel has."""
    known = {(each.shape.program, each.kind.name) for each in WRONG}
    written = {(shape.program, kind) for shape in SHAPES for kind in find_changes(shape)}
    assert written == known


@pytest.mark.parametrize("role", Role)
def test_there_are_enough_kinds(role: Role) -> None:
    """At least 20 kinds of bugs in consumers, 12 in producers, and 8 right clients."""
    assert sum(len(part.kinds) for part in PARTS if part.role is role) >= _LEAST[role]
    assert len(SHAPES) >= 8


def test_every_clause_has_a_kind() -> None:
    """No clause is without a client that fails it; one of both channels may have it on either."""
    failed = {(part.role, part.channel, kind.clause) for part in PARTS for kind in part.kinds}
    without = [
        (each.role, each.id)
        for each in CLAUSES
        if not any(
            (each.role, channel, each.id) in failed
            for channel in each.channels or {part.channel for part in PARTS}
        )
    ]
    assert without == []


@needs("functions")
def test_the_page_is_up_to_date() -> None:
    """docs/certify.md has the population, and the rates that were measured last.

    python -m tests.sandbox.certify.population.page docs/certify.md renews it.
    """
    page = (Path(__file__).parents[3] / "docs" / "certify.md").read_text(encoding="utf-8")
    assert renew_population(page) == page
