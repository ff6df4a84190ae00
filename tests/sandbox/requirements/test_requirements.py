"""The table of requirements: complete, shown by tests that exist, and the page the same as the code."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from sandbox.requirements import REQUIREMENTS, Requirement
from sandbox.requirements.page import page

ROOT = Path(__file__).parents[3]
SPECIFICATION = ROOT.parent / "shared/reference/rdss-message-api.txt"
KEYWORD = re.compile(r"\b(?:MUST|SHOULD|RECOMMENDED)\b")
DEFINITION = re.compile(r"The keywords MAY, MUST,.*RFC2119\.")
NUMBERED = [pytest.param(each, id=str(number)) for number, each in enumerate(REQUIREMENTS, 1)]


@cache
def names_in(path: Path) -> frozenset[str]:
    """The tests of a file: functions by name, those of a class by ``Class::name``."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
            found |= {f"{node.name}::{inner.name}" for inner in node.body if _is_test(inner)}
        elif _is_test(node):
            found.add(node.name)  # type: ignore[attr-defined]
    return frozenset(found)


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")


@pytest.mark.parametrize("requirement", NUMBERED)
def test_each_is_shown_by_tests_that_exist(requirement: Requirement) -> None:
    """At least one, and every one that is named is there under that name."""
    assert requirement.shown_by, f"{requirement.words}: no test shows it"
    for test in requirement.shown_by:
        file, _, name = test.partition("::")
        path = ROOT / "tests" / file
        assert path.is_file(), test
        assert name in names_in(path), test


@pytest.mark.parametrize("requirement", NUMBERED)
def test_each_is_implemented_where_it_says(requirement: Requirement) -> None:
    """By at least one file or folder of the project."""
    assert requirement.where
    assert [path for path in requirement.where if not (ROOT / path).exists()] == []


def test_the_page_is_what_the_code_says() -> None:
    """``python -m sandbox.requirements > docs/requirements.md`` would change nothing."""
    assert (ROOT / "docs/requirements.md").read_text(encoding="utf-8") == page()


def test_every_demand_of_the_specification_is_here() -> None:
    """Each keyword of its text belongs to one requirement, in the order of the text."""
    if not SPECIFICATION.is_file():
        pytest.skip("the specification is not beside this checkout")
    text = DEFINITION.sub("", " ".join(SPECIFICATION.read_text(encoding="utf-8").split()))
    at = 0
    for requirement in REQUIREMENTS:
        found = text.find(requirement.words, at)
        assert found >= at, f"{requirement.words!r} is not behind the requirement before it"
        assert KEYWORD.search(text, at, found) is None, text[at:found]
        at = found + len(requirement.words)
    left = KEYWORD.search(text, at)
    assert left is None, text[at:][:300]
