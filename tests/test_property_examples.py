"""What ``make test`` leaves of a property's examples, ``make test-slow`` tries."""

from __future__ import annotations

import pytest
from _pytest.unittest import UnitTestCase
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.property_examples import share_examples

_CASES = [("", 40), ("slow", 40), ("not (slow or long)", 10), ("(slow or hypothesis) and not long", 30)]


@pytest.mark.parametrize(("marks", "wanted"), _CASES)
def test_a_property_is_tried_as_often_as_the_run_has_it(
    request: pytest.FixtureRequest, marks: str, wanted: int
) -> None:
    """A quarter and three quarters, once for all of its cases; all of them where nothing is shared."""
    tried = []

    @settings(max_examples=40, database=None)
    @given(st.integers())
    def holds(number: int) -> None:
        tried.append(number)

    item = pytest.Function.from_parent(request.node.parent, name="holds", callobj=holds)
    share_examples([item, item], marks)
    holds()
    assert len(tried) == wanted


@pytest.mark.parametrize(("marks", "wanted"), _CASES)
def test_a_machine_is_tried_as_often_as_the_run_has_it(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, marks: str, wanted: int
) -> None:
    """Its settings are its test case's."""

    class Machine(RuleBasedStateMachine):
        @rule()
        def step(self) -> None:
            """One more."""

    case = Machine.TestCase
    case.settings = settings(max_examples=40)
    monkeypatch.setattr(request.module, "TestMachine", case, raising=False)
    collected = UnitTestCase.from_parent(request.node.parent, name="TestMachine", obj=case)
    share_examples([each for each in collected.collect() if isinstance(each, pytest.Function)], marks)
    assert case.settings.max_examples == wanted


def test_what_is_left_out_whole_keeps_its_examples(request: pytest.FixtureRequest) -> None:
    """It is run in one place only."""

    @settings(max_examples=40)
    @given(st.integers())
    def holds(number: int) -> None:
        """Of any number."""

    item = pytest.Function.from_parent(request.node.parent, name="holds", callobj=holds)
    item.add_marker("slow")
    share_examples([item], "(slow or hypothesis) and not long")
    assert holds._hypothesis_internal_use_settings.max_examples == 40  # type: ignore[attr-defined]
