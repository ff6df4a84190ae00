"""The contract that this process is bound to when it starts. Who is handed no other one takes this."""

from __future__ import annotations

from typing import Final

from schemas.contract import Contract
from schemas.rdss.contract import AS_PUBLISHED, RDSS

CONTRACT: Final[Contract] = RDSS


def choose_contract(*, as_published: bool) -> Contract:
    """The bound contract, or the one that judges as the published schema files of it do."""
    return AS_PUBLISHED if as_published else CONTRACT
