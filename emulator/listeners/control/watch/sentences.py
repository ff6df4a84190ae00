"""What people who watch from a distance are told of events: which are news, how bad, and how short."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from emulator.kinesis.hash_keys import MAX_HASH_KEY
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.text.event_sentences import sentence

_LONGEST: Final = 300
_HASH_KEYS: Final = MAX_HASH_KEY + 1
_SHARD: Final = re.compile(r"\b(?:shard )?shardId-(\d{12})\b")
_HASH_KEY: Final = re.compile(r"\b\d{30,39}\b")
_ERRORS: Final = frozenset(
    {"client.finding", "message.refused", "message.rejected", "receiver.crashed", "receiver.failed"}
)
_WORDS_OF_ERRORS: Final = frozenset(
    {"crashed", "damaged", "dead_lettered", "failed", "lost", "refused", "unreachable", "unwritten"}
)
_NEWS: Final = frozenset(
    {
        *("fault.added", "fault.changed", "fault.removed"),
        *("stream.created", "stream.deleted", "stream.resharded"),
        *("clock.changed", "receiver.started", "replay.moved", "sandbox.reset", "snapshot.loaded"),
    }
)


class Sentence(NamedTuple):
    """What is said of an event, and in which tone."""

    said: str
    tone: Literal["good", "bad", "plain"]


def describe(event: Event, meanings: Mapping[str, str]) -> Sentence | None:
    """Describe an event, with the ``meanings`` of codes; None for what is no news to people who watch."""
    what = event.kind.rpartition(".")[2]
    if event.kind in _ERRORS or {what, what.rpartition("_")[2]} & _WORDS_OF_ERRORS:
        return Sentence(tell(event, meanings), "bad")
    return Sentence(tell(event, meanings), "plain") if event.kind in _NEWS else None


def tell(event: Event, meanings: Mapping[str, str]) -> str:
    """Tell an event in a short sentence, with the ``meanings`` of error codes."""
    return abbreviate(sentence(event, meanings))


def abbreviate(said: str) -> str:
    """Name shards by their numbers and hash keys by their place among all, and cut what is too long."""
    said = _SHARD.sub(lambda found: f"shard {int(found[1])}", said)
    said = _HASH_KEY.sub(lambda found: f"{int(found[0]) / _HASH_KEYS * 100:.3g} % of the keys", said)
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"
