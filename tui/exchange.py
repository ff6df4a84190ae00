"""Messages to a file and back: one JSON text a line, what is not JSON as ``{"rawBase64": …}``."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from emulator.client import AsyncClient
from emulator.resources import MessageDetail

_AT_ONCE = 16
_PAGE = 500


def as_bytes(detail: MessageDetail) -> bytes:
    """The message as it was sent. ValueError when its stream no longer holds it."""
    if detail.raw is not None:
        return detail.raw.encode()
    if detail.raw_base64 is not None:
        return base64.b64decode(detail.raw_base64)
    raise ValueError(f"message #{detail.id} is past its stream's retention: only its row is left")


def as_line(data: bytes) -> str:
    """One line that gives the message back: its own JSON without line breaks, or its bytes in base64."""
    try:
        text = data.decode()
        held = json.loads(text)
    except ValueError:
        return json.dumps({"rawBase64": base64.b64encode(data).decode("ascii")})
    if "\n" not in text and "\r" not in text:
        return text
    return json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def from_lines(text: str) -> Iterator[bytes]:
    """The messages of an exported file. ValueError names the first line that is none."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            held = json.loads(line)
            wrapped = isinstance(held, dict) and held.keys() == {"rawBase64"}
            yield base64.b64decode(held["rawBase64"], validate=True) if wrapped else line.strip().encode()
        except ValueError as error:
            raise ValueError(f"line {number} is not a message: {error}; nothing was sent") from error


async def export(client: AsyncClient, matching: str, path: Path) -> str:
    """Write every message that ``matching`` lets through to ``path``; says how many, how many are gone."""
    written, gone = 0, 0
    draft = path.with_name(path.name + ".part")
    with draft.open("w", encoding="utf-8", newline="\n") as file:
        async for details in _all(client, matching):
            for detail in details:
                try:
                    file.write(as_line(as_bytes(detail)) + "\n")
                    written += 1
                except ValueError:
                    gone += 1
    draft.replace(path)
    lost = f"; {gone:,} are past their stream's retention" if gone else ""
    return f"{written:,} messages in {path}{lost}"


async def _all(client: AsyncClient, matching: str) -> AsyncIterator[list[MessageDetail]]:
    after = 0
    while rows := (await client.messages(after=after, limit=_PAGE, matching=matching)).messages:
        for start in range(0, len(rows), _AT_ONCE):
            yield await asyncio.gather(*(client.message(row.id) for row in rows[start : start + _AT_ONCE]))
        after = rows[-1].id
