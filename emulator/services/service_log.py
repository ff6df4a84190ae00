"""The log of one of moto's services. Its head says which format it has, and which moto wrote it."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec
from isal.isal_zlib import crc32

from emulator.journal import KeyedLog, frames
from emulator.journal.keyed_log import HEAD, ListLiving, decode_changes

version: Final = cache(metadata.version)
"""The version of a package. Reading it takes milliseconds."""
_FORMAT: Final = 1
_encode_head: Final = msgspec.msgpack.Encoder().encode
_decode_head: Final = msgspec.msgpack.Decoder(tuple[int, str]).decode


class OtherVersionError(Exception):
    """A log that another version of the sandbox, or of moto, wrote. The text says what to do."""


def open_log(path: Path, *, fsync: bool, list_living: ListLiving | None = None) -> KeyedLog:
    """Open the log of a service, of whose values ``list_living`` gives those of now. As ``KeyedLog``."""
    head = _encode_head((_FORMAT, version("moto")))
    return KeyedLog(path, fsync=fsync, head=head, list_living=list_living)


def check_version(path: Path) -> None:
    """Raise ``OtherVersionError`` when the log at ``path`` was written by a version that differs."""
    head = _read_head(path)
    if head is None:
        return
    written_format, moto = _decode_head(head)
    if written_format != _FORMAT:
        raise OtherVersionError(
            f"{path} has the format {written_format}, and this version of rdss-sandbox reads the format "
            f"{_FORMAT}: install the version that wrote it, or give another --data-dir"
        )
    if moto != (here := version("moto")):
        raise OtherVersionError(
            f"{path} was written with moto {moto}, and moto {here} is installed: "
            f"pip install moto=={moto}, or give another --data-dir"
        )


def _read_head(path: Path) -> bytes | None:
    """The head of a log; None when the log is empty or missing, or when its first entry is damaged."""
    with suppress(OSError, msgspec.MsgspecError), path.open("rb") as file:
        frame = frames.parse(file.read(frames.HEADER_BYTES), 0)
        payload = file.read(frame.length) if frame is not None else b""
        if frame is not None and crc32(payload) == frame.check:
            return dict(decode_changes(payload)).get(HEAD)
    return None
