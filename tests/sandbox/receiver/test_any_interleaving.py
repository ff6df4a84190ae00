"""The receiver under any order, duplicates, bad messages and deaths: nothing lost, nothing twice."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.rng import Chance
from schemas.contract import Contract, Sample
from tests.contracts import make_samples
from tests.sandbox.receiver.receiver_on_tapes import NOW, Preparing, Tapes, make_parts


@st.composite
def traffic(
    draw: Any, contract: Contract, seed: int
) -> tuple[list[tuple[Sample, str]], list[int], list[bytes], list[Sample]]:
    """Deliveries (message, shard), places to deliver again, whole messages that come out, bad messages."""
    samples, draws = make_samples(contract, seed, NOW), Chance(seed).draws("messages")
    assert contract.samples is not None
    wholes = [samples.message() for _ in range(draw(st.integers(0, 4)))]
    counts = draw(st.lists(st.integers(2, 5), max_size=3)) if contract.sequences else []
    sequences = [make_parts(contract, samples, count, draws) for count in counts]
    # One that is too large is kept elsewhere, and not in its queue.
    codes = [code for code in contract.samples.codes if code != contract.oversize]
    bad = [samples.bad(code) for code in draw(st.lists(st.sampled_from(codes), max_size=3))]
    garbage = st.binary(max_size=20).filter(lambda data: not data.strip().startswith(b"{"))
    bad += [Sample(data, "garbage") for data in sorted(set(draw(st.lists(garbage, max_size=2))))]
    everything = wholes + [part for parts in sequences for part in parts] + bad
    repeated = draw(st.lists(st.sampled_from(everything), max_size=6)) if everything else []
    shards = st.sampled_from(["shardId-0", "shardId-1", "shardId-2"])
    order = draw(st.permutations(everything + repeated))
    deliveries = [(each, draw(shards)) for each in order]
    again = draw(st.lists(st.integers(0, len(deliveries) - 1), max_size=4)) if deliveries else []
    whole = [each.data for each in wholes]
    for parts in sequences:
        assert contract.sequences is not None
        joined = contract.sequences.judge_parts(part.data for part in parts).whole
        assert joined is not None
        whole.append(joined)
    return deliveries, again, whole, bad


@pytest.mark.parametrize("prepares", [False, True])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), deaths=st.lists(st.integers(0, 40), max_size=5), seed=st.integers(0, 2**32))
def test_exactly_once_whatever_happens(
    any_tapes: Tapes, data: st.DataObject, deaths: list[int], seed: int, *, prepares: bool
) -> None:
    """Every whole message is processed once, byte for byte, and every bad one is in a queue.

    An application that prepares does so on threads, one for each shard, of which any may be the one to die.
    """
    contract = any_tapes.contract
    deliveries, again, whole, bad = data.draw(traffic(contract, seed))
    with tempfile.TemporaryDirectory() as folder:
        here = type(any_tapes)(Path(folder), any_tapes.clock, contract=contract)
        if prepares:
            here.application = Preparing(here)
        for sample, shard in deliveries:
            here.put(sample, shard=shard)
        for at in again:
            here.input.put_again(at)
        for death in [*deaths, None]:
            _live(here, death)
        arrivals = [row[1] for row in here.arrivals()]
        assert Counter(arrivals) == Counter(whole)
        rejected, codes = here.refused(), [contract.judge(each.data, now=NOW).code for each in bad]
        assert {carried for _, carried in rejected} == {
            here.carried(contract.decorate(each.data, code, "why", now=NOW))
            for each, code in zip(bad, codes, strict=True)
            if code is not None
        }
        # Only a death between the broker's answer and writing it down may repeat a reject, or what the
        # threads have rejected since the last batch.
        assert len(rejected) <= len(bad) + len(deaths) * (len(bad) if prepares else 1)


def _live(tapes: Tapes, death: int | None) -> None:
    """Run a receiver on the tapes until nothing is left, or until it dies at its ``death``-th step."""
    steps = iter(range(10**6))

    def step() -> None:
        if next(steps) == death:
            raise tapes.crash

    tapes.step = step
    try:
        tapes.receive()
    except tapes.crash:
        pass
    finally:
        tapes.step = lambda: None
