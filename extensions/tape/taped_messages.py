"""The messages of a tape, for whoever takes messages from files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from extensions.tape.filled_bodies import fill
from extensions.tape.tape_reader import BadTapeError, TapeFile
from rdss_sandbox.files.filed_messages import FiledMessage
from rdss_sandbox.shapes.tape import TapedMessage
from schemas.bound import CONTRACT


def read_taped_messages(path: Path) -> Iterator[FiledMessage]:
    """See ``rdss_sandbox.files.filed_messages.read_filed_messages``."""
    try:
        tape = TapeFile.open(path)
    except BadTapeError as error:
        raise ValueError(str(error)) from error
    for entry in tape.read():
        if isinstance(entry, TapedMessage):
            yield FiledMessage(entry.at, fill(entry, CONTRACT, tape.first).body or b"", entry.key)
