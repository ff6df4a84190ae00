"""The compose file of the stack, and what its images are built from: a checkout, or copies from the wheel."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

_PACKAGES: Final = Path(__file__).parents[2]
_IN_WHEEL: Final = Path(__file__).with_name("stack")
"""The files of a checkout that are in no package; pyproject.toml has the list."""
_OF_US: Final = ("emulator", "extensions", "rdss_sandbox", "sandbox", "schemas", "tui")
_COMPOSE_FILE: Final = Path("compose", "compose.yaml")


def find_compose_file() -> Path:
    """The compose file that came with this installation; images can be built beside it in a checkout only."""
    if _IN_WHEEL.exists():
        return _IN_WHEEL / _COMPOSE_FILE
    return _PACKAGES / _COMPOSE_FILE


def provide_compose_file(state: Path) -> Path:
    """The compose file, beside all that its images are built from.

    That is the checkout. An installed wheel has none, so the same files are written below ``state``.
    Raises OSError.
    """
    if not _IN_WHEEL.exists():
        return _PACKAGES / _COMPOSE_FILE
    context = state / "stack"
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(_IN_WHEEL, context)
    for name in _OF_US:
        shutil.copytree(
            _PACKAGES / name, context / name, ignore=shutil.ignore_patterns("__pycache__", _IN_WHEEL.name)
        )
    return context / _COMPOSE_FILE
