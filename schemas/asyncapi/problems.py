"""What is wrong with a document, each problem with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

MOST_PROBLEMS: Final = 200
"""The most problems of one document that are listed."""


class Place(NamedTuple):
    """Where a value is: a file, and the JSON Pointer (RFC 6901) in it."""

    file: Path
    pointer: str

    def below(self, *steps: str | int) -> Place:
        """The place of what is in this value under these names and indexes."""
        return Place(self.file, self.pointer + write_pointer(steps))


def write_pointer(steps: tuple[str | int, ...]) -> str:
    """The JSON Pointer of some steps.

    >>> write_pointer(("channels", "a/b", 0))
    '/channels/a~1b/0'
    """
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


class Problem(NamedTuple):
    """A sentence about a place; ``file`` is empty for the document, else names one that it refers to."""

    file: str
    pointer: str
    sentence: str

    def __str__(self) -> str:
        place = f"{self.file}#{self.pointer}: " if self.file or self.pointer else ""
        return f"{place}{self.sentence}"


class BadDocumentError(ValueError):
    """A document of which no contract can be made; ``problems`` are in the document's order."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems: Final = tuple(problems)


class Problems:
    """Collects the problems of one document."""

    def __init__(self, document: Path) -> None:
        self._document = document
        self.found: list[Problem] = []

    def add(self, place: Place, sentence: str) -> None:
        """Note a problem, once, and no more than ``MOST_PROBLEMS``."""
        file = "" if place.file == self._document else place.file.name
        problem = Problem(file, place.pointer, sentence)
        if problem not in self.found and len(self.found) < MOST_PROBLEMS:
            self.found.append(problem)

    def end(self) -> None:
        """Raise BadDocumentError if there are any."""
        if self.found:
            raise BadDocumentError(self.found)
