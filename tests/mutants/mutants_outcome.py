"""What became of an area's mutants: killed by tests, refused by types, or alive."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from mutmut.mutation.data import MutantLineSpans, SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.stats import status_by_exit_code
from mutmut.utils.format_utils import mangled_name_from_mutant_name

from tests.mutants.mutated_copy import UNDECORATED

_DEAD: Final = frozenset({"killed", "timeout", "caught by type check", "segfault"})
_REFUSED: Final = 37
"""mutmut's code of what a type checker caught."""
_NOISE: Final = re.compile(r"^(?:x_|xǁ)")


class LivingMutant(msgspec.Struct, frozen=True, order=True):
    """A mutant that no test notices: the function of a module, and its lines before and after."""

    where: str
    change: str
    name: str

    @property
    def line(self) -> str:
        """How ``survivors.toml`` has it: lines that move in their file do not change it."""
        return f"{self.where}: {self.change}"


@dataclass(frozen=True, slots=True)
class MutantsOutcome:
    """How many mutants an area has, how many of them tests killed and strict mypy refused, and which live."""

    every: int
    killed: int
    refused: int
    living: tuple[LivingMutant, ...]

    @property
    def tried(self) -> int:
        return self.killed + self.refused + len(self.living)

    @property
    def share(self) -> float:
        """The share of the tried that died, in percent."""
        return 100 * (1 - len(self.living) / self.tried)


def read_outcome(place: Path) -> MutantsOutcome:
    """What mutmut left in a copy of the project."""
    living: list[LivingMutant] = []
    fates: list[str] = []
    with chdir(place):
        for meta in sorted(Path("mutants").rglob("*.py.meta")):
            data = _load(meta)
            fates += (status_by_exit_code[code] for code in data.exit_code_by_key.values())
            living += (_describe(name, str(data.path)) for name in _list_living(data))
    refused, untried = fates.count("caught by type check"), fates.count("not checked")
    killed = len(fates) - refused - untried - len(living)
    return MutantsOutcome(len(fates), killed, refused, tuple(sorted(living)))


def refuse_by_types(place: Path) -> None:
    """Mark what lives and strict mypy refuses: ``make check`` would not let it pass."""
    with chdir(place):
        metas = [meta for meta in sorted(Path("mutants").rglob("*.py.meta")) if _list_living(_load(meta))]
        files = [str(meta.relative_to("mutants"))[: -len(".meta")] for meta in metas]
        options = ["--output=json", "--no-warn-unused-ignores", f"--cache-dir={place.parent / '.mypy_cache'}"]
        checked = subprocess.run(
            [sys.executable, "-m", "mypy", *options, *files],
            cwd="mutants",
            capture_output=True,
            text=True,
            check=False,
        )
        errors = [msgspec.json.decode(line) for line in checked.stdout.splitlines()]
        for meta, file in zip(metas, files, strict=True):
            data, spans = _load(meta), MutantLineSpans.load(file)
            wrong = [each["line"] for each in errors if (each["file"], each["severity"]) == (file, "error")]
            for name in _list_living(data) if spans else ():
                span = spans.span_by_function_name[name.rpartition(".")[2]]
                if any(span.start <= line <= span.end for line in wrong):
                    data.exit_code_by_key[name] = _REFUSED
            data.save()


def _load(meta: Path) -> SourceFileMutationData:
    data = SourceFileMutationData(path=str(meta.relative_to("mutants"))[: -len(".meta")])
    data.load()
    return data


def _list_living(data: SourceFileMutationData) -> list[str]:
    return [
        name
        for name, code in data.exit_code_by_key.items()
        if code is not None and status_by_exit_code[code] not in _DEAD
    ]


def _describe(name: str, path: str) -> LivingMutant:
    module, _, function = mangled_name_from_mutant_name(name).rpartition(".")
    where = f"{module}.{_NOISE.sub('', function).replace('ǁ', '.')}".replace(UNDECORATED, "")
    lines = get_diff_for_mutant(name, path=path).splitlines()[2:]
    before, after = (
        " ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in ("-", "+")
    )
    return LivingMutant(where, f"{before} -> {after}", name)
