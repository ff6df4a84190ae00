"""The mark of a data directory: which format it has, and which version of the sandbox made it.

    format      {"format": 2, "version": "0.2.0"}

A version that does not know the format must not open the directory: it would read what it understands and
overwrite the rest. The number changes when a version writes what the versions before it cannot read.

    1           entries of the logs of states, definitions, checkpoints and object versions have no keys
    2           these logs are logs of keys and values; each takes over its old entries when it is read
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from emulator.journal.frames import DamagedLogError
from rdss_sandbox.files.rewriting import rewriting
from rdss_sandbox.version import VERSION

NAME: Final = "format"
FORMAT: Final = 2
_KNOWN: Final = (1, FORMAT)


class Mark(msgspec.Struct, frozen=True):
    """The number of a format, and the version of the sandbox that made the directory."""

    format: int
    version: str


class OtherFormatError(Exception):
    """The directory has a format that this version does not know. The text names both, and what to do."""

    def __init__(self, root: Path, mark: Mark) -> None:
        super().__init__(
            f"the data directory {root} has the format {mark.format} of rdss-sandbox {mark.version}, and "
            f"this is rdss-sandbox {VERSION}, which knows the formats up to {FORMAT}: nothing was touched; "
            f"install rdss-sandbox {mark.version}, or give another --data-dir"
        )


def check_format(root: Path) -> Mark | None:
    """Return the mark of a directory; None when it has none.

    Raises ``OtherFormatError``, and ``DamagedLogError`` when the mark cannot be read.
    """
    path = root / NAME
    try:
        mark = msgspec.json.decode(path.read_bytes(), type=Mark)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.MsgspecError as error:
        raise DamagedLogError(path, 0, "it does not say which format the directory has") from error
    if mark.format not in _KNOWN:
        raise OtherFormatError(root, mark)
    return mark


def write_mark(root: Path) -> None:
    """Mark a directory with this version's format. It survives loss of power. Raises OSError."""
    with rewriting(root / NAME) as draft:
        draft.write_bytes(msgspec.json.encode(Mark(FORMAT, VERSION)) + b"\n")
