"""The texts for settings that cannot be used: their place, what is wrong, and what is allowed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from emulator.settings.wrong_values import Step, explain_value


class SettingsError(ValueError):
    """An invalid setting. The text says which one, its value, and what is allowed."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Where settings come from: below a key of a TOML file, or for those in ``nearer`` what is said there."""

    file: Path
    text: str
    below: tuple[Step, ...]
    nearer: dict[str, str] = field(default_factory=dict)

    def of(self, *path: Step) -> str:
        """Where the setting at this path stands: ``sandbox.toml:3``, or an option's or variable's name."""
        if path and (name := str(path[0])) in self.nearer:
            return self.nearer[name]
        return f"{self.file}:{line_of(self.text, (*self.below, *path))}"

    @contextmanager
    def blamed(self, name: str) -> Iterator[None]:
        """Turn a ValueError about the setting ``name`` into a SettingsError that says where it stands."""
        try:
            yield
        except ValueError as error:
            raise SettingsError(f"{self.of(name)}: {error}") from error


def describe_error(
    error: msgspec.ValidationError, given: Mapping[str, Any], shape: type, origins: Origins
) -> str:
    """The line for what msgspec refused when ``given`` was to be of this shape."""
    path, why = explain_value(error, given, shape)
    return f"{origins.of(*path)}: {why}"


def suggest_table(name: str, tables: Sequence[str], table: str, keys: Sequence[str]) -> str:
    """Name the table, or the key of ``table``, that is like ``name`` at the top of the file; all tables."""
    from difflib import get_close_matches

    known = {**{key: f"{key} under [{table}]" for key in keys}, **{each: f"[{each}]" for each in tables}}
    close = get_close_matches(name, known, 1)
    meant = f" (did you mean {known[close[0]]}?)" if close else ""
    return f"{meant}; the tables are {', '.join(f'[{each}]' for each in tables)}"


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line, from 1, where the statement begins that sets the key at ``path``; 1 without such a key.

    ``text`` is valid TOML. The parser reads ever longer beginnings of it until the key is known. So the
    line is right for dotted keys, tables, arrays of tables, and values of several lines.
    """
    lines = text.splitlines()
    begins = 0
    for end in range(1, len(lines) + 1):
        try:
            so_far = tomllib.loads("\n".join(lines[:end]) + "\n")
        except tomllib.TOMLDecodeError:
            continue  # In the middle of a statement.
        if _has_key(so_far, path):
            return begins + 1
        begins = end
    return 1


def _has_key(value: Any, path: Sequence[str | int]) -> bool:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
