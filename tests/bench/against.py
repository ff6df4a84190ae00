"""An area measured with this tree's product and with that of a commit, in turns, by this tree's client."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.bench.rows import US, Row

ROOT: Final = Path(__file__).parents[2]
_THIS: Final = "this tree"


class Compared(NamedTuple):
    """A measure of ours over some turns: the values of this tree and of the commit, turn by turn."""

    row: Row
    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def times(self) -> float:
        """How many times better this tree's median is; 0 where nothing was measured."""
        ours, theirs = statistics.median(self.ours), statistics.median(self.theirs)
        above, below = (ours, theirs) if self.row.better == "more" else (theirs, ours)
        return above / below if below else 0.0


def compare(area: str, commit: str, turns: int) -> list[Compared]:
    """Measure an area ``turns`` times with each; who begins changes from turn to turn.

    Both run with the packages that are installed now. Raises ``subprocess.CalledProcessError`` for a commit
    that there is not, or whose product this tree's client does not know.
    """
    found: dict[str, list[list[Row]]] = {_THIS: [], commit: []}
    with _checkout(commit) as other:
        trees = {_THIS: ROOT, commit: other}
        for turn in track(range(turns), f"{area}, in turns", console=Console(stderr=True)):
            for name in sorted(trees, reverse=turn % 2 == 1):
                found[name].append(_measure(area, trees[name]))
    return list(pair_up(found[_THIS], found[commit]))


def pair_up(ours: Sequence[list[Row]], theirs: Sequence[list[Row]]) -> Iterator[Compared]:
    """The measures of our own subject that every turn of both has."""
    for row in ours[0]:
        ours_each, theirs_each = _values(row, ours), _values(row, theirs)
        if row.subject == US and ours_each and theirs_each:
            yield Compared(row, ours_each, theirs_each)


def show(area: str, commit: str, compared: Sequence[Compared]) -> None:
    """The medians on standard error, each with its lowest and highest, and how many times better we are."""
    table = Table(title=f"{area}: in turns, median (lowest to highest)")
    for heading in ("measure", _THIS, commit, "times better"):
        table.add_column(heading, justify="left" if heading == "measure" else "right")
    for each in compared:
        table.add_row(
            f"{each.row.measure}, {each.row.unit}",
            _spread(each.ours),
            _spread(each.theirs),
            f"{each.times:.2f}",
        )
    Console(stderr=True).print(table)


@contextmanager
def _checkout(commit: str) -> Iterator[Path]:
    """The tree of a commit in a folder of its own, with the tests of this one."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))) / "tree"
        _git("worktree", "add", "--detach", str(folder), commit)
        stack.callback(_git, "worktree", "remove", "--force", str(folder))
        shutil.rmtree(folder / "tests")
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        yield folder


def _git(*words: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *words], check=True, stdout=subprocess.DEVNULL)


def _measure(area: str, tree: Path) -> list[Row]:
    with tempfile.NamedTemporaryFile(prefix="bench-", suffix=".json") as file:
        command = [sys.executable, "-m", "tests.bench", "--area", area, "--rows", file.name]
        subprocess.run(
            command,
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            check=True,
            stderr=subprocess.DEVNULL,
        )
        return msgspec.json.decode(Path(file.name).read_bytes(), type=list[Row])


def _values(row: Row, turns: Sequence[list[Row]]) -> tuple[float, ...]:
    return tuple(each.value for turn in turns for each in turn if each[:2] == row[:2])


def _spread(values: Sequence[float]) -> str:
    return f"{_short(statistics.median(values))} ({_short(min(values))} to {_short(max(values))})"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
