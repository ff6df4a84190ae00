"""The ends of logs that loss of power has left: pages that were never written, and what came behind them.

The pages of a file reach the disk in any order. So a power cut may leave the last entries of a log without
some of their pages, which then are zeros, or without pages of an entry that has whole ones behind it.
Nothing of this was on the disk when it was last flushed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulator.journal import frames
from emulator.journal.aside import put_aside
from emulator.journal.frames import HEADER_BYTES, DamagedLogError, Frame
from emulator.journal.inventory import inventory_of
from emulator.journal.salvage import blocks
from rdss_sandbox.files.rewriting import rewriting

_PAGE_BYTES: Final = 4096


def whole_frames(descriptor: int, path: Path) -> Iterator[Frame]:
    """Yield the frames of a log that is about to be written, up to a torn tail, for ``cut_tail``.

    Unlike for ``frames.scan``, a frame of which a page was never written begins such a tail, whatever is
    behind it. Raises ``DamagedLogError``.
    """
    try:
        yield from frames.scan(descriptor, path)
    except DamagedLogError as error:
        if not _lacks_page(descriptor, error.position):
            raise


def cut_tail(descriptor: int, path: Path, end: int) -> int:
    """Cut what follows the last whole frame, and return how many bytes that was. Raises OSError.

    Where there are whole frames among it, the file as it was is put aside first.
    """
    torn = os.fstat(descriptor).st_size - end
    if torn > HEADER_BYTES and blocks(path, end).kept:
        _put_copy_aside(path)
    # A file that is cut to nothing is written out by ext4 when it is closed, which takes as long as that.
    if torn:
        os.ftruncate(descriptor, end)
    return torn


def _lacks_page(descriptor: int, position: int) -> bool:
    """Whether some page of the frame at ``position``, or its part of one, is zeros."""
    frame = frames.parse(os.pread(descriptor, HEADER_BYTES, position), position)
    end = min(os.fstat(descriptor).st_size, frame.end if frame is not None else position + HEADER_BYTES)
    while position < end:
        following = min(end, (position // _PAGE_BYTES + 1) * _PAGE_BYTES)
        if not os.pread(descriptor, following - position, position).strip(b"\0"):
            return True
        position = following
    return False


def _put_copy_aside(path: Path) -> None:
    inventory = inventory_of(path)
    # A second name would not do: the file itself is cut.
    with rewriting(path.with_name(f"{path.name}.copy")) as draft:
        shutil.copyfile(path, draft)
    put_aside(path.with_name(f"{path.name}.copy"), inventory.root if inventory is not None else path.parent)
