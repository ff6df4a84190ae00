"""What the makers of samples and of changes ask of the contract of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from schemas.asyncapi.declarations import Declared
from schemas.asyncapi.peek import Looker
from schemas.contract import Code, Judge, Peek


class DeclaredContract(Protocol):
    """See ``schemas.asyncapi.contract.AsyncApiContract``."""

    @property
    def declared(self) -> Declared: ...

    @property
    def identified(self) -> bool: ...

    @property
    def codes(self) -> Mapping[str, Code]: ...

    @property
    def expired(self) -> Code | None: ...

    @property
    def max_bytes(self) -> int: ...

    @property
    def peek(self) -> Looker: ...

    @property
    def judge(self) -> Judge: ...

    def identity(self, seen: Peek) -> str | None: ...
