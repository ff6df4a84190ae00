"""What the makers of samples and of changes ask of the contract of a document."""

from __future__ import annotations

from typing import Protocol

from schemas.asyncapi.declarations import Declared
from schemas.asyncapi.peek import Looker
from schemas.contract import Contract


class DeclaredContract(Contract, Protocol):
    """See ``schemas.asyncapi.contract.AsyncApiContract``."""

    @property
    def declared(self) -> Declared: ...

    @property
    def identified(self) -> bool: ...

    @property
    def looker(self) -> Looker: ...
