"""The contracts that a suite is run over: RDSS, and one that is as unlike it as can be."""

from __future__ import annotations

from typing import Final

from schemas.contract import Contract, SampleMaker
from schemas.rdss.contract import RDSS
from tests.parcels import PARCELS

CONTRACTS: Final[tuple[Contract, ...]] = (RDSS, PARCELS)
NAMES: Final = tuple(contract.name for contract in CONTRACTS)


def make_samples(contract: Contract, seed: int, now: float) -> SampleMaker:
    """Messages of a contract, which must have samples."""
    assert contract.samples is not None
    return contract.samples.from_seed(seed, now=now)
