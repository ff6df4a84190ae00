"""What a snapshot has of the topics: their log and state, and how far the topic of objects had read."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from emulator.channels.checkpoints.checkpoint_file import CheckpointFile
from extensions.topics.current_versions import ObjectVersions
from extensions.topics.engine.topics_engine import TopicsCopy, TopicsEngine
from rdss_sandbox.shapes.topics import Access, Downstream


class SavedTopics(msgspec.Struct):
    """``access`` and ``downstreams`` were set since the start; they are None for the configured ones."""

    topics: TopicsCopy
    positions: list[bytes]
    versions: list[bytes]
    access: Access | None = None
    downstreams: tuple[Downstream, ...] | None = None


encode: Final = msgspec.msgpack.Encoder().encode
decode: Final = msgspec.msgpack.Decoder(SavedTopics).decode


def save(topics: TopicsEngine, positions: CheckpointFile, versions: ObjectVersions) -> SavedTopics:
    """Copy running topics. Raises DamagedLogError and OSError."""
    # In the order in which they are written: a position without its message would lose that message.
    reached = positions.save()
    return SavedTopics(topics.copy(), reached, versions.save())


def write(saved: SavedTopics, directory: Path, *, fsync: bool) -> None:
    """Write saved topics to a directory that is not there. Raises OSError."""
    saved.topics.write(directory / "messages", fsync=fsync)
    positions = CheckpointFile(directory / "positions.log")
    positions.load(saved.positions)
    positions.close()
    versions = ObjectVersions(directory / "versions.log")
    versions.load(saved.versions)
    versions.close()
