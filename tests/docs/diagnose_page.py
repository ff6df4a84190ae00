"""The generated part of docs/diagnose.md: ``python -m tests.docs.diagnose_page docs/diagnose.md``."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm
from emulator.diagnosis.rules import RULES
from tests.docs.page_parts import renew_file, renew_part


def renew(page: str) -> str:
    """Generate the table between the marks of the page again. Raises ValueError when a mark is missing."""
    lines = ["", "| rule | what it finds | how it is seen | what to do |", "|---|---|---|---|"]
    for harm in Harm:
        lines += [f"| | **{harm}** | | |"]
        lines += [
            f"| `{rule.id}` | {rule.title}. {rule.sentence} *{rule.source}* | {rule.sign} | {rule.advice} |"
            for rule in RULES
            if rule.harm is harm
        ]
    return renew_part(page, "rules", "\n".join(["", *lines, "", ""]))


if __name__ == "__main__":
    renew_file(renew)
