"""Events in sentences, for people who watch from a distance: short, the subject first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from emulator.kinesis.hash_keys import MAX_HASH_KEY
from rdss_sandbox.shapes.events import Event
from schemas.error_codes import ErrorCode

Fields: TypeAlias = Mapping[str, Any]

_LONGEST: Final = 300
_HASH_KEYS: Final = MAX_HASH_KEY + 1
_SHARD: Final = re.compile(r"\bshardId-(\d{12})\b")
_HASH_KEY: Final = re.compile(r"\b\d{30,39}\b")
_WORDS_OF_ERRORS: Final = frozenset(
    {"crashed", "damaged", "dead_lettered", "failed", "lost", "refused", "unreachable", "unwritten"}
)
_MEANINGS: Final = {code.value: code.description for code in ErrorCode}


class Sentence(NamedTuple):
    """What is said of an event, and in which tone."""

    said: str
    tone: Literal["good", "bad", "plain"]


def describe(event: Event) -> Sentence | None:
    """Describe an event; None for one that is no news to people who watch."""
    if event.kind in _ERRORS:
        return Sentence(shorten(_ERRORS[event.kind](event.fields)), "bad")
    if event.kind in _NEWS:
        return Sentence(shorten(_NEWS[event.kind](event.fields)), "plain")
    subject, _, what = event.kind.rpartition(".")
    if what.rpartition("_")[2] in _WORDS_OF_ERRORS or what in _WORDS_OF_ERRORS:
        why = next((event.fields[name] for name in ("why", "error", "said") if event.fields.get(name)), "")
        words = f"{subject} {what}".replace("_", " ").replace(".", " ").strip()
        return Sentence(shorten(f"{words}: {why}" if why else words), "bad")
    return None


def shorten(said: str) -> str:
    """Name shards by their numbers and hash keys by their place among all, and cut what is too long."""
    said = _SHARD.sub(lambda found: f"shard {int(found[1])}", said)
    said = _HASH_KEY.sub(lambda found: f"{int(found[0]) / _HASH_KEYS * 100:.3g} % of the keys", said)
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1]}…"


def describe_rejected(queue: str, code: str | None, message_id: str | None) -> str:
    """Describe a message that lies in an error or invalid queue."""
    name = f"message {_name(message_id)}" if message_id else "a message without an id"
    meaning = _MEANINGS.get(code or "", "").removesuffix(".")
    return f"{name} is in {queue}: " + ", ".join(filter(None, (code or "no error code", meaning)))


def _name(message_id: object) -> str:
    return str(message_id or "?")[:8]


def _describe_reshard(fields: Fields) -> str:
    closed, opened = (", ".join(fields.get(name) or ()) for name in ("closed", "opened"))
    return f"{fields.get('stream')}: {closed} closed, {opened} opened ({fields.get('action')})"


def _describe_clock(fields: Fields) -> str:
    how = {"advance": f"goes {fields.get('seconds')} s ahead", "freeze": "stands still", "set": "is set"}
    how |= {"real": "shows real time", "speed": f"runs at {fields.get('speed')} times its speed"}
    return f"the clock {how.get(str(fields.get('action')), 'is changed')}"


_ERRORS: Final[dict[str, Callable[[Fields], str]]] = {
    "client.finding": lambda fields: str(fields.get("said")),
    "message.rejected": lambda fields: describe_rejected(
        f"the {fields.get('queue')} queue", fields.get("code"), fields.get("message_id")
    ),
    "message.refused": lambda fields: (
        f"the broker did not take message {_name(fields.get('message_id'))}: {fields.get('code')}"
    ),
    "receiver.crashed": lambda fields: f"the receiving process was killed ({fields.get('target')})",
    "receiver.failed": lambda fields: f"the receiving process ended: {fields.get('why')}",
    "sender.failed": lambda fields: f"sending ended: {fields.get('why')}",
}
_NEWS: Final[dict[str, Callable[[Fields], str]]] = {
    "fault.added": lambda fields: (
        f"the fault {fields.get('fault')} ({fields.get('type')}) is in force on {fields.get('channel')}"
    ),
    "fault.changed": lambda fields: f"the fault {fields.get('fault')} was changed",
    "fault.removed": lambda fields: f"the fault {fields.get('fault')} is gone",
    "stream.resharded": _describe_reshard,
    "stream.created": lambda fields: f"the stream {fields.get('stream')} was made",
    "stream.deleted": lambda fields: f"the stream {fields.get('stream')} was deleted",
    "receiver.started": lambda _: "the receiving process starts",
    "clock.changed": _describe_clock,
    "snapshot.loaded": lambda fields: f"the snapshot {fields.get('snapshot')} was loaded",
    "sandbox.reset": lambda _: "the sandbox was reset",
}
