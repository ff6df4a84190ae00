"""The table ``[tool.rdss-sandbox]`` of a project's ``pyproject.toml``. This module is light to import."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rdss_sandbox.text.toml_text import read_toml

TABLE: Final = "rdss-sandbox"


class ConfigurationError(ValueError):
    """A configuration that no sandbox can have; the message says where it stands and what may stand there."""


def read_project(directory: Path) -> dict[str, Any]:
    """The table in the directory's ``pyproject.toml``; empty without one. Raises ``ConfigurationError``."""
    path = directory / "pyproject.toml"
    try:
        project = read_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    tools = project.get("tool", {})
    table = tools.get(TABLE, {}) if isinstance(tools, dict) else tools
    if not isinstance(table, dict):
        raise ConfigurationError(f"{path}: [tool.{TABLE}] must be a table")
    return table
