"""What every fault has besides the attributes of its type: the one home of these settings' help."""

from __future__ import annotations

from typing import Final

from emulator.faults.fault import Attribute

COMMON_SETTINGS: Final = (
    Attribute("name", "text", None, "a name; its type when left out"),
    Attribute("channel", "text", None, "a stream or queue, * for any"),
    Attribute("direction", "choice", None, "the direction of the messages"),
    Attribute("toxicity", "number", 1, "the share of messages that it affects", most=1),
    Attribute("limit", "integer", None, "stop after this many injections", least=1),
    Attribute("at", "duration", None, "start after this time: 200ms, 5s, 6m"),
    Attribute("for", "duration", None, "stop after this time"),
    Attribute("after", "integer", None, "skip this many messages first"),
    Attribute("first", "integer", None, "then affect at most this many messages"),
    Attribute("every", "integer", None, "of those, affect every n-th", least=1),
    Attribute("fails", "integer", None, "strike a message this often, then let it pass", least=1),
    Attribute("match", "text", None, "only messages whose field matches field=glob"),
)
"""Those of a request's own fields first, then those of its ``when``."""
