"""One demand of the specification: where it is met, and the test that shows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_KEYWORD: Final = re.compile(r"(?:MUST|SHOULD)(?: NOT)?|RECOMMENDED")


@dataclass(frozen=True, slots=True)
class Requirement:
    """``words`` are the few by which the demand is found in the specification, its keyword among them.

    ``where`` are paths from the root of the project, ``shown_by`` tests by file and name from ``tests/``.
    ``position`` says how it is read where the specification contradicts itself, or speaks to people.
    """

    section: str
    words: str
    demand: str
    where: tuple[str, ...]
    shown_by: tuple[str, ...]
    position: str = ""

    @property
    def keyword(self) -> str:
        """MUST, MUST NOT, SHOULD, SHOULD NOT or RECOMMENDED."""
        found = _KEYWORD.findall(self.words)
        assert len(found) == 1, self.words
        return str(found[0])
