"""Replaces values and names in a JSON text, and leaves every other character of it as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, Protocol, TypeAlias

_TOKEN: Final = re.compile(r'"((?:[^"\\]|\\.)*+)("|\\?\Z)|([{}\[\],:])|([^"{}\[\],:\s]+)', re.DOTALL)
_UNIT: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u[0-9a-fA-F]{4}|\\[^u]|\\u?[0-9a-fA-F]*\Z|[^\\]",
    re.DOTALL,
)
_LITERAL: Final = re.compile(r"-?[0-9.eE+-]*|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?")
"""A number, true, false or null, or how one begins that is cut."""
_NOTHING: Final = -1
Expected: TypeAlias = Literal["name", "colon", "value", "end"]
"""What comes next: ``end`` is a comma, or the end of what is around."""
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Spot(Protocol):
    """A place in the text, and what becomes of the values there. Each new text has as many characters."""

    def below(self, name: str) -> Spot: ...

    def item(self, at: int) -> Spot: ...

    def replace_name(self, name: str) -> str: ...

    def replace_text(self, text: str) -> str: ...

    def replace_literal(self, literal: str) -> str: ...


class BrokenTextError(ValueError):
    """The text does not go on as JSON."""


class JsonRewriter:
    """Rewrites a text that may come in several slices, cut anywhere, each of which becomes as long a one.

    A value across a cut is replaced as it is known at the end of each slice.
    """

    def __init__(
        self, *spots: Spot, around: Iterable[int | None] = (), expects: Expected = "value", pending: str = ""
    ) -> None:
        """Begin with one spot, that of the whole text; the rest is for ``copy``."""
        self._spots: list[Spot] = [*spots]
        """The spots of the value that comes next, and of the objects and arrays around it before that."""
        self._around: list[int | None] = [*around]
        """The index in each array around, None of an object."""
        self._expects: Expected = expects
        self._pending = pending

    def copy(self) -> JsonRewriter:
        """Another one, which goes on from here by itself."""
        return JsonRewriter(*self._spots, around=self._around, expects=self._expects, pending=self._pending)

    def rewrite(self, text: str) -> str:
        """Rewrite the next slice. Raises ``BrokenTextError``."""
        before = len(self._pending)
        text, self._pending = self._pending + text, ""
        pieces: list[str] = []
        done = 0
        for found in _TOKEN.finditer(text):
            content, quote, mark, literal = found.groups()
            if mark:
                self._pass(mark)
                continue
            if self._expects not in ("name", "value") or (literal and self._expects == "name"):
                raise BrokenTextError(found[0])
            if content is not None:
                ended = quote == '"'
                new = self._replace_quoted(
                    content + ("" if ended else quote), is_name=self._expects == "name"
                )
                start, end = found.start(1), found.end(1) + (0 if ended else len(quote))
            else:
                ended = found.end() < len(text)
                if not _LITERAL.fullmatch(literal):
                    raise BrokenTextError(literal)
                new = self._spots[-1].replace_literal(literal)
                start, end = found.span()
            if new is not None:
                pieces += (text[done:start], new)
                done = end
            if not ended:
                self._pending = found[0]
            elif self._expects == "name":
                self._spots.append(self._spots[-1].below(_read(content)))
                self._expects = "colon"
            else:
                self._expects = "end"
        pieces.append(text[done:])
        return "".join(pieces)[before:]

    def _replace_quoted(self, content: str, *, is_name: bool) -> str | None:
        """The new text between two quotation marks; None where it stays."""
        spot = self._spots[-1]
        replace = spot.replace_name if is_name else spot.replace_text
        if "\\" not in content:
            new = replace(content)
            return None if new == content else new
        units = _UNIT.findall(content)
        value = "".join(map(_read_unit, units))
        new = replace(value)
        if new == value:
            return None
        return "".join(map(_write_unit, units, new))

    def _pass(self, mark: str) -> None:
        expects, inside = self._expects, self._around[-1] if self._around else _NOTHING
        if mark in "{[" and expects == "value":
            self._around.append(None if mark == "{" else 0)
            self._expects = "name" if mark == "{" else "value"
            if mark == "[":
                self._spots.append(self._spots[-1].item(0))
        elif mark == ":" and expects == "colon":
            self._expects = "value"
        elif mark == "," and expects == "end" and inside != _NOTHING:
            self._spots.pop()
            self._expects = "name" if inside is None else "value"
            if inside is not None:
                self._around[-1] = inside + 1
                self._spots.append(self._spots[-1].item(inside + 1))
        elif mark == "}" and inside is None and expects in ("name", "end"):
            self._close(has_value=expects == "end")
        elif mark == "]" and inside not in (None, _NOTHING) and expects in ("value", "end"):
            self._close(has_value=True)
        else:
            raise BrokenTextError(mark)

    def _close(self, *, has_value: bool) -> None:
        self._around.pop()
        if has_value:
            self._spots.pop()
        self._expects = "end"


def _read(content: str) -> str:
    return "".join(map(_read_unit, _UNIT.findall(content))) if "\\" in content else content


def _read_unit(unit: str) -> str:
    if unit[0] != "\\":
        return unit
    if len(unit) == 12:
        return bytes.fromhex(unit[2:6] + unit[8:]).decode("utf-16-be")
    if len(unit) == 6:
        return bytes.fromhex(unit[2:]).decode("utf-16-be", errors="surrogatepass")
    return _ESCAPES.get(unit[1:], unit[1:2] or "\\")


def _write_unit(unit: str, new: str) -> str:
    """A character in the form in which another one was written."""
    if unit[0] != "\\":
        return new
    if len(unit) not in (6, 12) or _read_unit(unit) == new:
        return unit
    code = ord(new)
    codes = [code] if len(unit) == 6 else [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF)]
    form = "\\u%04X" if unit[2:] == unit[2:].upper() else "\\u%04x"
    return "".join(form % each for each in codes)
