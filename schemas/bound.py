"""The contract that this process is bound to when it starts. Who is handed no other one takes this."""

from __future__ import annotations

from typing import Final

from schemas.contract import Contract
from schemas.rdss.contract import RDSS

CONTRACT: Final[Contract] = RDSS
