"""Texts from a seed that have a format, or match a pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from random import Random
from typing import Any, Final
from uuid import UUID

from schemas.message_timestamps import timestamp

# Typeshed has neither.
codes: Final[Any] = import_module("re._constants")
parser: Final[Any] = import_module("re._parser")
_WORDS: Final = (
    "amber", "bay", "cedar", "dune", "ember", "fjord", "grove", "heath", "iris", "jade", "kelp", "larch",
    "moss", "north", "oak", "pine", "quay", "reed", "slate", "tide",
)  # fmt: skip
_FIRST_DAY: Final = 1_577_836_800
_DAYS: Final = 3_650
_TRIES: Final = 40
_MOST_REPEATS: Final = 8
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


class CannotDrawError(ValueError):
    """Nothing could be drawn that a schema accepts; it may accept nothing."""


def draw_words(draws: Random, least: int, most: int | None) -> str:
    """A text of words, with so many characters at least, and at most."""
    text = " ".join(draws.choice(_WORDS) for _ in range(draws.randint(1, 3)))
    while len(text) < least:
        text += f" {draws.choice(_WORDS)}"
    most = len(text) if most is None else most
    return text[:most].strip().ljust(min(least, most), "x")


def _host(draws: Random) -> str:
    return f"{draws.choice(_WORDS)}.example"


def _uri(draws: Random) -> str:
    return f"https://{_host(draws)}/{draws.choice(_WORDS)}/{draws.randint(1, 999)}"


def _time_stamp(draws: Random) -> str:
    return timestamp(_FIRST_DAY + draws.randrange(_DAYS * 86_400_000) / 1000)


def _address6(draws: Random) -> str:
    return "2001:db8::" + ":".join(f"{draws.randrange(1, 1 << 16):x}" for _ in range(3))


_FORMATS: Final[Mapping[str, Callable[[Random], str]]] = {
    "date-time": _time_stamp,
    "date": lambda draws: _time_stamp(draws)[:10],
    "time": lambda draws: _time_stamp(draws)[11:],
    "duration": lambda draws: f"P{draws.randint(1, 30)}DT{draws.randint(1, 23)}H",
    "email": lambda draws: f"{draws.choice(_WORDS)}@{_host(draws)}",
    "idn-email": lambda draws: f"{draws.choice(_WORDS)}@{_host(draws)}",
    "hostname": _host,
    "idn-hostname": _host,
    "ipv4": lambda draws: f"192.0.2.{draws.randint(1, 254)}",
    "ipv6": _address6,
    "uri": _uri,
    "uri-reference": _uri,
    "iri": _uri,
    "iri-reference": _uri,
    "uri-template": lambda draws: f"{_uri(draws)}/{{id}}",
    "uuid": lambda draws: str(UUID(int=draws.getrandbits(128), version=4)),
    "json-pointer": lambda draws: f"/{draws.choice(_WORDS)}/{draws.randint(0, 9)}",
    "relative-json-pointer": lambda draws: f"{draws.randint(0, 3)}/{draws.choice(_WORDS)}",
    "regex": lambda draws: f"^{draws.choice(_WORDS)}$",
}


def draw_text(
    draws: Random,
    least: int,
    most: int | None,
    *,
    patterns: Sequence[str],
    formats: Sequence[str],
    rejects: Callable[[str], bool],
) -> str:
    """A text of some length that matches the patterns, has the formats, and is not rejected besides.

    Raises CannotDrawError.
    """
    known = [_FORMATS[each] for each in formats if each in _FORMATS]
    for number in range(_TRIES):
        if known and not (patterns and number % 2):
            text = known[0](draws)
        elif patterns:
            text = draw_match(draws, patterns[number % len(patterns)], number)
            if len(text) < least:
                text += draw_words(draws, least - len(text), least - len(text))
        else:
            text = draw_words(draws, least if most == 0 else max(least, 1), most)
        fits = least <= len(text) and (most is None or len(text) <= most)
        # An empty text says little: it is given where nothing else was found.
        fits = fits and (text != "" or most == 0 or number > _TRIES // 2)
        if fits and all(_matches(each, text) for each in patterns) and not rejects(text):
            return text
    raise CannotDrawError(f"no text was found that matches {', '.join(patterns) or ', '.join(formats)}")


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return True  # written for another engine: the validator decides


def draw_match(draws: Random, pattern: str, longer: int = 0) -> str:
    """A text in which a pattern matches, nearly always: looking around is left out.

    ``longer`` is how often an open repetition is repeated beyond its least; if it is even, a word may follow
    where the pattern leaves that open. Raises CannotDrawError.
    """
    try:
        text = _draw_nodes(draws, parser.parse(_write_classes(pattern)), longer, {})
        extended = text if longer % 2 else text + draws.choice(_WORDS)
        return extended if re.search(_write_classes(pattern), extended) else text
    except (re.error, OverflowError, RecursionError) as error:
        raise CannotDrawError(f"the pattern {pattern[:80]} cannot be drawn: {error}") from None


def _write_classes(pattern: str) -> str:
    """A pattern with a few characters in place of each property of Unicode, which Python's patterns lack."""
    inside = False

    def write(found: re.Match[str]) -> str:
        nonlocal inside
        inside = {"[": True, "]": False}.get(found[0], inside)
        if found[2] is None:
            return found[0]
        usual = _PROPERTIES.get(found[2], _PROPERTIES.get(found[2][0], "a-z"))
        if found[1] == "P":
            usual = "0-9" if usual[0] in "aA" else "a-z"
        return usual if inside else f"[{usual}]"

    return re.sub(r"\\([pP])\{(?:\w+=)?(\w+)\}|\\.|[\[\]]", write, pattern)


_PROPERTIES: Final = {
    "L": "a-zA-Z", "Lu": "A-Z", "Ll": "a-z", "N": "0-9", "P": ".,;", "Pd": r"\-", "Ps": "(",
    "Pe": ")", "Pc": "_", "S": "$", "Sm": "+", "Z": " ", "Emoji": "\u2600",
    "White_Space": " ", "Alphabetic": "a-zA-Z", "Uppercase": "A-Z", "ASCII": "a-zA-Z0-9",
    "Greek": "\u03b1-\u03c9", "Cyrillic": "\u0430-\u044f", "Han": "\u4e00-\u4e8c",
}  # fmt: skip
"""Characters that have a property; without one here, that of its first letter."""


def _draw_nodes(draws: Random, nodes: Any, longer: int, groups: dict[int, str]) -> str:
    return "".join(_draw_node(draws, kind, value, longer, groups) for kind, value in nodes)


def _draw_node(draws: Random, kind: Any, value: Any, longer: int, groups: dict[int, str]) -> str:
    text = ""  # of the start, the end, and looking around
    if kind == codes.LITERAL:
        text = chr(value)
    elif kind == codes.NOT_LITERAL:
        text = draws.choice([letter for letter in _LETTERS if ord(letter) != value])
    elif kind == codes.ANY:
        text = draws.choice(_LETTERS)
    elif kind == codes.IN:
        text = _draw_from_set(draws, value)
    elif kind == codes.BRANCH:
        text = _draw_nodes(draws, draws.choice(value[1]), longer, groups)
    elif kind in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, inner = value
        usual = _MOST_REPEATS if most == codes.MAXREPEAT else 1 + min(longer, _MOST_REPEATS)
        times = draws.randint(least, max(least, min(int(most), least + usual)))
        text = "".join(_draw_nodes(draws, inner, longer, groups) for _ in range(min(times, 10_000)))
    elif kind == codes.SUBPATTERN:
        groups[value[0] or 0] = text = _draw_nodes(draws, value[3], longer, groups)
    elif kind == codes.ATOMIC_GROUP:
        text = _draw_nodes(draws, value, longer, groups)
    elif kind == codes.GROUPREF:
        text = groups.get(value, "")
    return text


def _draw_from_set(draws: Random, items: Any) -> str:
    negated = items[0][0] == codes.NEGATE
    if not negated:
        kind, value = draws.choice(items)
        if kind == codes.LITERAL:
            return chr(value)
        if kind == codes.RANGE:
            return chr(draws.randint(*value))
        return draws.choice(_CATEGORIES.get(value, _LETTERS))
    inside = re.compile("[" + "".join(map(_write_set_item, items[1:])) + "]")
    outside = [letter for letter in _PRINTABLE if not inside.match(letter)]
    if not outside:
        raise CannotDrawError("a set of characters has none that is usual")
    return draws.choice(outside)


def _write_set_item(item: tuple[Any, Any]) -> str:
    kind, value = item
    if kind == codes.LITERAL:
        return re.escape(chr(value))
    if kind == codes.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return _CATEGORY_NAMES.get(value, "")


_PRINTABLE: Final = "".join(map(chr, range(0x20, 0x7F)))
_CATEGORIES: Final[Mapping[Any, str]] = {
    codes.CATEGORY_DIGIT: "0123456789",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_WORD: _LETTERS + _LETTERS.upper() + "0123456789_",
    codes.CATEGORY_NOT_DIGIT: _LETTERS,
    codes.CATEGORY_NOT_SPACE: _LETTERS,
    codes.CATEGORY_NOT_WORD: "-.,;",
}
_CATEGORY_NAMES: Final[Mapping[Any, str]] = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_NOT_WORD: r"\W",
}
