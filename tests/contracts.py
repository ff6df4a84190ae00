"""The contracts that a suite is run over: RDSS, and one that is as unlike it as can be."""

from __future__ import annotations

from typing import Final

from schemas.contract import Contract, SampleMaker
from schemas.rdss.contract import RDSS
from tests.parcels import PARCELS

CONTRACTS: Final[tuple[Contract, ...]] = (RDSS, PARCELS)
NAMES: Final = tuple(contract.name for contract in CONTRACTS)


def spell(contract: Contract, name: str) -> str:
    """What a contract calls a field in its messages."""
    return next(field.spelling for field in contract.fields if field.name == name)


def make_samples(contract: Contract, seed: int, now: float) -> SampleMaker:
    """Messages of a contract, which must have samples."""
    assert contract.samples is not None
    return contract.samples.from_seed(seed, now=now)


_SENT: Final = {
    contract.name: list(make_samples(contract, 3, 1_790_000_000.0).stream(40)) for contract in CONTRACTS
}
KEYS: Final = {each.data: each.key for samples in _SENT.values() for each in samples}
"""The keys, which are the ids too, of the messages in ``list_messages``."""


def list_messages(contract: Contract) -> list[bytes]:
    """Forty messages of a contract, no two alike."""
    return [each.data for each in _SENT[contract.name]]
