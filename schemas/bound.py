"""The contract that this process is bound to when it starts. Who is handed no other one takes this.

It is RDSS's, or that of the AsyncAPI document which ``SANDBOX_CONTRACT`` names. The processes that this one
starts inherit the variable, and so the contract.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from schemas.contract import Contract
from schemas.rdss.contract import AS_PUBLISHED, RDSS

VARIABLE: Final = "SANDBOX_CONTRACT"


def _find_contract() -> Contract:
    """Raises ValueError for a document that is no contract."""
    document = os.environ.get(VARIABLE)
    if not document:
        return RDSS
    from schemas.asyncapi.load import load_once

    return load_once(Path(document).resolve())


CONTRACT: Final[Contract] = _find_contract()


def choose_contract(*, as_published: bool) -> Contract:
    """The bound contract, or the one that judges as RDSS's published schema files do."""
    return AS_PUBLISHED if as_published and CONTRACT is RDSS else CONTRACT
