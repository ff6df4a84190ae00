"""What the relay reads in the content of a command, and what it writes anew."""

from __future__ import annotations

from struct import error
from typing import Any

from emulator.amqp.message_headers import KEY_HEADER, change_content
from emulator.amqp.wire.commands import Command
from emulator.amqp.wire.field_tables import BadTableError, plain_table
from emulator.amqp.wire.frames import CONTENT_HEAD_BYTES, OVERHEAD, build_content
from emulator.amqp.wire.properties import Properties
from schemas.bound import CONTRACT


def read_content_headers(command: Command) -> dict[str, Any]:
    """Read the headers of a command's content; none when they are missing or not readable."""
    try:
        return plain_table(Properties(command.properties).headers())
    except (BadTableError, IndexError, error):
        return {}


def read_partition_key(command: Command) -> str:
    """Read the partition key in the headers of a command's content; empty when there is none."""
    return str(read_content_headers(command).get(KEY_HEADER, ""))


def replace_content(command: Command, text: bytes, frame_max: int) -> Command:
    """A command with what a text says as its content, in frames of at most ``frame_max`` bytes (0: no limit).

    It is the same command where the text is its own. Headers that do not fit in a frame stay as they were.
    """
    if text == command.write_text(CONTRACT, command.body):
        return command
    body, properties = change_content(CONTRACT, text, command.properties)
    if 0 < frame_max < CONTENT_HEAD_BYTES + len(properties) + OVERHEAD:
        properties = command.properties
    content = build_content(command.channel, properties, body, frame_max)
    return Command(command.channel, command.kind, [command.frames[0], *content])
