"""The demands of the documents: all of them, shown by tests that exist, and the pages made of them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter

import pytest

from tests.docs.requirements import DATA, ROOT, Demand, Part, documents, pages

REFERENCE = ROOT.parent / "shared/reference"
SPECIFICATION = "rdss-message-api.txt"
KEYWORD = re.compile(r"\b(?:MUST|SHOULD)(?: NOT)?\b|\bRECOMMENDED\b")
DEFINITION = re.compile(r"The keywords MAY, MUST,.*RFC2119\.")
DOCUMENTS = documents()
DEMANDS = [
    pytest.param(demand, id=f"{name}-{number}")
    for name, document in DOCUMENTS.items()
    for number, demand in enumerate(document.demands, 1)
]
NAMED = {test for document in DOCUMENTS.values() for demand in document.demands for test in demand.tests}
FILES = sorted({test.partition("::")[0] for test in NAMED})
PARTS = [
    pytest.param(part, id=f"{name}-{part.text}")
    for name, document in DOCUMENTS.items()
    for part in document.parts
]


def text_of(part: Part) -> list[str]:
    """The lines of the part's text, the first at 1. Skips where the text is not beside this checkout."""
    path = REFERENCE / part.text
    if not path.is_file():
        pytest.skip(f"{part.text} is not beside this checkout")
    return ["", *path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("demand", DEMANDS)
def test_each_has_a_test_and_is_met_where_it_says(demand: Demand) -> None:
    """By at least one file or folder of the project, and at least one test."""
    assert demand.tests, f"no test shows: {demand.demand}"
    assert demand.where, f"met nowhere: {demand.demand}"
    assert [path for path in demand.where if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("file", FILES)
def test_every_test_that_is_named_exists(file: str) -> None:
    """In its file, as a function or class that pytest collects."""
    path = ROOT / "tests" / file
    assert path.is_file()
    named = {test.partition("::")[2].partition("[")[0] for test in NAMED if test.startswith(f"{file}::")}
    assert sorted(named - _tests_of(ast.parse(path.read_text(encoding="utf-8")))) == []


def _tests_of(module: ast.Module) -> set[str]:
    """Functions by name, those of a class by ``Class::name``, and classes, Hypothesis's own too."""
    found: set[str] = set()
    for node in module.body:
        match node:
            case ast.ClassDef(name=name) if name.startswith("Test"):
                found |= {name, *(f"{name}::{inner}" for inner in _functions(node.body))}
            case ast.Assign(targets=[ast.Name(id=name)]) if name.startswith("Test"):
                found.add(name)
    return found | _functions(module.body)


def _functions(body: list[ast.stmt]) -> set[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {node.name for node in body if isinstance(node, kinds) and node.name.startswith("test_")}


def test_every_case_that_is_named_is_collected() -> None:
    """Those that have their case in brackets are found by pytest itself."""
    cases = sorted(f"tests/{test}" for test in NAMED if "[" in test)
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *cases],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]
    assert sorted(set(cases) - set(found.stdout.splitlines())) == []


def test_the_pages_are_what_the_data_make() -> None:
    """``python -m tests.docs.requirements`` would change nothing; no page is left of a file that is gone."""
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is not what the data make"
    assert {path.stem for path in DATA.glob("*.md")} == {*DOCUMENTS}


def test_nothing_is_listed_twice() -> None:
    """A demand or a thing that is not here stands in one place, and says why."""
    for name, document in DOCUMENTS.items():
        said = Counter(demand.demand for demand in document.demands)
        said.update(absent.what for absent in document.absent)
        assert [what for what, times in said.items() if times > 1] == [], name
        assert all(absent.why for absent in document.absent), name


@pytest.mark.parametrize("part", PARTS)
def test_every_section_is_a_heading_before_its_lines(part: Part) -> None:
    """The section that is named, and the one below it, are lines of the text."""
    lines = [re.sub(r"^[#•\d.\s]*|(?: \(public.*)?(?: ?\[\w+\])*:?\s*$", "", line) for line in text_of(part)]
    for demand in part.demands:
        for heading in demand.section.split(" / "):
            places = [number for number, line in enumerate(lines) if line == heading]
            if not places and part.text == SPECIFICATION and " " not in heading:
                continue  # the copy has lost its headings of one word
            assert places, f"{heading!r} is no heading of {part.text}"
            assert not demand.lines or places[0] <= max(demand.lines), demand.demand


@pytest.mark.parametrize("part", [each for each in PARTS if each.values[0].text == SPECIFICATION])
def test_every_keyword_of_the_specification_has_its_demand(part: Part) -> None:
    """Line by line, each MUST, SHOULD and RECOMMENDED as often as there are demands of it."""
    written = {
        number: Counter(KEYWORD.findall(DEFINITION.sub("", line)))
        for number, line in enumerate(text_of(part))
    }
    demanded: dict[int, Counter[str]] = {}
    for demand in part.demands:
        (line,) = demand.lines
        if demand.keyword:
            demanded.setdefault(line, Counter())[demand.keyword] += 1
    assert demanded == {number: keywords for number, keywords in written.items() if keywords}


@pytest.mark.parametrize("part", [each for each in PARTS if each.values[0].silent is not None])
def test_every_line_of_a_text_without_keywords_is_accounted_for(part: Part) -> None:
    """Each line that is not empty is a demand's, or known to demand nothing that could be shown."""
    assert part.silent is not None
    written = {number for number, line in enumerate(text_of(part)) if line.strip()}
    demanded = {line for demand in part.demands for line in demand.lines}
    assert demanded | {*part.silent} == written
    assert not demanded & {*part.silent}
