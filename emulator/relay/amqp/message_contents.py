"""What the relay reads in the content of a command, and what it writes anew."""

from __future__ import annotations

from struct import error
from typing import Any

from emulator.amqp.message_headers import KEY_HEADER
from emulator.amqp.wire.commands import Command
from emulator.amqp.wire.field_tables import BadTableError, plain_table
from emulator.amqp.wire.frames import build_content
from emulator.amqp.wire.properties import Properties


def read_headers(command: Command) -> dict[str, Any]:
    """Read the headers of a command's content; none when they are missing or not readable."""
    try:
        return plain_table(Properties(command.properties).headers())
    except (BadTableError, IndexError, error):
        return {}


def read_partition_key(command: Command) -> str:
    """Read the partition key in the headers of a command's content; empty when there is none."""
    return str(read_headers(command).get(KEY_HEADER, ""))


def replace_body(command: Command, data: bytes, frame_max: int) -> Command:
    """A command with another body, in frames of at most ``frame_max`` bytes (0: no limit)."""
    content = build_content(command.channel, command.properties, data, frame_max)
    return Command(command.channel, command.kind, [command.frames[0], *content])
