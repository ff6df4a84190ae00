"""What mutants are made of: the copy does what the code does, and whatever may live has a reason."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

from tests.mutants.known_survivors import read_reasons
from tests.mutants.mutated_areas import AREAS, MutatedArea
from tests.mutants.mutated_copy import ROOT, undecorate

_CODE = """
from functools import cached_property, partial
from typing import Protocol

def named(call, name):
    return name, call()

class Asked(Protocol):
    @property
    def size(self) -> int: ...

class Box:
    def __init__(self, size):
        self._size = size

    @property
    def size(self):
        return self._size

    @cached_property
    def double(self):
        return 2 * self._size

    @classmethod
    def of(cls, size):
        return cls(size)

@partial(named, name="seven")
@partial(partial, int)
def seven():
    return 7
"""


def test_a_copy_without_decorators_does_what_the_code_does() -> None:
    """Properties, judges of clauses and what is wrapped twice are their own functions, and work as before."""
    seen = []
    for code in (_CODE, undecorate(_CODE)):
        names: dict[str, object] = {"int": lambda judge: judge()}
        exec(code, names)
        box = names["Box"].of(3)
        seen.append((box.size, box.double, names["seven"]))
    assert seen[0] == seen[1] == (3, 6, ("seven", 7))
    assert undecorate(_CODE).count("@") == len(["property of the protocol", "classmethod"])


@pytest.mark.parametrize("area", AREAS.values(), ids=AREAS)
def test_every_area_has_its_files_and_tests(area: MutatedArea) -> None:
    """A file or a test that was renamed does not leave an area without."""
    for pattern in area.files:
        assert list(ROOT.glob(pattern)), pattern
    for test in area.tests:
        assert (ROOT / test.rpartition("=")[2].partition("::")[0]).exists(), test


def test_whatever_may_live_is_in_an_area_and_has_a_reason() -> None:
    modules = [
        pattern.replace("/", ".").removesuffix(".py") for area in AREAS.values() for pattern in area.files
    ]
    for line, reason in read_reasons().items():
        where = line.partition(":")[0]
        assert any(fnmatch(where, f"{module}*") for module in modules), where
        assert reason.endswith("."), line
