"""The JSON texts in users' files: one a line, or a single one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import msgspec

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Document:
    """One JSON text from a file. ``line`` counts from 1 in a file with one text a line, else it is None."""

    source: str
    line: int | None
    raw: bytes

    @property
    def place(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


def documents(source: str, lines: Iterable[bytes]) -> Iterator[Document]:
    """Yield the JSON texts of a file: one a line if the first line is JSON by itself, else a single one.

    A file that is neither is read line by line if any line is JSON, else as a single malformed text.
    """
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    first = next(numbered, (1, b""))
    if is_json(first[1]):
        following = next(numbered, None)
        if following is None:
            yield Document(source, None, first[1].strip())
        else:
            yield from _each(source, chain((first, following), numbered))
        return
    rest = [first, *numbered]
    whole = b"".join(line for _, line in rest).strip()
    if is_json(whole) or not any(is_json(line) for _, line in rest):
        yield Document(source, None, whole)
    else:
        yield from _each(source, rest)


def _each(source: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[Document]:
    for number, line in lines:
        yield Document(source, number, line.strip())


def is_json(text: bytes) -> bool:
    """Whether the text is JSON in UTF-8."""
    try:
        _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
