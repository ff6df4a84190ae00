"""The generated part of docs/diagnose.md: ``python -m emulator.diagnosis.page docs/diagnose.md``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from emulator.diagnosis.rule import Harm
from emulator.diagnosis.rules import RULES

_BEGIN: Final = "<!-- rules -->\n"
_END: Final = "<!-- end -->"


def renew(page: str) -> str:
    """Generate the table between the marks of the page again. Raises ValueError when a mark is missing."""
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not end:
        raise ValueError(f"the page has no place between {_BEGIN.strip()!r} and {_END!r}")
    lines = ["", "| rule | what it finds | how it is seen | what to do |", "|---|---|---|---|"]
    for harm in Harm:
        lines += [f"| | **{harm}** | | |"]
        lines += [
            f"| `{rule.id}` | {rule.title}. {rule.sentence} *{rule.source}* | {rule.sign} | {rule.advice} |"
            for rule in RULES
            if rule.harm is harm
        ]
    table = "\n".join(lines)
    return f"{before}{begin}{table}\n\n{end}{after}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renew(path.read_text(encoding="utf-8")), encoding="utf-8")
