"""Messages as NDJSON: one message a line, as its own JSON or as ``{"rawBase64": …}``."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator


def as_line(data: bytes) -> str:
    """The message as one line: JSON without line breaks, or base64 of bytes that are not JSON."""
    try:
        text = data.decode()
        held = json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps({"rawBase64": base64.b64encode(data).decode("ascii")})
    if "\n" not in text and "\r" not in text:
        return text
    return json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def from_lines(text: str) -> Iterator[bytes]:
    """Yield the messages of an exported file. Raises ValueError with the number of the first bad line."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            held = json.loads(line)
            wrapped = isinstance(held, dict) and held.keys() == {"rawBase64"}
            yield base64.b64decode(held["rawBase64"], validate=True) if wrapped else line.strip().encode()
        except ValueError as error:
            raise ValueError(f"line {number} is not a message: {error}; nothing was sent") from error
