"""A copy of all topics, from which they can go on later, on disk or in memory."""

from __future__ import annotations

from pathlib import Path

import msgspec

from emulator.journal import Block, Segments
from extensions.topics.engine.checkpoints import decode, save


class TopicsCopy(msgspec.Struct, gc=False):
    """The transaction log, and the encoded checkpoint after its last entry.

    ``leap`` is as ``Segments`` counts it.
    """

    checkpoint: bytes
    blocks: list[Block]
    leap: int = 0

    def build_log(self, directory: Path | None = None) -> Segments:
        """Make a log of the copy. Raises OSError."""
        return Segments.put_back(directory, self.blocks, leap=self.leap)

    def write(self, directory: Path, *, fsync: bool) -> None:
        """Write the copy to a directory that is not there. Raises OSError."""
        log = self.build_log(directory)
        try:
            log.keep_next()
            if fsync:
                log.sync()
        finally:
            log.close()
        save(directory / "checkpoint", decode(self.checkpoint), fsync=fsync)
