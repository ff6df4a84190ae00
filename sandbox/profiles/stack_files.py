"""The compose file of the stack, what its images are built from, and the contract that its containers see."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

_PACKAGES: Final = Path(__file__).parents[2]
_IN_WHEEL: Final = Path(__file__).with_name("stack")
"""The files of a checkout that are in no package; pyproject.toml has the list."""
_OF_US: Final = ("emulator", "extensions", "rdss_sandbox", "sandbox", "schemas", "tui")
_COMPOSE_FILE: Final = Path("compose", "compose.yaml")
READ_IN_THE_CONTAINER: Final = 0o644
"""The mode of files for the container, whose user is another one."""
_OPEN_FOLDER: Final = 0o755


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


def copy_contract(document: Path, folder: Path) -> Path:
    """Copy a document, and the files that it refers to, so that containers can read them.

    Returns the place of the document in the folder. What is there already is written over in place, since a
    container may see it. Raises BadDocumentError and OSError.
    """
    from schemas.asyncapi.load import load_once

    files = load_once(document.resolve()).declared.files
    above = Path(os.path.commonpath([file.parent for file in files]))
    for file in files:
        place = folder / file.relative_to(above)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    for each in (folder, *folder.rglob("*")):
        each.chmod(_OPEN_FOLDER if each.is_dir() else READ_IN_THE_CONTAINER)
    return document.resolve().relative_to(above)
