"""Files that a person writes for the sandbox, in TOML, YAML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rdss_sandbox.text.toml_text import read_toml


def read_document(path: Path) -> Any:
    """Read a ``.toml`` file, or any other as YAML, which JSON is too. Raises OSError and ValueError."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        return read_toml(text)
    # Slow to import, and most starts read no such file.
    import yaml

    from schemas.plain_yaml import DEEPEST, check_tree

    try:
        found = yaml.safe_load(text)
        check_tree(found)
    except RecursionError:
        raise ValueError(f"it is more than {DEEPEST} levels deep") from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    return found
