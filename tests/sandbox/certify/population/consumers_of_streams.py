"""The bugs of consumers of a stream."""

from __future__ import annotations

from typing import Final

from tests.sandbox.certify.population.kind import Kind

_READS: Final = ("duplicates", "throttling")
_RESHARDS: Final = ("duplicates", "split", "merge")
_RESTARTS: Final = ("duplicates", "restart")
_DISTANT: Final = ("duplicates", "distant duplicates")
_KILLS: Final = ("duplicates", "killed with records in hand", "killed after telling", "killed while idle")
_REPEATS: Final = frozenset({"nothing-twice"})
_LOSSES: Final = frozenset({"nothing-lost"})

CONTRACT: Final = (
    Kind(
        "parts as messages",
        "A part of a sequence is processed as a message of its own.",
        "joins-sequences",
        ("duplicates", "sequences"),
    ),
    Kind(
        "parts in memory",
        "The parts of a sequence that came before a restart are gone behind it.",
        "joins-sequences",
        ("duplicates", "sequences"),
    ),
    Kind(
        "one queue for all errors",
        "What is rejected goes to the error queue, whatever its code.",
        "rejects-with-the-right-code",
        ("duplicates", "bad messages"),
    ),
    Kind(
        "expired messages are processed",
        "The time until which a message counts is not looked at.",
        "refuses-expired",
        ("duplicates", "expired messages"),
    ),
    Kind(
        "a bad message ends it",
        "The program ends at what it has to reject.",
        "poison-stops-nothing",
        ("duplicates", "bad messages"),
        frozenset({"rejects-with-the-right-code", "nothing-lost"}),
    ),
    Kind(
        "processes its own echo",
        "What it has published itself, and gets back, is processed.",
        "drops-its-own-echo",
        ("duplicates", "its own messages"),
    ),
    Kind(
        "one version alone",
        "A message of an older version is not upgraded.",
        "knows-older-versions",
        ("duplicates", "older versions"),
    ),
)
"""The bugs of those that know the specification, of whatever they consume."""
KINDS: Final = (
    Kind(
        "lists shards once",
        "The shards are listed at the start, so that a child is first read after a restart.",
        "every-shard-read",
        _RESHARDS,
        _LOSSES | {"parents-before-children"},
        frozenset({"unread-child"}),
    ),
    Kind(
        "never reads children",
        "Only shards without a parent are read.",
        "every-shard-read",
        _RESHARDS,
        _LOSSES,
        frozenset({"unread-child"}),
    ),
    Kind(
        "drops every third shard",
        "The work is shared out among three, of which one is not there.",
        "every-shard-read",
        _RESHARDS,
        _LOSSES | {"parents-before-children"},
    ),
    Kind(
        "waits for one parent alone",
        "Of the two parents of a merge only the first is read to its end before their child.",
        "parents-before-children",
        _RESHARDS,
        frozenset(),
        frozenset({"child-before-parent"}),
    ),
    Kind(
        "children beside parents",
        "Children are read in the same loop as parents that are not read to their end.",
        "parents-before-children",
        _RESHARDS,
        finds=frozenset({"child-before-parent"}),
    ),
    Kind(
        "an empty answer ends a parent",
        "A shard that has children is taken for read to its end at the first empty answer.",
        "every-shard-read",
        _RESHARDS,
        _LOSSES | {"parents-before-children"},
    ),
    Kind(
        "a short answer ends a parent",
        "A shard that has children is taken for read when an answer has fewer records than were asked for.",
        "every-shard-read",
        _RESHARDS,
        _LOSSES | {"parents-before-children"},
    ),
    Kind(
        "children at LATEST",
        "A new shard is read from LATEST, behind what came before it was found.",
        "nothing-lost",
        _RESHARDS,
        frozenset({"every-shard-read"}),
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
        "messageIds by shard",
        "A duplicate that comes on another shard is processed again.",
        "nothing-twice",
        _RESHARDS,
    ),
    Kind(
        "marked before the work",
        "A message is kept as processed before the work, and passed over after a death in between.",
        "resumes-after-a-kill",
        _KILLS,
        _LOSSES,
    ),
    Kind(
        "checkpoint before the work",
        "The checkpoint is written before the record is processed.",
        "resumes-after-a-kill",
        _KILLS,
        _LOSSES,
    ),
    Kind(
        "checkpoint of the batch",
        "After the first record of an answer the checkpoint is that of its last.",
        "resumes-after-a-kill",
        _KILLS,
        _LOSSES,
    ),
    Kind(
        "checkpoint at the end alone",
        "The checkpoint is written when the program is ended in order, and not when it is killed.",
        "resumes-after-a-kill",
        _KILLS,
        _REPEATS,
    ),
    Kind(
        "one checkpoint for all shards",
        "A start goes on in each shard behind the last record of any.",
        "nothing-lost",
        (*_RESTARTS, *_KILLS[1:]),
        frozenset({"resumes-after-a-kill", "every-shard-read", "survives-expired-iterators"}),
    ),
    Kind(
        "state that a restart does not find",
        "Checkpoints and messageIds lie where the next start does not look.",
        "resumes-after-a-kill",
        _KILLS,
        _REPEATS,
    ),
    Kind(
        "a restart at LATEST",
        "A start goes on at LATEST, so that what came while it was down is passed over.",
        "nothing-lost",
        _RESTARTS,
        frozenset({"survives-expired-iterators", "resumes-after-a-kill", "every-shard-read"}),
    ),
    Kind(
        "LATEST after an expired iterator",
        "An expired iterator is replaced by one at LATEST.",
        "survives-expired-iterators",
        ("duplicates", "expired iterators"),
        _LOSSES | {"every-shard-read"},
    ),
    Kind(
        "the expired iterator is kept",
        "An iterator that has expired is used again and again.",
        "survives-expired-iterators",
        ("duplicates", "expired iterators"),
        _LOSSES | {"every-shard-read"},
        frozenset({"expired-iterator"}),
    ),
    Kind(
        "LATEST after a refusal",
        "A shard whose read was refused, retries included, is read on from LATEST.",
        "survives-throttling",
        _READS,
        _LOSSES | {"every-shard-read"},
    ),
    Kind(
        "gives a shard up after a refusal",
        "A shard whose read was refused, retries included, is not read again.",
        "survives-throttling",
        _READS,
        _LOSSES | {"every-shard-read"},
    ),
    Kind(
        "ends at a refusal",
        "A read that is refused, retries included, ends the program.",
        "survives-throttling",
        _READS,
        _LOSSES | {"every-shard-read"},
    ),
    Kind(
        "ends at an error",
        "A read that fails with a server's error, retries included, ends the program.",
        "survives-errors",
        ("duplicates", "errors"),
        _LOSSES | {"every-shard-read"},
    ),
    Kind(
        "a thread ends at an error",
        "A task that reads a shard ends at a server's error, and nobody starts it again.",
        "survives-errors",
        ("duplicates", "errors"),
        _LOSSES | {"every-shard-read"},
    ),
    Kind(
        "the first records of an answer",
        "Of each answer the first two records are processed.",
        "nothing-lost",
        _READS,
    ),
    Kind(
        "reads too often",
        "A shard is read more than five times a second.",
        "reads-within-limits",
        ("duplicates", "throttling", "errors", "expired iterators", "split"),
        frozenset({"survives-throttling"}),
        frozenset({"reads-too-often"}),
    ),
    Kind(
        "altered bodies",
        "A body is decoded and written anew before the work.",
        "bodies-unaltered",
        ("duplicates",),
    ),
    *CONTRACT,
)
