"""The receiver under any order, duplicates, bad messages and deaths: nothing lost, nothing twice."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.rng import Chance
from schemas.rdss.decoration import decorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode, Queue
from schemas.rdss.sequence import join
from tests.sandbox.receiver.conftest import Messages, Preparing, Site

BAD = ({"version": 4}, {"messageType": "Other"}, {"messageId": "5680E8E0"})


@st.composite
def traffic(
    draw: Any, messages: Messages
) -> tuple[list[tuple[bytes, str]], list[int], set[bytes], list[bytes]]:
    """Deliveries (data, shard), places to deliver again, whole messages that come out, bad messages."""
    wholes = [serialise(messages.small()) for _ in range(draw(st.integers(0, 4)))]
    sequences = [messages.parts(count) for count in draw(st.lists(st.integers(2, 5), max_size=3))]
    bad = [serialise(messages.small(**change)) for change in draw(st.lists(st.sampled_from(BAD), max_size=3))]
    garbage = draw(
        st.lists(st.binary(max_size=20).filter(lambda d: not d.strip().startswith(b"{")), max_size=2)
    )
    bad += sorted(set(garbage))
    everything = wholes + [part for parts in sequences for part in parts] + bad
    repeated = draw(st.lists(st.sampled_from(everything), max_size=6)) if everything else []
    shards = st.sampled_from(["shardId-0", "shardId-1", "shardId-2"])
    order = draw(st.permutations(everything + repeated))
    deliveries = [(data, draw(shards)) for data in order]
    again = draw(st.lists(st.integers(0, len(deliveries) - 1), max_size=4)) if deliveries else []
    whole = set(wholes) | {join(parts) for parts in sequences}
    return deliveries, again, whole, bad


@pytest.mark.parametrize("prepares", [False, True])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), deaths=st.lists(st.integers(0, 40), max_size=5), seed=st.integers(0, 2**32))
def test_exactly_once_whatever_happens(
    site: Site, messages: Messages, data: st.DataObject, deaths: list[int], seed: int, *, prepares: bool
) -> None:
    """Every whole message is processed once, byte for byte, and every bad one is in a queue.

    An application that prepares does so on threads, one for each shard, of which any may be the one to die.
    """
    messages.draws = Chance(seed).draws("messages")
    deliveries, again, whole, bad = data.draw(traffic(messages))
    with tempfile.TemporaryDirectory() as folder:
        here = type(site)(Path(folder), site.clock)
        if prepares:
            here.application = Preparing(here)
        for payload, shard in deliveries:
            here.input.put(payload, shard)
        for at in again:
            here.input.put_again(at)
        for death in [*deaths, None]:
            _live(here, death)
        arrivals = [row[1] for row in here.arrivals()]
        assert Counter(arrivals) == Counter(whole)
        rejected = [message for queue in Queue for message in here.rejected(queue)]
        assert {serialise(message["messageBody"]) for message in rejected} == {
            _kept(payload) for payload in bad
        }
        # Only a death between the broker's answer and writing it down may repeat a reject, or what the
        # threads have rejected since the last batch.
        assert len(rejected) <= len(bad) + len(deaths) * (len(bad) if prepares else 1)


def _kept(payload: bytes) -> bytes:
    """The body of the decorated message that these bytes end in."""
    parts = json.loads(decorate(payload, ErrorCode.GENERR001, "why", now=0))
    return serialise(parts["messageBody"])


def _live(site: Site, death: int | None) -> None:
    """Run a receiver on the site until nothing is left, or until it dies at its ``death``-th step."""
    steps = iter(range(10**6))

    def step() -> None:
        if next(steps) == death:
            raise site.crash

    site.step = step
    try:
        site.receive()
    except site.crash:
        pass
    finally:
        site.step = lambda: None
