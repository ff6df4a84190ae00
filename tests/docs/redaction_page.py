"""Keeps ``docs/redaction.md`` true: ``python -m tests.docs.redaction_page docs/redaction.md``."""

from __future__ import annotations

from collections import defaultdict

from schemas.personal import list_marked
from schemas.rdss.rdss_marks import RdssPersonal
from tests.docs.page_parts import renew_file, renew_part


def renew(page: str) -> str:
    """Render the list between its marks again. Raises ValueError when a mark is missing."""
    kinds: dict[str, list[str]] = defaultdict(list)
    places = RdssPersonal().places
    for kind, place in places.items():
        for pointer in list_marked(place):
            kinds[pointer].append(kind)
    rows = [
        f"| `{pointer}` | {'all' if len(found) == len(places) else ', '.join(found)} |"
        for pointer, found in sorted(kinds.items())
    ]
    return renew_part(page, "marks", "\n" + "\n".join(["| place | messages |", "|---|---|", *rows, ""]))


if __name__ == "__main__":
    renew_file(renew)
