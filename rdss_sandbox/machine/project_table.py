"""The table ``[tool.rdss-sandbox]`` of a project's ``pyproject.toml``. This module is light to import."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Final

TABLE: Final = "rdss-sandbox"


class ConfigurationError(ValueError):
    """A configuration that no sandbox can have; the message says where it stands and what may stand there."""


def read_project(directory: Path) -> dict[str, Any]:
    """The table in the directory's ``pyproject.toml``; empty without one. Raises ``ConfigurationError``."""
    path = directory / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    table = project.get("tool", {}).get(TABLE, {})
    if not isinstance(table, dict):
        raise ConfigurationError(f"{path}: [tool.{TABLE}] must be a table")
    return table
