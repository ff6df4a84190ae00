"""Events of a run: what is read first, what follows, and which are turning points."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rdss_sandbox.shapes.events import Event
from rdss_sandbox.text import event_sentences
from rdss_sandbox.text.figures import shard
from tui.text.message_trace import describe

_SHARD = re.compile(r"\b(shardId-\d{12}|amqp-\d+)")
_AGENT = re.compile(r" \([\w.+-]+/[\w.+-]+\)")
_TOLD = frozenset({"did", "trace"})
TURNS = {
    "fault.injected": "!",
    "stream.resharded": "◆",
    "receiver.crashed": "✗",
    "receiver.failed": "✗",
    "sender.failed": "✗",
    "message.rejected": "▼",
    "message.refused": "▼",
}
"""The kinds of events that are turning points of a run, with their signs."""


def sentence(event: Event, meanings: Mapping[str, str]) -> str:
    """Tell an event in a sentence, with shards by their numbers and clients without their library's version.

    ``meanings`` are those of error codes.
    """
    return _shorten(event_sentences.sentence(event, meanings))


def remaining_fields(event: Event, meanings: Mapping[str, str]) -> str:
    """The fields that the sentence does not tell, in a line."""
    said = sentence(event, meanings)
    rest = {
        name: ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
        for name, value in event.fields.items()
        if value not in (None, "", [], (), {}) and name not in _TOLD and _short(name, value) not in said
    }
    return describe(rest)


def _shorten(text: str) -> str:
    return _AGENT.sub("", _SHARD.sub(lambda found: shard(found[0]), text))


def _short(name: str, value: object) -> str:
    """A value as sentences have it: of a messageId the first digits, of a shard the number."""
    return str(value)[:8] if name == "message_id" else _shorten(str(value))
