"""Tapes: what they add to the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Command, Extension

EXTENSION: Final = Extension(
    name="tape",
    component="extensions.tape.component:TapeComponent",
    message_files={".tape": "extensions.tape.taped_messages:read_taped_messages"},
    commands=(
        Command("record", "extensions.tape.record_command:record", "Record what passes to a tape."),
        Command("tape", "extensions.tape.tape_command:tape", "Look at tapes, cut and merge them."),
        Command(
            "replay-tape",
            "extensions.tape.replay_command:replay_tape",
            "Replay a tape into the running sandbox.",
        ),
    ),
)
