"""The setting of asynchronous processing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from emulator.settings.checks import read_file
from emulator.settings.declarations import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessingSettings:
    """The file of the integration."""

    integration: Path | None = setting(
        None,
        "A file that says how asynchronous messages are processed: see docs/processing.md.",
        metavar="FILE",
        applies="all but compose",
        read=read_file,
    )
