"""The user's preferences: theme, keys and saved filters, in one TOML file."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from rdss_sandbox.files.rewriting import rewriting
from rdss_sandbox.text.toml_text import read_toml

_WHAT_IT_IS = "# The sandbox's TUI: theme, [keys] by name (see its help), [filters] by name.\n"


class PreferencesError(ValueError):
    """The file cannot be read as preferences; the message says where and why."""


@dataclass
class Preferences:
    """``keymap`` maps an action's id to keys and ``filters`` a name to a filter.

    Changes are saved to ``path``; None saves nothing.
    """

    path: Path | None = None
    theme: str = ""
    keymap: dict[str, str] = field(default_factory=dict)
    filters: dict[str, str] = field(default_factory=dict)

    def save_theme(self, theme: str) -> None:
        self.theme = theme
        self._write()

    def save_filter(self, name: str, text: str) -> None:
        """Save a filter under a name; an empty text removes it."""
        if text:
            self.filters[name] = text
        else:
            self.filters.pop(name, None)
        self._write()

    def _write(self) -> None:
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with rewriting(self.path) as draft:
            draft.write_text(self._as_toml(), encoding="utf-8")

    def _as_toml(self) -> str:
        lines = [_WHAT_IT_IS, f"theme = {_quote(self.theme)}\n"]
        for title, table in (("keys", self.keymap), ("filters", self.filters)):
            lines += [
                f"\n[{title}]\n",
                *(f"{_quote(name)} = {_quote(value)}\n" for name, value in table.items()),
            ]
        return "".join(lines)


def read(path: Path) -> Preferences:
    """Read preferences from ``path``; a missing file gives the defaults. Raises PreferencesError."""
    fresh = Preferences(path)
    try:
        held = read_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return fresh
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PreferencesError(f"{path}: {error}") from error
    theme, keys, filters = held.get("theme", ""), held.get("keys", {}), held.get("filters", {})
    if not isinstance(theme, str) or not _texts(keys) or not _texts(filters):
        raise PreferencesError(f"{path}: theme must be a text, [keys] and [filters] tables of texts")
    return replace(fresh, theme=theme, keymap=keys, filters=filters)


def _texts(table: object) -> bool:
    return isinstance(table, dict) and all(isinstance(value, str) for value in table.values())


def _quote(text: str) -> str:
    # A JSON string is also a valid TOML basic string.
    return json.dumps(text, ensure_ascii=True)
