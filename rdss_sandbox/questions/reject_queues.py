"""Which streams of a sandbox are its error queue and its invalid queue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdss_sandbox.shapes.status import Status


def find_queue(queue: str, status: Status) -> str | None:
    """The stream that is the ``error`` or the ``invalid`` queue; None where the topology has none.

    It is the one that is archived and has the word in its name, or in that of its bucket.
    """
    for stream, bucket in status.topology.archives.items():
        if queue in re.split(r"[^a-z]+", f"{stream} {bucket}".lower()):
            return stream
    return queue if queue in {stream.name for stream in status.streams} else None
