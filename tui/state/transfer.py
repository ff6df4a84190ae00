"""Export of messages to a file, and the bytes of a message."""

from __future__ import annotations

import base64
from pathlib import Path

from rdss_sandbox.files.rewriting import rewriting
from rdss_sandbox.shapes.messages import MessageDetail
from tui.state.seeking import MessageLog


def as_bytes(detail: MessageDetail) -> bytes:
    """The payload of a message. Raises ValueError when its stream no longer holds it."""
    if detail.raw is not None:
        return detail.raw.encode()
    if detail.raw_base64 is not None:
        return base64.b64decode(detail.raw_base64)
    raise ValueError(f"message #{detail.id} is past its stream's retention: only its row is left")


async def export(log: MessageLog, matching: str, path: Path) -> str:
    """Write all matching messages to ``path`` atomically and return a sentence with their number."""
    written = 0
    with rewriting(path) as draft, draft.open("wb") as file:
        async for piece in log.export(matching):
            file.write(piece)
            written += piece.count(b"\n")
    return f"{written:,} message{'' if written == 1 else 's'} in {path}"
