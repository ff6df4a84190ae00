"""Files that a person writes for the sandbox, in TOML, YAML or JSON."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_document(path: Path) -> Any:
    """Read a ``.toml`` file, or any other as YAML, which JSON is too. Raises OSError and ValueError."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return tomllib.loads(text)
    # Slow to import, and most starts read no such file.
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
