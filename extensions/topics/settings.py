"""The settings of topics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulator.settings.checks import check_port, read_file
from emulator.settings.declarations import setting
from extensions.topics.extension import EXTENSION

USUAL_PORT: Final = EXTENSION.ports["topics"].usual


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSettings:
    """Where topics are served, and the file that defines them."""

    topics_port: int | None = setting(
        0,
        "The port of topics (AMPS).",
        metavar="N",
        usual=None,
        told=f"{USUAL_PORT}, or any free; 0: any free",
        check=check_port,
    )
    topics: Path | None = setting(
        None,
        "A file that defines topics and who may use them: see docs/topics.md.",
        metavar="FILE",
        read=read_file,
    )
