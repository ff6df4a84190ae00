"""Messages as lines of a file: one JSON text a line, what is not JSON as ``{"rawBase64": …}``."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator


def as_line(data: bytes) -> str:
    """One line that gives the message back: its own JSON without line breaks, or its bytes in base64."""
    try:
        text = data.decode()
        held = json.loads(text)
    except (ValueError, RecursionError):
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
