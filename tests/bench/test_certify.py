"""The measurement of the kit's power counts what was found, and makes no run twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import certify, certify_rates
from tests.bench.certify import plan_runs, try_all
from tests.bench.certify_rates import Rate
from tests.sandbox.certify.population.population import WRONG
from tests.sandbox.certify.population.run import RIGHT, Result, Run

_LOOP = "kinesis-consumer-loop"
_KIND = "lists shards once"


def _result(kind: str, seed: int, *failed: str, error: str = "") -> Result:
    return Result(Run(kind, _LOOP, seed, whole=True), "kit", dict.fromkeys(failed, ()), error=error)


def test_a_wrong_client_is_found_by_the_clause_that_names_its_bug() -> None:
    """Another clause that fails, no verdict, and an accusation of a right client count against the kit."""
    results = [
        _result(_KIND, 1, "every-shard-read", "nothing-lost"),
        _result(_KIND, 2, "nothing-lost"),
        _result(_KIND, 3, error="no verdict in 900 s"),
        _result(RIGHT, 1),
        _result(RIGHT, 2, "nothing-twice"),
    ]
    assert certify_rates.count(results) == [
        Rate(_LOOP, RIGHT, "", 2, 1, ("nothing-twice",)),
        Rate(_LOOP, _KIND, "every-shard-read", 3, 1, ("nothing-lost",)),
    ]


def test_the_first_seed_is_tried_whole_and_right_clients_always() -> None:
    """Of more seeds a wrong client is tried in the stages that its bug needs."""
    runs = plan_runs((), (1, 2))
    assert {(each.kind == RIGHT, each.seed) for each in runs if each.whole} == {
        *((False, 1), (True, 1), (True, 2))
    }
    assert {each.kind for each in runs} == {RIGHT, *(each.kind.name for each in WRONG)}
    assert {each.shape for each in plan_runs((_LOOP,), (1,))} == {_LOOP}


def test_a_run_that_was_made_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its result is read; one of another kit, and one that ended in an error, is made again."""
    made: list[int] = []

    def answer(run: Run, kit: str) -> Result:
        made.append(run.seed)
        return Result(run, kit, error="it ended" if run.seed == 2 else "")

    monkeypatch.setattr(certify, "_try", answer)
    runs = [Run(_KIND, _LOOP, seed, whole=True) for seed in (1, 2)]
    path = tmp_path / "runs.jsonl"
    assert [len(try_all(runs, 1, path)) for _ in range(2)] == [2, 2]
    assert sorted(made) == [1, 2, 2]
    monkeypatch.setitem(certify._KIT_DIGESTS, "kit", "another")
    try_all(runs, 1, path)
    assert sorted(made) == [1, 1, 2, 2, 2]
