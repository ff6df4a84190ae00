r"""Regular expressions from users, run by RE2 in time linear in the text.

RE2 refuses back references and look-around (``\1``, ``(?=``). As in PCRE, ``\d``, ``\w``, ``\s``
and ``\b`` match ASCII only; ``\pL`` and ``\p{Greek}`` match the rest.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import re2

LONGEST: Final = 1_000
"""Characters of the longest pattern."""
MOST_INSTRUCTIONS: Final = 1_000
"""Instructions of the largest compiled pattern: ``(ab?){400}`` has some 800."""
MOST_STEPS: Final = 50_000_000
"""Instructions times bytes of text. A longer text is not searched, so that no search takes long."""
_MEMORY: Final = 1 << 20


class BadPatternError(ValueError):
    """A text that is not a regular expression, or a pattern that is too large; the text says why."""


class Pattern:
    """A compiled pattern. It matches no text of more than ``longest`` bytes."""

    __slots__ = ("_run", "longest", "text")

    def __init__(self, text: str) -> None:
        """Raises BadPatternError."""
        if len(text) > LONGEST:
            raise BadPatternError(f"it has {len(text)} characters, and may have {LONGEST}")
        self.text = text
        self._run = _compile(text)
        instructions = self._run.programsize
        if instructions > MOST_INSTRUCTIONS:
            raise BadPatternError(
                f"it comes to {instructions} instructions, and may come to {MOST_INSTRUCTIONS}: repeat less"
            )
        self.longest = MOST_STEPS // max(1, instructions)

    def found_in(self, text: str) -> bool:
        """Whether it matches somewhere in ``text``; ``$`` also matches before a final line feed."""
        encoded = _encode(text)
        if len(encoded) > self.longest:
            return False
        if self._run.search(encoded) is not None:
            return True
        return encoded.endswith(b"\n") and self._run.search(encoded[:-1]) is not None

    def fits(self, text: str) -> bool:
        """Whether it matches the whole of ``text``."""
        encoded = _encode(text)
        return len(encoded) <= self.longest and self._run.fullmatch(encoded) is not None


def _compile(text: str) -> Any:
    import re2

    try:
        return re2.compile(_encode(text), _options())
    except re2.error as error:
        reason = error.args[0] if error.args else error
        why = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
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


def _encode(text: str) -> bytes:
    # A JSON text may hold half a surrogate pair.
    return text.encode(errors="surrogatepass")
