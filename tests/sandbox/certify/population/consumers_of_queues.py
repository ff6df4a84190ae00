"""The bugs of consumers of a queue."""

from __future__ import annotations

from typing import Final

from tests.sandbox.certify.population.consumers_of_streams import CONTRACT
from tests.sandbox.certify.population.kind import Kind

_CUTS: Final = ("duplicates", "cut connections")
_POISON: Final = ("duplicates", "poison")
_RESTARTS: Final = ("duplicates", "restart")
_DISTANT: Final = ("duplicates", "distant duplicates")
_KILLS: Final = ("duplicates", "killed with records in hand", "killed after telling", "killed while idle")
_LOSSES: Final = frozenset({"nothing-lost"})

KINDS: Final = (
    Kind(
        "automatic acknowledgement",
        "The queue is consumed with auto-ack, so that what is under way at a death is lost.",
        "acks-after-the-effect",
        ("duplicates",),
        frozenset({"limits-its-prefetch", "nothing-lost", "dead-letters-poison"}),
    ),
    Kind(
        "acknowledges before the work",
        "A message is acknowledged before it is processed.",
        "acks-after-the-effect",
        ("duplicates",),
        _LOSSES | {"dead-letters-poison"},
    ),
    Kind("no prefetch limit", "The broker pushes all that there is.", "limits-its-prefetch", ("duplicates",)),
    Kind(
        "duplicates are never acknowledged",
        "What was processed before is passed over without an acknowledgement.",
        "acks-all-that-it-processed",
        ("duplicates",),
        _LOSSES,
    ),
    Kind("no memory of messageIds", "What comes twice is processed twice.", "nothing-twice", ("duplicates",)),
    Kind(
        "messageIds in memory",
        "What was processed is remembered in memory, so that a duplicate after a restart is processed again.",
        "nothing-twice",
        (*_RESTARTS, "distant duplicates"),
        frozenset({"resumes-after-a-kill"}),
    ),
    Kind(
        "the last 100 messageIds",
        "A duplicate that comes after a hundred other messages is processed again.",
        "nothing-twice",
        _DISTANT,
    ),
    Kind(
        "the last 1,000 messageIds",
        "A duplicate that comes after a thousand other messages is processed again.",
        "nothing-twice",
        _DISTANT,
    ),
    Kind(
        "marked before the work",
        "A message is kept as processed before the work, and passed over after a death in between.",
        "resumes-after-a-kill",
        _KILLS,
        _LOSSES | {"acks-after-the-effect"},
    ),
    Kind(
        "effects in memory",
        "A message is acknowledged when its effect is in memory, where a death loses it.",
        "acks-after-the-effect",
        ("duplicates", *_KILLS[1:]),
        frozenset({"nothing-lost", "resumes-after-a-kill"}),
    ),
    Kind(
        "redelivered is passed over",
        "A delivery that carries the mark redelivered is taken for a duplicate.",
        "resumes-after-a-kill",
        _KILLS,
        _LOSSES | {"survives-errors", "acks-after-the-effect"},
    ),
    Kind(
        "poison goes back",
        "What is no message is rejected with requeue, and comes again for ever.",
        "dead-letters-poison",
        _POISON,
    ),
    Kind(
        "poison ends it",
        "The program ends at what is no message, again and again, since it comes back.",
        "dead-letters-poison",
        _POISON,
        _LOSSES,
    ),
    Kind(
        "poison is acknowledged",
        "What is no message is acknowledged, and nobody gets to know of it.",
        "dead-letters-poison",
        _POISON,
    ),
    Kind(
        "poison is kept in hand",
        "What is no message is never settled, until it fills the prefetch limit.",
        "dead-letters-poison",
        _POISON,
    ),
    Kind(
        "reconnects on poison",
        "An exception of the work breaks the connection, and the poison comes again on the next one.",
        "dead-letters-poison",
        _POISON,
        _LOSSES,
    ),
    Kind("does not connect again", "A cut connection ends the program.", "survives-errors", _CUTS, _LOSSES),
    Kind(
        "does not subscribe again",
        "It connects again, and does not consume on the new connection.",
        "survives-errors",
        _CUTS,
        _LOSSES,
    ),
    Kind(
        "stays on a closed channel",
        "That the broker has closed the channel goes unnoticed, while the connection lives.",
        "survives-errors",
        _CUTS,
        _LOSSES,
    ),
    Kind(
        "altered bodies",
        "A body is decoded and written anew before the work.",
        "bodies-unaltered",
        ("duplicates",),
    ),
    *CONTRACT,
)
