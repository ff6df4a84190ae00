"""Repairs what topics keep besides logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from emulator.assembly.repair import Repair, is_segment
from extensions.topics.engine.checkpoints import read_checkpoint, write_empty_checkpoint


def repair_file(path: Path, put_copy_aside: Callable[[Path], str] | None) -> Repair | None:
    """Put a damaged checkpoint aside: the topics are then built from their log.

    If the log's first segments are gone, an empty checkpoint says where the log begins.
    """
    if path.name != "checkpoint" or read_checkpoint(path) is not None:
        return None
    size, aside = path.stat().st_size, None
    first = min((int(each.stem) for each in path.parent.glob("*.log") if is_segment(each)), default=1)
    if put_copy_aside is not None:
        aside = put_copy_aside(path)
        if first > 1:
            write_empty_checkpoint(path, first)
        else:
            path.unlink()
    return Repair(str(path), 0, "it does not match its checksum", lost_bytes=size, put_aside=aside)
