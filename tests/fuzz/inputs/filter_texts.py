"""Filters of topics, and the filters of messages that the control API takes."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.filters import FilterSyntaxError, compile_filter, read_path
from tests.fuzz.fuzzed_parser import FuzzedParser, Parse, refusals

_RECORDS = [
    {"id": 7, "name": "Ada", "tags": ["a", "b"], "price": 1.5, "sub": {"x": None, "y": [1, {"z": "2"}]}},
    {"id": "", "name": None, "tags": [], "price": "1e400", "sub": "text"},
    [1, 2],
    "text",
    None,
]
_FILTERS = (
    "/id = 7 AND NOT (/name LIKE '^A' OR /price > 1.5e3)",
    "/tags IN ('a', 'b', 3) AND /sub/y/z BETWEEN 1 AND '2'",
    "(/price * 2 - -1) % 3 / 4 <> 5 OR /sub IS NOT NULL",
    '/name NOT LIKE "a""b" AND /tags NOT IN (1) AND TRUE = FALSE',
    "/a IS NULL OR /b NOT BETWEEN NULL AND 10",
)


def _open() -> Parse:
    def parse(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        with refusals(FilterSyntaxError):
            compiled = compile_filter(text)
            for record in _RECORDS:
                compiled(record)
        with refusals(ValueError):
            read_path(text)

    return parse


def _seeds() -> Iterable[tuple[str, bytes]]:
    return ((f"{place}", text.encode()) for place, text in enumerate(_FILTERS))


FILTER = FuzzedParser("the filter of a subscription or a query of topics", _open, _seeds, longest=512)
