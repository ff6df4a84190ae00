"""What a sandbox does without, because an extra of this project is not installed."""

from __future__ import annotations

from functools import cache

from rdss_sandbox.machine.installation import find_missing, how_to_add


@cache
def note_missing() -> tuple[str, ...]:
    """What people should know of this installation, in sentences."""
    if find_missing("messages"):
        return (f"messages are not validated; get the validator with: {how_to_add('messages')}",)
    return ()
