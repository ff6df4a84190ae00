"""The messages of a tape, for whoever takes messages from files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from extensions.tape.filled_bodies import fill
from extensions.tape.tape_reader import BadTapeError, TapeFile
from rdss_sandbox.files.filed_messages import FiledMessage, Tell
from rdss_sandbox.shapes.tape import TapedMessage
from schemas.bound import CONTRACT


def read_taped_messages(path: Path, tell: Tell) -> Iterator[FiledMessage]:
    """See ``rdss_sandbox.files.filed_messages.ReadFile``."""
    try:
        tape = TapeFile.open(path)
    except BadTapeError as error:
        raise ValueError(str(error)) from error
    for number, entry in enumerate(tape.read(), 1):
        if isinstance(entry, TapedMessage):
            body = fill(entry, CONTRACT, tape.first).body or b""
            yield FiledMessage(entry.at, body, entry.key, number, entry.body is not None)
    for why in tape.troubles:
        tell(why)
