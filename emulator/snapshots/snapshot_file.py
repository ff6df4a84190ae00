"""A snapshot in a file: a head, and then the blobs of its sections, each in a frame with checksums.

+--------+------+--------+------+--------+------+-- ...
| header | head | header | blob | header | blob |        the ordinal in a blob's header is the place of its
+--------+------+--------+------+--------+------+-- ...  section in the head; frames.py draws the header
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from isal.isal_zlib import crc32

from emulator.journal import frames
from emulator.snapshots.snapshot_errors import UnreadableError
from rdss_sandbox.files.rewriting import rewriting
from rdss_sandbox.shapes.snapshots import Snapshot

Sections: TypeAlias = Mapping[str, Sequence[bytes | memoryview]]
"""What a snapshot consists of: the blobs of each section, which only their component reads."""

_FORMAT: Final = 1
_SERVICES: Final = "services"
# A damaged length must not have a whole file read as its head.
_MOST_HEAD_BYTES: Final = 1 << 20
_encode: Final = msgspec.json.Encoder().encode
version: Final = cache(metadata.version)
"""The version of a package. Reading it takes milliseconds."""


class Head(msgspec.Struct, frozen=True):
    """What a snapshot is, and how many blobs each of its sections has."""

    format: int
    moto: str
    snapshot: Snapshot
    sections: dict[str, int]


_decode: Final = msgspec.json.Decoder(Head).decode


def write(path: Path, snapshot: Snapshot, sections: Sections) -> None:
    """Write a snapshot whole: after a crash, ``path`` has it or what it had before. Raises OSError."""
    counts = {name: len(blobs) for name, blobs in sections.items()}
    head = _encode(Head(_FORMAT, version("moto"), snapshot, counts))
    with rewriting(path) as draft, draft.open("wb") as file:
        file.write(frames.header(head) + head)
        for place, blobs in enumerate(sections.values()):
            for blob in blobs:
                file.write(frames.header(bytes(blob), ordinal=place))
                file.write(blob)


def read_head(path: Path) -> Head:
    """Read what a snapshot is. Raises OSError, and ``UnreadableError`` when it is damaged."""
    with path.open("rb") as file:
        raw = file.read(frames.HEADER_BYTES)
        frame = frames.parse(raw, 0)
        payload = file.read(frame.length) if frame is not None and frame.length <= _MOST_HEAD_BYTES else b""
    if frame is None or len(payload) != frame.length or crc32(payload) != frame.check:
        raise _damaged(path, 0)
    try:
        return _decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableError(
            f"the snapshot in {path} was written by another version of rdss-sandbox, which this one cannot "
            "read: install that version, or save the snapshot again"
        ) from error


def read(path: Path) -> tuple[Head, Sections]:
    """Read and check a whole snapshot. Raises OSError and ``UnreadableError``."""
    head = read_head(path)
    _check_versions(path, head)
    raw = path.read_bytes()
    view = memoryview(raw)
    first = frames.parse(raw, 0)
    names = list(head.sections)
    sections: dict[str, list[bytes | memoryview]] = {name: [] for name in names}
    position = first.end if first is not None else 0
    while position < len(raw):
        frame = frames.parse(raw, position, position)
        if frame is None or frame.end > len(raw) or frame.ordinal >= len(names):
            raise _damaged(path, position)
        blob = view[frame.start : frame.end]
        if crc32(blob) != frame.check:
            raise _damaged(path, position)
        sections[names[frame.ordinal]].append(blob)
        position = frame.end
    # A file that was cut between two blobs looks whole.
    if {name: len(blobs) for name, blobs in sections.items()} != head.sections:
        raise _damaged(path, position)
    return head, sections


def _check_versions(path: Path, head: Head) -> None:
    if head.format != _FORMAT:
        raise UnreadableError(
            f"the snapshot in {path} has the format {head.format}, and this version of rdss-sandbox reads "
            f"the format {_FORMAT}: install the version that wrote it, or save the snapshot again"
        )
    here = version("moto")
    # moto's objects are stored by their attributes, which differ from version to version.
    if head.sections.get(_SERVICES) and head.moto != here:
        raise UnreadableError(
            f"the snapshot in {path} was written with moto {head.moto}, and moto {here} is installed: "
            f"pip install moto=={head.moto}, or save the snapshot again"
        )


def _damaged(path: Path, position: int) -> UnreadableError:
    return UnreadableError(
        f"the snapshot in {path} is damaged at byte {position}; nothing was changed. Restore the file from a "
        "copy, or remove the snapshot and save it again"
    )
