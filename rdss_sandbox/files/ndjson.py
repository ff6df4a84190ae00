"""Messages as NDJSON: one message a line, as it is or as ``{"rawBase64": …}``."""

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
        return wrap_line(data).decode()
    if "\n" not in text and "\r" not in text:
        return text
    return json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def is_line(data: bytes) -> bool:
    """Whether a message can be a line as it is: text in UTF-8 without a line break."""
    try:
        return "\n" not in data.decode()
    except UnicodeDecodeError:
        return False


def write_line(data: bytes) -> bytes:
    """The message as one line, without its end: as it is, or base64 of what is no line."""
    return data if is_line(data) else wrap_line(data)


def read_line(line: bytes) -> bytes:
    """The message of a line. Raises ValueError for base64 that is none."""
    if b"rawBase64" not in line:
        return line
    held = json.loads(line)
    wrapped = isinstance(held, dict) and held.keys() == {"rawBase64"}
    return base64.b64decode(held["rawBase64"], validate=True) if wrapped else line


def wrap_line(data: bytes) -> bytes:
    """The message as one line of JSON that has it in base64, without the line's end."""
    return json.dumps({"rawBase64": base64.b64encode(data).decode("ascii")}).encode()


def from_lines(text: str) -> Iterator[bytes]:
    """Yield the messages of an exported file. Raises ValueError with the number of the first bad line."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            json.loads(line)
            yield read_line(line.strip().encode())
        except ValueError as error:
            raise ValueError(f"line {number} is not a message: {error}; nothing was sent") from error
