"""The page about the faults is that of the registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.faults.registry import TYPES
from tests.docs.faults_page import renew
from tests.taken_out import needs

PAGE = Path(__file__).parents[3] / "docs" / "faults.md"


@needs("functions")
def test_the_page_is_up_to_date() -> None:
    """Otherwise: python -m tests.docs.faults_page docs/faults.md."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == renew(page)


@needs("functions")
def test_an_old_page_is_brought_up_to_date() -> None:
    """Whatever stands between the marks; a page without them is none of ours."""
    page = PAGE.read_text(encoding="utf-8")
    old = page.replace("A message comes twice.", "A message comes.")
    assert old != page
    assert renew(old) == page
    with pytest.raises(ValueError, match="needs one"):
        renew("# Faults")


def test_every_type_and_attribute_is_described() -> None:
    """In a sentence that ends; with a unit where it is a length or a number of something."""
    for type_ in TYPES.values():
        assert type_.description.endswith("."), type_.name
        for attribute in type_.attributes:
            assert attribute.description, f"{type_.name}.{attribute.name}"
            assert attribute.unit or attribute.type != "duration", f"{type_.name}.{attribute.name}"
            assert not attribute.choices or attribute.default in attribute.choices
