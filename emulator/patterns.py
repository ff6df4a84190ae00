r"""Regular expressions that people send: run by RE2, in time that grows with the text and never faster.

What needs to look back or around, ``\1`` or ``(?=``, cannot be had at that price, and is refused. As in PCRE
``\d``, ``\w``, ``\s`` and ``\b`` know ASCII alone; ``\pL`` and ``\p{Greek}`` know the rest.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import re2

LONGEST: Final = 1_000
"""Characters of the longest pattern."""
MOST_INSTRUCTIONS: Final = 1_000
"""Instructions of the largest program that a pattern may become: ``(ab?){400}`` has some 800."""
MOST_STEPS: Final = 50_000_000
"""Instructions times bytes of text; more are not looked at, so that nobody waits long for one search."""
_MEMORY: Final = 1 << 20


class BadPatternError(ValueError):
    """A text that is no regular expression, or one that is too large: says why."""


class Pattern:
    """A compiled pattern. In a text of more than ``longest`` bytes it finds nothing."""

    __slots__ = ("_run", "longest", "text")

    def __init__(self, text: str) -> None:
        """Raises BadPatternError."""
        if len(text) > LONGEST:
            raise BadPatternError(f"it has {len(text)} characters, and may have {LONGEST}")
        self.text = text
        self._run = _compiled(text)
        instructions = self._run.programsize
        if instructions > MOST_INSTRUCTIONS:
            raise BadPatternError(
                f"it comes to {instructions} instructions, and may come to {MOST_INSTRUCTIONS}: repeat less"
            )
        self.longest = MOST_STEPS // max(1, instructions)

    def found_in(self, text: str) -> bool:
        """Whether it matches somewhere in ``text``; ``$`` also stands before a line feed at its end."""
        said = _bytes(text)
        if len(said) > self.longest:
            return False
        if self._run.search(said) is not None:
            return True
        return said.endswith(b"\n") and self._run.search(said[:-1]) is not None

    def fits(self, text: str) -> bool:
        """Whether it matches the whole of ``text``."""
        said = _bytes(text)
        return len(said) <= self.longest and self._run.fullmatch(said) is not None


def _compiled(text: str) -> Any:
    import re2

    try:
        return re2.compile(_bytes(text), _options())
    except re2.error as error:
        said = error.args[0] if error.args else error
        why = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
        raise BadPatternError(
            f"{why}; the syntax is RE2's, without back references and looking around"
        ) from None


@cache
def _options() -> re2.Options:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    return options


def _bytes(text: str) -> bytes:
    # JSON can say halves of surrogate pairs.
    return text.encode(errors="surrogatepass")
