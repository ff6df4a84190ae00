"""The bugs of producers of a queue."""

from __future__ import annotations

from typing import Final

from sandbox.certify.clause import Group
from tests.sandbox.certify.population.kind import Kind

_ERRORS: Final = ("delays", "errors")
_NACKS: Final = ("delays", "nacked messages")
_RETURNS: Final = ("delays", "returned messages")
_KILLS: Final = ("delays", "killed before the answer", "killed after telling")
_LOSSES: Final = frozenset({"nothing-lost"})

KINDS: Final = (
    Kind(
        "no confirms",
        "The broker is not asked to confirm what is published.",
        "tells-after-the-confirm",
        ("delays",),
        frozenset({"notices-returned-messages", "nothing-lost"}),
    ),
    Kind(
        "tells before the confirm",
        "A message is reported as sent when it is published.",
        "tells-after-the-confirm",
        ("delays",),
        frozenset({"resumes-after-a-kill", "nothing-lost"}),
    ),
    Kind(
        "transient messages",
        "What is published is gone when the broker is started again.",
        "publishes-persistently",
        ("delays",),
    ),
    Kind(
        "takes a nack for an ack",
        "A message that the broker could not take counts as sent.",
        "publishes-again-what-was-nacked",
        _NACKS,
        _LOSSES | {"tells-after-the-confirm", "resumes-after-a-kill"},
    ),
    Kind(
        "ends at a nack",
        "A message that the broker could not take ends the program.",
        "publishes-again-what-was-nacked",
        _NACKS,
        _LOSSES,
    ),
    Kind(
        "not mandatory",
        "What no queue takes is not returned by the broker, and counts as sent.",
        "notices-returned-messages",
        _RETURNS,
        _LOSSES | {"resumes-after-a-kill"},
    ),
    Kind(
        "returns are passed over",
        "What the broker returns is not looked at, and counts as sent at its confirm.",
        "notices-returned-messages",
        _RETURNS,
        _LOSSES | {"resumes-after-a-kill"},
    ),
    Kind(
        "does not connect again",
        "A cut connection, or a closed channel, ends the program.",
        "survives-errors",
        _ERRORS,
        _LOSSES,
    ),
    Kind(
        "drops what is cut off",
        "What was not confirmed when the connection or the channel ended is not published again.",
        "survives-errors",
        _ERRORS,
        _LOSSES | {"resumes-after-a-kill"},
    ),
    Kind(
        "marked before the publish",
        "A message is kept as sent before it is published, and passed over after a death in between.",
        "resumes-after-a-kill",
        _KILLS,
        _LOSSES,
    ),
    Kind(
        "forgets what was sent",
        "A start publishes again what was sent before.",
        "resumes-after-a-kill",
        ("delays", "killed after telling"),
    ),
    Kind(
        "the last ones are left out",
        "What does not fill a batch, or comes last, is not published when the program ends.",
        "nothing-lost",
        ("delays",),
    ),
    Kind(
        "a new messageId at each try",
        "What is published again has another messageId, so that nobody recognises the duplicate.",
        "keeps-the-message-id",
        (*_NACKS, "nacked in the contract"),
        _LOSSES | {"publishes-again-what-was-nacked", "resumes-after-a-kill", "tells-after-the-confirm"},
        groups=frozenset({Group.CONTRACT}),
    ),
    Kind(
        "sends what has expired",
        "The time until which a message counts is not looked at.",
        "sends-nothing-expired",
        ("delays", "expired messages"),
    ),
)
