"""The table in the trainers' guide of what a class of twenty takes, made of the benchmark's results.

``python -m tests.docs.classroom_table`` writes it, after ``python -m tests.bench --area classroom``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec

from tests.bench.report import FOLDER, Entry

PAGE: Final = Path(__file__).parents[2] / "docs/trainers.md"
_PLACE: Final = re.compile(r"(?<=<!-- classroom -->\n).*?(?=<!-- end -->\n)", re.DOTALL)


def page() -> str:
    """The guide with the table of the results that are there now."""
    entries = msgspec.json.decode((FOLDER / "results.json").read_bytes(), type=list[Entry])
    rows = [
        f"| {each.measure} | {f'{each.value:,.10g} {each.unit}'.strip()} |\n"
        for each in entries
        if each.area == "classroom"
    ]
    table = f"\n| what | measured |\n|---|---:|\n{''.join(rows)}\n"
    return _PLACE.sub(lambda _: table, PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
