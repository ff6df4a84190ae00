"""The page about extensions, and what they may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from rdss_sandbox import installed_extensions
from tests.docs.extending_page import PUBLIC, ROOT, list_public, renew

PAGE = ROOT / "docs" / "extending.md"
OURS = ("sandbox", "emulator", "tui", "schemas", "rdss_sandbox", "extensions")


def test_the_page_is_up_to_date() -> None:
    """Otherwise: python -m tests.docs.extending_page docs/extending.md."""
    page = PAGE.read_text(encoding="utf-8")
    assert renew(page) == page


def test_each_public_name_is_there_and_says_what_it_is() -> None:
    """A name that moves or goes is missed here before it is missed by others."""
    assert [f"{module}.{name}" for module, name, said in list_public() if not said] == []


def test_the_examples_import_what_is_public() -> None:
    """What they need and the list lacks, others could not use either."""
    packages = [project.parent for project in ROOT.glob("examples/*/pyproject.toml")]
    found = {name for package in packages for file in package.rglob("*.py") for name in _imported(file)}
    assert found
    assert found <= {f"{module}.{name}" for module, names in PUBLIC.items() for name in names}


def test_what_is_public_is_there_before_any_extension_is() -> None:
    """A module that looks for extensions is half imported when theirs asks it for a name."""
    program = f"import sys, {', '.join(PUBLIC)}; sys.exit('{installed_extensions.__name__}' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0


def _imported(file: Path) -> Iterator[str]:
    """The names of ours that a file imports, each with its module."""
    for each in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(each, ast.ImportFrom) and (each.module or "").partition(".")[0] in OURS:
            yield from (f"{each.module}.{alias.name}" for alias in each.names)
        elif isinstance(each, ast.Import):
            yield from (alias.name for alias in each.names if alias.name.partition(".")[0] in OURS)
