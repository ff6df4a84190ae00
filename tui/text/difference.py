"""The difference between two messages: by lines of JSON, or of text where they are not JSON."""

from __future__ import annotations

import json
from difflib import SequenceMatcher

from rdss_sandbox.shapes.messages import MessageDetail
from tui.text.pretty import pretty, wrap

_WIDTH = 120
_CONTEXT = 3


def lines_of(detail: MessageDetail) -> list[str]:
    """The message as lines to compare: indented JSON, or its text."""
    if detail.raw is not None and isinstance(detail.header or detail.body, dict):
        return pretty(json.loads(detail.raw))
    return wrap(detail.raw if detail.raw is not None else detail.raw_base64 or "", _WIDTH)


def difference(before: list[str], after: list[str]) -> list[str]:
    """The changed lines with some context; each starts with ``-``, ``+`` or a blank. Empty when equal."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    found: list[str] = []
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        if found:
            found.append("  ⋯")
        for tag, first, last, start, end in group:
            if tag == "equal":
                found += [f"  {line}" for line in before[first:last]]
            else:
                found += [f"- {line}" for line in before[first:last]]
                found += [f"+ {line}" for line in after[start:end]]
    return found
