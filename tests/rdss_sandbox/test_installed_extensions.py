"""What installed extensions declare."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rdss_sandbox.installed_extensions import GROUP, find_installed, import_declared, with_declared

_PACKAGE = """
from rdss_sandbox.extension import Extension

GOOD = "a fault"
EXTENSION = Extension(name="theirs", faults=("theirs:GOOD", "theirs:MISSING"), rules=("theirs_rules:RULE",))
"""


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of somebody's, as pip leaves it: half of what it declares is not there."""
    (tmp_path / "theirs.py").write_text(_PACKAGE)
    metadata = tmp_path / "theirs-1.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\ntheirs = theirs:EXTENSION\n")
    monkeypatch.syspath_prepend(tmp_path)
    caches = find_installed, import_declared
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


@pytest.mark.usefixtures("theirs")
def test_a_part_that_cannot_be_loaded_is_told_and_the_rest_is_there() -> None:
    """In one line, with the place of the part and the reason."""
    assert ("theirs", "a fault") in import_declared("faults")
    assert "theirs" not in {name for name, _ in import_declared("rules")}
    missing, unknown = (each for each in find_installed().failures if "theirs" in each)
    assert "theirs:MISSING" in missing
    assert "theirs_rules:RULE" in unknown
    assert "No module named 'theirs_rules'" in unknown


@pytest.mark.usefixtures("theirs")
def test_a_name_that_is_taken_is_told_and_ours_stays() -> None:
    """In one line, with the extension that wanted it; what has another name is there, behind ours."""
    found = with_declared("faults", ["ours"], _name)
    assert found[0] == "ours"
    assert "a fault" in found
    assert "a fault" not in with_declared("faults", ["A fault"], _name)
    (told,) = (each for each in find_installed().failures if "taken" in each)
    assert told == "one of the faults of the extension theirs is left out: the name a fault is taken"


def _name(fault: object) -> str:
    return str(getattr(fault, "name", fault)).lower()
