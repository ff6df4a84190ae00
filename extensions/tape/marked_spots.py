"""What becomes of a value: marked by the contract, named by a pointer, or found by an expression."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final, TypeAlias
from uuid import UUID

from extensions.tape.pseudonyms import Pseudonyms
from schemas.personal import MarkedPlace

Pointer: TypeAlias = tuple[str, ...]
"""The steps of a JSON Pointer, ``*`` for any."""
_SHORTEST_INSIDE: Final = 4
"""The fewest characters of a value that is looked for inside a key."""
_NUMBER: Final = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4}){4,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_WRITTEN: Final[tuple[tuple[type, Callable[[Any], str], Callable[[str], Any]], ...]] = (
    (datetime, datetime.isoformat, datetime.fromisoformat),
    (date, date.isoformat, date.fromisoformat),
    (UUID, str, UUID),
)
"""Values that are no texts in Avro, and how they are written and read."""


class Replacements:
    """What replaces values, wherever they are; ``count`` is how many were replaced.

    ``strict`` says that what no schema describes is personal.
    """

    def __init__(
        self, pseudonyms: Pseudonyms, patterns: tuple[re.Pattern[str], ...], *, strict: bool
    ) -> None:
        self.pseudonyms: Final = pseudonyms
        self.strict: Final = strict
        self._patterns = patterns
        self._of_message: dict[str, str] = {}
        self._kept: str | None = None
        self._keeps_choices = False
        self.count = 0

    def begin(self) -> None:
        """Begin with another message."""
        self._of_message.clear()

    @contextmanager
    def keeping(self, kind: str | None) -> Iterator[None]:
        """Keep what is one of several choices, and what names the ``kind`` of the message, meanwhile."""
        self._kept, self._keeps_choices = kind, True
        try:
            yield
        finally:
            self._kept, self._keeps_choices = None, False

    def keeps(self, text: str, choices: tuple[str, ...]) -> bool:
        return self._keeps_choices and (text == self._kept or text in choices)

    def note(self, old: str, new: str) -> str:
        """Note that a text of this message became another one."""
        self.count += 1
        self._of_message[old] = new
        return new

    def replace_found(self, text: str) -> str:
        """Replace what the expressions find in a text, or in what it says in base64."""
        if not self._patterns:
            return text
        new = self._replace_matches(text)
        if new == text and _BASE64.fullmatch(text):
            try:
                inside = base64.b64decode(text).decode()
            except (binascii.Error, UnicodeDecodeError):
                return text
            new = base64.b64encode(self._replace_matches(inside).encode()).decode("ascii")
        return new

    def _replace_matches(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(lambda found: self._replace_match(found[0]), text)
        return text

    def _replace_match(self, text: str) -> str:
        return self.note(text, self.pseudonyms.replace(text)) if text else text

    def finds(self, text: str) -> bool:
        """Whether an expression finds anything in a text."""
        return any(pattern.search(text) for pattern in self._patterns)

    def replace_beside(self, text: str) -> str:
        """Replace, in a text beside a message, what was replaced in it, and what the expressions find."""
        known = self._of_message.get(text)
        if known is not None:
            return known
        for old in sorted(self._of_message, key=len, reverse=True):
            if len(old) >= _SHORTEST_INSIDE and old in text:
                text = text.replace(old, self._of_message[old])
        return self.replace_found(text)


class MarkedSpot:
    """A place in messages of one form, and the pointers that lead through it; see ``json_rewriting.Spot``."""

    def __init__(
        self,
        replacements: Replacements,
        place: MarkedPlace,
        pointers: tuple[Pointer, ...] = (),
        *,
        named: bool = False,
    ) -> None:
        """``named`` says that a pointer leads to a place around this one."""
        self._replacements = replacements
        self._place = place
        self._pointers = pointers
        self._named = named or () in pointers
        self._personal = self._named or place.personal or (replacements.strict and not place.known)
        self._below: dict[str, MarkedSpot] = {}
        self._items: MarkedSpot | None = None

    def below(self, name: str) -> MarkedSpot:
        known = self._below.get(name)
        if known is not None:
            return known
        made = self._step(name, self._place.below(name))
        if name in self._place.names:
            self._below[name] = made
        return made

    def item(self, at: int) -> MarkedSpot:
        if any(pointer and pointer[0] != "*" for pointer in self._pointers):
            return self._step(str(at), self._place.items)
        if self._items is None:
            self._items = self._step("*", self._place.items)
        return self._items

    def _step(self, step: str, place: MarkedPlace) -> MarkedSpot:
        pointers = tuple(each[1:] for each in self._pointers if each and each[0] in (step, "*"))
        return MarkedSpot(self._replacements, place, pointers, named=self._named)

    def replace_name(self, name: str) -> str:
        if name in self._place.names:
            return name
        if self._place.marks_names:
            return self._replacements.note(name, self._replacements.pseudonyms.replace(name))
        return self._replacements.replace_found(name)

    def replace_text(self, text: str) -> str:
        if not self._personal:
            return self._replacements.replace_found(text)
        if self._replacements.keeps(text, self._place.choices):
            return text
        place, pseudonyms = self._place, self._replacements.pseudonyms
        if text in place.choices:
            new = pseudonyms.choose(text, place.choices)
        else:
            new = pseudonyms.replace(text, place.takes_as(text) if place.asks else None)
        return self._replacements.note(text, new)

    def replace_literal(self, literal: str) -> str:
        found = _NUMBER.match(literal)
        if found is None or not (self._personal or self._replacements.finds(literal)):
            return literal
        takes = self._place.takes_as(_read_number(found[0])) if self._place.asks else None
        accepts = takes and (lambda other: takes(_read_number(other)))
        new = self._replacements.pseudonyms.replace_number(found[0], accepts)
        return self._replacements.note(found[0], new) + literal[found.end() :]

    def replace_value(self, value: Any) -> Any:
        """The same of a value that was read. Raises ValueError for a personal one of an unknown type."""
        if isinstance(value, str):
            return self.replace_text(value)
        if isinstance(value, dict):
            return {
                self.replace_name(name): self.below(name).replace_value(each) for name, each in value.items()
            }
        if isinstance(value, list | tuple):
            return type(value)(self.item(at).replace_value(each) for at, each in enumerate(value))
        if isinstance(value, int | float) and not isinstance(value, bool):
            return type(value)(self.replace_literal(repr(value)))
        return self._replace_other(value) if self._personal else value

    def _replace_other(self, value: Any) -> Any:
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, bytes):
            return self._replacements.pseudonyms.draw_bytes(value)
        if isinstance(value, Decimal):
            return Decimal(self.replace_literal(str(value)))
        for kind, write, read in _WRITTEN:
            if isinstance(value, kind):
                return read(self.replace_text(write(value)))
        raise ValueError(f"a value of the type {type(value).__name__} has no other of its kind")


def _read_number(literal: str) -> float:
    return int(literal) if literal.lstrip("-").isdigit() else float(literal)
