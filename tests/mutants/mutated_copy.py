"""A copy of the project for mutmut: with its settings, and with nothing decorated that is to be mutated."""

from __future__ import annotations

import ast
import json
import shutil
import subprocess
from contextlib import chdir
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from tests.mutants.mutated_areas import MutatedArea

ROOT: Final = Path(__file__).parents[2]
PACKAGES: Final = ("emulator", "extensions", "rdss_sandbox", "sandbox", "schemas", "tui")
UNDECORATED: Final = "__undecorated"
_LEFT_ALONE: Final = frozenset({"classmethod", "staticmethod", "runtime_checkable"})


def copy_project(area: MutatedArea, place: Path) -> list[str]:
    """Write what the area's tests import to a place, and return which files are to be mutated.

    What is there as it would be written stays untouched.
    """
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *PACKAGES, "tests"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    mutated = [name for name in names if any(fnmatch(name, pattern) for pattern in area.files)]
    for name in names:
        source, copy = ROOT / name, place / name
        if not source.is_file():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        if name in mutated:
            code = undecorate(source.read_text(encoding="utf-8"))
            if not copy.exists() or copy.read_text(encoding="utf-8") != code:
                copy.write_text(code, encoding="utf-8")
        elif not copy.exists() or copy.stat().st_mtime != source.stat().st_mtime:
            shutil.copy2(source, copy)
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    place.joinpath("pyproject.toml").write_text(f"{settings}\n{_settings(area, mutated)}", encoding="utf-8")
    return mutated


def write_mutants(place: Path, mutated: list[str]) -> list[str]:
    """Write the mutants of files in a copy of the project, and return the names of all."""
    names: list[str] = []
    with chdir(place):
        # It reads its settings, which are in the copy alone, when it is imported.
        from mutmut.__main__ import create_mutants_for_file
        from mutmut.configuration import reset_config
        from mutmut.mutation.data import SourceFileMutationData

        reset_config()
        for name in mutated:
            written = Path("mutants") / name
            written.parent.mkdir(parents=True, exist_ok=True)
            if made := create_mutants_for_file(Path(name), written).error:
                raise made
            data = SourceFileMutationData(path=name)
            data.load()
            names += data.exit_code_by_key
    return names


def undecorate(code: str) -> str:
    """Decorate each function below itself, under its name, since mutmut leaves what is decorated alone.

    So the judges of clauses and the properties are mutated, too.
    """
    lines = code.splitlines()
    tree = ast.parse(code)
    classes = (each for each in tree.body if isinstance(each, ast.ClassDef))
    # What a protocol declares is a type, and does nothing.
    bodies = [tree.body, *(each.body for each in classes if "Protocol" not in map(ast.unparse, each.bases))]
    functions = [each for body in bodies for each in body if isinstance(each, ast.FunctionDef)]
    for each in sorted(functions, key=lambda function: function.lineno, reverse=True):
        wraps = [ast.unparse(decorator) for decorator in each.decorator_list]
        if not wraps or not _LEFT_ALONE.isdisjoint(wraps) or any("." in wrap.split("(")[0] for wrap in wraps):
            continue
        bare, indent = f"{each.name}{UNDECORATED}", " " * each.col_offset
        called = bare
        for wrap in reversed(wraps):
            called = f"{wrap}({called})"
        lines.insert(each.end_lineno or each.lineno, f"{indent}{each.name} = {called}  # type: ignore")
        lines[each.lineno - 1] = lines[each.lineno - 1].replace(f"def {each.name}(", f"def {bare}(", 1)
        del lines[each.decorator_list[0].lineno - 1 : each.lineno - 1]
    return "\n".join(lines) + "\n"


def _settings(area: MutatedArea, mutated: list[str]) -> str:
    """mutmut's, in TOML."""
    settings = {
        "source_paths": [*PACKAGES],
        "only_mutate": mutated,
        "pytest_add_cli_args": ["-p", "no:cacheprovider", "--hypothesis-seed=0"],
        "pytest_add_cli_args_test_selection": [*area.tests],
        "timeout_multiplier": 8.0,
        "use_git_change_detection": False,
    }
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
    return f"[tool.mutmut]\n{''.join(lines)}"
