"""Regular expressions as topic names."""

from __future__ import annotations

import re

from emulator.patterns import BadPatternError, Pattern
from extensions.topics.engine.command_refusal import CommandRefusedError

NAME = re.compile(r"[\w./:-]+")


def pattern_of(topic: str) -> Pattern | None:
    """Compile ``topic`` as a regular expression; None for a plain name. Raises CommandRefusedError."""
    if NAME.fullmatch(topic):
        return None
    try:
        return Pattern(topic)
    except BadPatternError as error:
        raise CommandRefusedError(
            "invalid topic", f"{topic[:80]!r} is neither a name nor a regular expression: {error}"
        ) from None
