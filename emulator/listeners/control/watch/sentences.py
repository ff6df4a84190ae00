"""Events in sentences, for people who watch from a distance: short, the subject first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from rdss_sandbox.shapes.events import Event
from schemas.error_codes import ErrorCode

Fields: TypeAlias = Mapping[str, Any]

_LONGEST: Final = 300
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
        return Sentence(_ERRORS[event.kind](event.fields)[:_LONGEST], "bad")
    if event.kind in _NEWS:
        return Sentence(_NEWS[event.kind](event.fields)[:_LONGEST], "plain")
    subject, _, what = event.kind.rpartition(".")
    if what.rpartition("_")[2] in _WORDS_OF_ERRORS or what in _WORDS_OF_ERRORS:
        why = next((event.fields[name] for name in ("why", "error", "said") if event.fields.get(name)), "")
        words = f"{subject} {what}".replace("_", " ").replace(".", " ").strip()
        return Sentence((f"{words}: {why}" if why else words)[:_LONGEST], "bad")
    return None


def describe_rejected(queue: str, code: str | None, message_id: str | None) -> str:
    """Describe a message that lies in an error or invalid queue."""
    name = f"message {_shorten(message_id)}" if message_id else "a message without an id"
    meaning = _MEANINGS.get(code or "", "").removesuffix(".")
    return f"{name} is in {queue}: " + ", ".join(filter(None, (code or "no error code", meaning)))


def name_shards(shards: object) -> str:
    """``shard 1, 2`` from the ids of shards."""
    return "shard " + ", ".join(
        name_shard(str(shard)) for shard in (shards if isinstance(shards, list) else ())
    )


def name_shard(shard: str) -> str:
    """The number of a shard: ``3`` for ``shardId-000000000003``."""
    number = shard.rpartition("-")[2]
    return str(int(number)) if number.isdecimal() else shard


def _shorten(message_id: object) -> str:
    return str(message_id or "?")[:8]


def _describe_reshard(fields: Fields) -> str:
    closed, opened = name_shards(fields.get("closed")), name_shards(fields.get("opened"))
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
        f"the broker did not take message {_shorten(fields.get('message_id'))}: {fields.get('code')}"
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
    "snapshot.loaded": lambda fields: f"the snapshot {fields.get('name')} was loaded",
    "sandbox.reset": lambda _: "the sandbox was reset: every message and fault is gone",
}
