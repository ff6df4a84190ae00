"""One client of the population is certified."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

import msgspec

from rdss_sandbox.shapes.certificate import ClauseVerdict
from sandbox.certify.trial import certify
from tests.sandbox.certify.population.kind import Shape, build_trial
from tests.sandbox.certify.population.population import SHAPES, WRONG

RIGHT: Final = ""
_MOST_SAID: Final = 3


class Run(msgspec.Struct, frozen=True):
    """What is tried: a kind of bug (none: a right client) in a shape, in all stages or those of the kind."""

    kind: str
    shape: str
    seed: int
    whole: bool


class Result(msgspec.Struct, frozen=True):
    """What a run found: the first findings of each clause that failed, and the clauses not exercised.

    ``kit`` is the digest of the kit and of the client, ``error`` what ended the run instead of a verdict.
    """

    run: Run
    kit: str
    failed: dict[str, tuple[str, ...]] = {}
    missed: tuple[str, ...] = ()
    level: str | None = None
    seconds: float = 0.0
    error: str = ""


def find_shape(run: Run) -> Shape:
    """The shape of a run. Raises ``StopIteration`` where there is none."""
    return next(each for each in SHAPES if each.id == run.shape)


def try_client(run: Run, kit: str = "") -> Result:
    """Certify the client of a run. Raises ``StopIteration`` where there is none of this kind and shape."""
    shape = find_shape(run)
    with tempfile.TemporaryDirectory(prefix="population-") as folder:
        if run.kind == RIGHT:
            trial = build_trial(shape, shape.program, seed=run.seed)
        else:
            wrong = next(each for each in WRONG if (each.kind.name, each.shape) == (run.kind, shape))
            only = () if run.whole else wrong.kind.stages
            program = wrong.write(Path(folder))
            trial = build_trial(shape, program, seed=run.seed, only=only, groups=wrong.kind.groups)
        certificate, _ = certify(trial, lambda _doing: None)
    failed = {
        each.id: tuple(finding.said for finding in each.evidence[:_MOST_SAID])
        for each in certificate.clauses
        if each.verdict is ClauseVerdict.FAIL
    }
    missed = tuple(f"{each.id}: {each.exposure} of {each.needed}" for each in certificate.missed)
    return Result(run, kit, failed, missed, certificate.level, certificate.seconds)
